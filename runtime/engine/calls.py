"""One tool call: what is decided about it before, how it is run, and what its outcome is.

The functions here build values; the driver yields the requests and writes the decisions.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, cast

from django.db import transaction

from runtime.core import commands as c
from runtime.core.effects import MEANINGS, Effect
from runtime.core.errors import ArgumentsRefused
from runtime.core.keys import arguments_digest, call_id, digest, operation_id
from runtime.core.payloads import Encoded, encode, fits_inline, summarise
from runtime.core.retry import RetryPolicy
from runtime.engine.desk import Desk
from runtime.engine.requests import InTransaction, OnLoop, OnThread
from runtime.store.commits import Attached
from runtime.tools.child import run_isolated
from runtime.tools.context import Ports as ToolPorts
from runtime.tools.context import ToolContext
from runtime.tools.registry import AnyTool

_LEAST_TIMEOUT_S = 0.05


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it goes out.

    Args:
        tool: The tool.
        stored: Its arguments in stored form.
        text: The gate's text of them.
        decided: The decision, when the call is not pending yet.
        call_id: Its identity within the task.
        operation_id: What the downstream knows it by.
        attempt: 1 on the first try.
        same: What makes two writes of this tool the same.
        typed: The arguments as Python values, for the first attempt only: a tool may change them.
    """

    tool: AnyTool
    stored: dict[str, Any]
    text: str
    decided: c.Decided | None
    call_id: str
    operation_id: str
    attempt: int
    same: str
    typed: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A planned call with its digest and, if it writes, its operation id."""

    decided: c.Decided
    text: str
    typed: dict[str, Any]


def name_call(desk: Desk, tool: AnyTool, arguments: object, ordinal: int = 0) -> Named:
    """Check a planned call's arguments and name it.

    Raises:
        ArgumentsRefused: The arguments do not fit the tool.
    """
    checked = tool.validate(arguments)
    text = encode(checked.stored).text
    marks = arguments_digest(desk.key, text)
    named = None
    if MEANINGS[tool.effect].is_write:
        named = operation_id(
            desk.key,
            task_id=desk.claimed.id,
            branch=desk.at.branch,
            step=desk.at.step + 1,
            ordinal=ordinal,
            tool=tool.name,
            arguments_digest=marks,
        )
    decided = c.Decided(tool.name, tool.effect, marks, checked.stored, named)
    return Named(decided, text, checked.typed)


def fallback_of(desk: Desk, call: Call, tools: Mapping[str, AnyTool]) -> c.Decided | None:
    """Give the call that takes this one's place when it is given up; None if there is none."""
    tool = tools.get(call.tool.fallback or "")
    if tool is None:
        return None
    try:
        return name_call(desk, tool, call.stored, ordinal=1_000 + call.attempt).decided
    except ArgumentsRefused:
        return None


def fresh_call(desk: Desk, tool: AnyTool, named: Named) -> Call:
    """Describe a call that was decided just now."""
    decided = named.decided
    stored = cast("dict[str, Any]", decided.arguments)
    return Call(
        tool=tool,
        stored=stored,
        text=named.text,
        decided=decided,
        call_id=call_id(desk.at.branch, desk.at.step + 1, 0),
        operation_id=decided.operation_id or "",
        attempt=1,
        same=same_digest(desk, tool, stored, decided.digest),
        typed=named.typed,
    )


def pending_call(desk: Desk, tool: AnyTool) -> Call:
    """Describe the pending call."""
    pending = desk.at.pending
    assert pending is not None  # noqa: S101 (the caller looks at the pending call)
    stored = desk.arguments()
    return Call(
        tool=tool,
        stored=stored,
        text=encode(stored).text,
        decided=None,
        call_id=pending.call_id,
        operation_id=pending.operation_id or "",
        attempt=pending.attempt + 1,
        same=same_digest(desk, tool, stored, pending.digest),
    )


def same_digest(desk: Desk, tool: AnyTool, stored: Mapping[str, Any], whole: str) -> str:
    """Digest what makes two writes the same: the arguments named by ``same=``, or all of them."""
    if not tool.same:
        return whole
    chosen = {name: stored.get(name) for name in tool.same}
    return arguments_digest(desk.key, encode(chosen).text)


