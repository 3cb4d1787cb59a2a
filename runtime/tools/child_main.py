"""The other side of `runtime.tools.child`: what runs inside the child process.

Loads the tool, calls it once, writes one answer and ends. Nothing else imports it.
"""

import ctypes
import importlib
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any, Final, NoReturn

from runtime.core.error_text import safe_text, type_name
from runtime.core.errors import Ambiguous, Permanent, Retryable
from runtime.core.payloads import encode
from runtime.tools.registry import AnyTool, Tool

_GRACE_S: Final = 1.0
_PR_SET_PDEATHSIG: Final = 1


def main(request: dict[str, Any], answer_fd: int) -> NoReturn:
    """Serve one request and end the process, whatever threads the tool has left behind."""
    os.set_inheritable(answer_fd, False)  # noqa: FBT003 - the function takes it by position
    _die_with_the_worker(request["parent"], request["timeout_s"])
    _write(answer_fd, *_serve(request, answer_fd))
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    # Not sys.exit: exit handlers and forgotten threads must not take a given answer back.
    os._exit(0)


def _serve(request: dict[str, Any], answer_fd: int) -> tuple[dict[str, Any], str]:
    try:
        tool = _load(request["module"], request["tool"])
        arguments = tool.retype(request["arguments"])
    except BaseException as error:  # noqa: BLE001 - importing runs any code
        text = f"The tool could not be loaded in its child process: {_shown(error)}"
        return {"kind": "retryable", "after_s": None}, text
    if request["operation_id"] is not None:
        arguments["operation_id"] = request["operation_id"]
    # A blank before the answer: from here on nobody may believe that nothing was sent.
    os.write(answer_fd, b" ")
    try:
        value = tool.function(**arguments)
    except BaseException as error:  # noqa: BLE001 - sys.exit() in a tool is a failure like others
        return _failure(error), safe_text(error)
    return {"kind": "value"}, encode(value).text


def _load(module: str, name: str) -> AnyTool:
    if "DJANGO_SETTINGS_MODULE" in os.environ:
        import django

        django.setup()
    for found in vars(importlib.import_module(module)).values():
        if isinstance(found, Tool) and found.name == name:
            return found
    message = f"module {module} has no tool {name!r}"
    raise LookupError(message)


def _failure(error: BaseException) -> dict[str, Any]:
    match error:
        case Retryable():
            after_s = error.after_s if isinstance(error.after_s, int | float) else None
            return {"kind": "retryable", "after_s": after_s}
        case Permanent():
            return {"kind": "permanent"}
        case Ambiguous():
            return {"kind": "ambiguous"}
        case _:
            return {"kind": "other", "type": type_name(error)}


def _shown(error: BaseException) -> str:
    return f"{type_name(error)}: {safe_text(error)}"


def _write(answer_fd: int, about: dict[str, Any], body: str) -> None:
    raw = body.encode()
    # The size tells the reader whether the answer is whole.
    head = json.dumps(about | {"size": len(raw)}).encode()
    with os.fdopen(answer_fd, "wb") as answer:
        answer.write(head + b"\n" + raw)


def _die_with_the_worker(parent: int, timeout_s: float) -> None:
    """Make sure that no child outlives a killed worker and goes on writing to the world."""
    signal.setitimer(signal.ITIMER_REAL, timeout_s + _GRACE_S)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
