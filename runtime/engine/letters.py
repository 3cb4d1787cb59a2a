"""Obeying the inbox: what people and the outside want of a task, applied in order.

Shared by the driver of a worker and by the levers, so that a command means the same whether or not
a worker holds the task.
"""

from collections.abc import Sequence
from typing import Any

from runtime.core import commands as c
from runtime.core.checkpoint import Pending
from runtime.core.errors import SignalboxError
from runtime.core.keys import digest
from runtime.core.payloads import CODEC, encode, summarise
from runtime.core.reviews import Decision as Choice
from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL
from runtime.engine.context import Finished
from runtime.engine.desk import Desk
from runtime.engine.requests import Steps
from runtime.store.claims import SUSPECT_DEATHS
from runtime.store.commits import NOTHING, Attached
from runtime.store.inbox import Letter

_KEEP_DEATHS = frozenset({"hold", "release_hold"})


def obey(desk: Desk) -> Steps[bool]:
    """Apply everything that waits in the inbox; False once the task has ended or left our hands."""
    while desk.attention != desk.attended:
        seen = desk.attention
        letters = desk.ports.books.letters(desk.claimed.id)
        for number, letter in enumerate(letters, start=1):
            yield from _apply(desk, letter, letters[number:], seen)
            if desk.at.state in TERMINAL or desk.parked:
                return False
        desk.attended = seen
    return True


def _apply(desk: Desk, letter: Letter, rest: Sequence[Letter], seen: int) -> Steps[None]:
    try:
        command, attached = _command(desk, letter)
        decision = desk.decide(command, letter.actor)
    except SignalboxError as error:
        desk.ports.books.set_aside(letter, str(error))
        return
    except (KeyError, TypeError, ValueError) as error:
        desk.ports.books.set_aside(letter, f"it cannot be read: {type(error).__name__}")
        return
    if isinstance(command, c.Settle) and _wants_another_try(desk, command):
        desk.deaths = SUSPECT_DEATHS
        keeps = True
    else:
        keeps = letter.kind in _KEEP_DEATHS
    pending = desk.at.pending
    ends = decision.after.state in TERMINAL
    if ends or not rest:
        # Not before the last one: a commit that says the inbox is read while letters wait would
        # park the task, or be the last thing we do, and nobody would ever come back for them.
        desk.attended = seen
    late = rest if ends else ()
    if (yield from desk.writing(decision, attached, keeps_deaths=keeps, letter=letter, late=late)):
        _remember(desk, command, attached, pending)


def _wants_another_try(desk: Desk, command: c.Settle) -> bool:
    """A step that killed its worker is tried again in a process of its own."""
    wait = desk.at.wait
    return wait is not None and wait.kind == Kind.KILLED_WORKER and command.decision == "retry"


def _command(desk: Desk, letter: Letter) -> tuple[c.Command, Attached]:
    facts: dict[str, Any] = letter.payload
    reason, by = str(facts.get("reason", "")), letter.actor
    match letter.kind:
        case "cancel":
            return c.Cancel(reason, by), Attached(end_reason=f"cancelled by {by}: {reason}")
        case "hold":
            return c.Hold(reason, by), NOTHING
        case "release_hold":
            return c.ReleaseHold(reason, by), NOTHING
        case "retry":
            return c.RetryNow(reason, by), NOTHING
        case "settle":
            return _settle(desk, facts, reason, by)
        case other:
            raise ValueError(other)


def _settle(
    desk: Desk,
    facts: dict[str, Any],
    reason: str,
    by: str,
) -> tuple[c.Command, Attached]:
    arguments: dict[str, Any] = facts.get("arguments") or {}
    decision = facts["decision"]
    attached, result_digest, summary = NOTHING, None, ""
    if decision == Choice.RESULT:
        payload = encode(arguments.get("result"))
        result_digest = digest(desk.key, "result", payload.text)
        summary = summarise(arguments.get("result"))
        attached = Attached(result=payload.text, external_id=arguments.get("external_id"))
    elif decision == Choice.ABORT:
        attached = Attached(end_reason=f"aborted by {by}: {reason}")
    command = c.Settle(
        review_id=facts["review_id"],
        decision=decision,
        reason=reason,
        by=by,
        answer=arguments.get("answer"),
        result_digest=result_digest,
        summary=summary,
    )
    return command, attached


def _remember(
    desk: Desk,
    command: c.Command,
    attached: Attached,
    pending: Pending | None,
) -> None:
    """Let the planner's context follow what a person decided."""
    if not isinstance(command, c.Settle):
        return
    if command.decision == Choice.ANSWER:
        desk.reload_answers()
    elif command.decision == Choice.RESULT and pending is not None:
        text, summary = attached.result, command.summary
        desk.calls.append(
            Finished(pending.call_id, pending.tool, "succeeded", text, CODEC, summary),
        )