def policy_of(desk: Desk, tool: AnyTool) -> RetryPolicy:
    """Give the retry policy in force: the manifest's, with the tool's own number of attempts."""
    policy = desk.manifest.retry
    if tool.attempts is None or tool.attempts == policy.attempts:
        return policy
    return policy.model_copy(update={"attempts": tool.attempts})


@dataclass(frozen=True, slots=True)
class Wires:
    """What a running call can say and ask.

    Args:
        heartbeat: Takes its progress.
        cancelled: Tells whether somebody wants the task's end.
        progress: What an earlier attempt reported last.
    """

    heartbeat: Callable[[object], None]
    cancelled: Callable[[], bool]
    progress: object


def request_of(desk: Desk, call: Call, wires: Wires) -> OnThread | OnLoop | InTransaction:
    """Build the request that runs a call where its kind belongs."""
    tool, timeout_s = call.tool, max(call.tool.timeout_s, _LEAST_TIMEOUT_S)
    if tool.isolate:
        named = call.operation_id or f"read_{desk.claimed.id}_{call.call_id}"
        return OnThread(
            lambda: run_isolated(tool, call.stored, operation_id=named, timeout_s=timeout_s),
            # The child is killed at the deadline; the thread itself only has to outlive that.
            timeout_s + 5,
            tool.name,
        )
    extra: dict[str, Any] = {}
    if tool.wants_operation_id:
        extra["operation_id"] = call.operation_id
    if tool.wants_ctx:
        extra["ctx"] = _context(desk, call, timeout_s, wires)

    arguments = tool.retype(call.stored) if call.typed is None else call.typed

    def run() -> Any:
        return tool.function(**arguments, **extra)

    if tool.effect is Effect.LOCAL:
        return InTransaction(run, timeout_s, tool.name)
    return OnLoop(run, timeout_s) if tool.is_async else OnThread(run, timeout_s, tool.name)


def check_request(call: Call) -> OnThread | OnLoop:
    """Build the request that asks a tool's check whether an operation happened."""
    check = call.tool.check
    assert check is not None  # noqa: S101 (its declaration says so)
    run: Callable[[], Any] = partial(check, call.operation_id)
    if inspect.iscoroutinefunction(check):
        return OnLoop(run, call.tool.timeout_s)
    return OnThread(run, call.tool.timeout_s, f"check of {call.tool.name}")


def _context(desk: Desk, call: Call, timeout_s: float, wires: Wires) -> ToolContext:
    clock = desk.ports.clock
    local = call.tool.effect is Effect.LOCAL
    return ToolContext(
        task_id=desk.claimed.id,
        namespace=desk.claimed.namespace,
        call_id=call.call_id,
        operation_id=call.operation_id,
        attempt=call.attempt,
        deadline=clock.now() + timedelta(seconds=timeout_s),
        ports=ToolPorts(
            clock=clock.now,
            heartbeat=wires.heartbeat,
            cancelled=wires.cancelled,
            transaction=transaction.atomic if local else None,
        ),
        progress=wires.progress,
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as it is stored.

    Args:
        text: Stored form: of the value, or of the reference to where it is kept.
        digest: Digest of the value's own stored form.
        summary: One line for people.
        artifact: Handle of the artifact, if it was too large for a row.
    """

    text: str
    digest: str
    summary: str
    artifact: str | None


def keep(desk: Desk, value: object) -> Kept:
    """Bring a result into stored form; large ones go to the artifact store first."""
    payload: Encoded = encode(value)
    marks = digest(desk.key, "result", payload.text)
    summary = summarise(value)
    if fits_inline(payload):
        return Kept(payload.text, marks, summary, None)
    fresh = desk.ports.chance.uuid7(desk.ports.clock.now())
    claimed = desk.claimed
    text, handle = desk.ports.books.keep(claimed.namespace, claimed.id, fresh, payload)
    return Kept(text, marks, summary, handle)


def attached_to(call: Call, kept: Kept) -> Attached:
    """Give the payloads that go into the row of a completed call."""
    return Attached(
        result=kept.text,
        artifact=kept.artifact,
        arguments=call.text if call.decided is not None else None,
        same_digest=call.same,
    )
