"""Runs an isolated tool in a child process of its own, which is killed at the deadline.

A call costs the start of an interpreter (0.18 s measured on two cores, 0.48 s with Django set up):
isolation is for code that may hang or crash, not for speed. The caller blocks, so it is a worker's
thread; what the outcome means for the task is the engine's business.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from runtime.core.errors import (
    Ambiguous,
    ChildDied,
    ChildVanished,
    Permanent,
    Retryable,
    ToolFailed,
)
from runtime.core.payloads import decode
from runtime.tools.registry import AnyTool

_BOOT: Final = """\
import json, sys
request = json.load(open(int(sys.argv[1]), "rb", closefd=False))
sys.path[:] = request["path"]
from runtime.tools.child_main import main
main(request, int(sys.argv[2]))
"""
_PASSED_ON: Final = frozenset(
    {"PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "TIME_ZONE", "DJANGO_SETTINGS_MODULE"}
)
_PREFIXES: Final = ("LC_", "SIGNALBOX_")
_SECRET_WORDS: Final = ("SECRET", "TOKEN", "KEY", "PASSWORD", "CREDENTIAL")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02


def run_isolated(  # noqa: PLR0913 - one call, named parts
    tool: AnyTool,
    stored: Mapping[str, Any],
    *,
    operation_id: str,
    timeout_s: float,
    on_started: Callable[[int], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Any:
    """Call the tool in a fresh process and return its value as the payload gate gives it back.

    When this returns or raises, the child and whatever it left in its process group are dead. A
    grandchild that opened a session of its own escapes that.

    Args:
        tool: Declared with `isolate=True`, so that the child can import it.
        stored: Arguments in their stored form.
        operation_id: Handed to the tool if it asks for it.
        timeout_s: Seconds for everything, the start of the process included.
        on_started: Told the child's process id once it runs; what it raises ends the child.
        environ: Taken from instead of this process's own; see `child_environment`.

    Raises:
        Retryable: The tool said so, or the child could not be started, could not load the tool or
            did not come to the call: nothing was sent.
        Permanent: The tool said so.
        Ambiguous: The tool said so.
        ToolFailed: The tool raised anything else.
        TimeoutError: No answer within `timeout_s`; the child was killed, the outcome is unknown.
        ChildDied: A signal ended the child before it answered; the outcome is unknown.
        ChildVanished: The child left before it answered; the outcome is unknown.
    """
    until_s = time.monotonic() + timeout_s
    request = {
        "path": [str(Path(entry).absolute()) for entry in sys.path],
        "module": tool.function.__module__,
        "tool": tool.name,
        "arguments": dict(stored),
        "operation_id": operation_id if tool.wants_operation_id else None,
        "timeout_s": timeout_s,
        "parent": os.getpid(),
    }
    # Files without a name instead of pipes: no size blocks, and nothing remains if we are killed.
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answered:
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        process = _start(asked, answered, child_environment(environ))
        try:
            if on_started is not None:
                on_started(process.pid)
            ended = _wait(process.pid, until_s)
        finally:
            _kill(process)
        # An answer that is complete counts, also when the deadline or a crash came right after it.
        answer, begun = _read(answered), _has_begun(answered)
    if answer is not None:
        return _outcome(*answer)
    if not begun:
        what = "ended before" if ended else f"did not within {timeout_s:g} s come to"
        message = f"The tool's child process {what} the call; nothing was sent."
        raise Retryable(message)
    if not ended:
        message = f"The tool did not answer within {timeout_s:g} s; its process was killed."
        raise TimeoutError(message)
    if process.returncode < 0:
        raise ChildDied(-process.returncode)
    raise ChildVanished(process.returncode)


def child_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give the environment of a child: an allow-list, and no way to our own services.

    Language, time zone, paths, Django's settings module and `SIGNALBOX_…` names pass, unless name
    or value looks like a secret. The child gets no database: its addresses lead nowhere, the same
    on a laptop as in production (hazard PR-03).

    Args:
        environ: What to choose from; this process's own if None.
    """
    chosen = {
        name: value
        for name, value in (os.environ if environ is None else environ).items()
        if (name in _PASSED_ON or name.startswith(_PREFIXES)) and not _looks_secret(name, value)
    }
    return chosen | {
        "SECRET_KEY": secrets.token_hex(32),  # Django wants one; this one opens nothing
        "DATABASE_URL": "postgresql://isolated-tools-have-no-database.invalid/none",
        "VALKEY_URL": "redis://isolated-tools-have-no-valkey.invalid",
    }


def _looks_secret(name: str, value: str) -> bool:
    has_user = "@" in value and "://" in value
    return has_user or any(word in name.upper() for word in _SECRET_WORDS)


def _start(
    asked: IO[bytes], answered: IO[bytes], environ: dict[str, str]
) -> subprocess.Popen[bytes]:
    handles = (asked.fileno(), answered.fileno())
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-X", "faulthandler", "-c", _BOOT, *map(str, handles)],
            env=environ,
            pass_fds=handles,
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a tool prints belongs to the log, not to a command's answer
            start_new_session=True,
        )
    except OSError as error:
        message = f"The child process could not be started: {error}"
        raise Retryable(message) from error


def _wait(pid: int, until_s: float) -> bool:
    """Wait for the child's end or that of the time; leave it unreaped, so its id stays ours."""
    pause_s = _FIRST_PAUSE_S
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            return False
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the child's group, then reap the child; in this order the id is ours."""
    with suppress(ProcessLookupError, PermissionError):  # macOS denies it for a group of zombies
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(answered: IO[bytes]) -> tuple[dict[str, Any], str] | None:
    answered.seek(0)
    head, _, body = answered.read().partition(b"\n")
    try:
        about = json.loads(head)
    except ValueError:
        return None
    return (about, body.decode()) if len(body) == about["size"] else None


def _has_begun(answered: IO[bytes]) -> bool:
    """Tell whether the child came to the call: before that it writes nothing."""
    return os.fstat(answered.fileno()).st_size > 0


def _outcome(about: dict[str, Any], body: str) -> Any:
    match about["kind"]:
        case "value":
            return decode(body)
        case "retryable":
            raise Retryable(body, about["after_s"])
        case "permanent":
            raise Permanent(body)
        case "ambiguous":
            raise Ambiguous(body)
        case _:
            raise ToolFailed(about["type"], body)
