"""Why a task failed, in the order in which one looks: where, its state, its effects, its resources.

Pure: facts in, sentences out.  It opens the page of a task that failed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.pages.event_words import TOO_LONG, standing
from console.pages.words import span
from console.queries import EffectLine, Holding, LeaseView
from console.recorded import recorded
from runtime.api import EventView, TaskDetail, Verdict
from runtime.core.events import EventType as E
from runtime.core.ledger_words import Word

_DEADLINE: Final = "its deadline passed"
_AMBIGUOUS: Final = "ambiguous"
_FAILED: Final = frozenset({E.TOOL_CALL_FAILED, E.TOOL_CALL_IN_DOUBT})
_CALLS: Final = frozenset({E.TOOL_CALL_STARTED, E.TOOL_CALL_SUCCEEDED, E.TOOL_CALL_FAILED})
_RECOVERED: Final = frozenset({E.TOOL_CALL_SUCCEEDED, E.TOOL_CALL_RECONCILED, E.STEP_SKIPPED})


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of a diagnosis.

    Args:
        title: What was looked at.
        lamp: ``stop`` where something is wrong, ``done`` where nothing is, ``waiting`` where it
            was not looked at.
        lines: What was found; texts of others stand in them.
        seq: The event it rests on, if it rests on one.
    """

    title: str
    lamp: str
    lines: tuple[str, ...]
    seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a diagnosis is made of.

    Args:
        task: It has failed.
        events: Its last ones, the newest first.
        verdict: Of the proof over its tables; None when its journal is too long to prove here.
        limits: Of its manifest.
    """

    task: TaskDetail
    events: Sequence[EventView]
    verdict: Verdict | None
    effects: Sequence[EffectLine]
    holdings: Sequence[Holding]
    lease: LeaseView
    artifacts: int
    limits: dict[str, object]


def diagnose(case: Case) -> list[Finding]:
    """Say where a task failed and what state it left."""
    return [_where(case), _state(case), _effects(case), _resources(case)]


def _where(case: Case) -> Finding:
    title, reason = _("Where it failed"), _reason(case)
    limit = _last(case.events, E.BUDGET_EXHAUSTED)
    failed, rejected = _failed(case.events), _last(case.events, E.PLAN_REJECTED)
    if reason == _DEADLINE:
        said = [_("Time-out: its deadline passed before it reached its goal."), *_tool(failed)]
        last = failed or _last_call(case.events)
        return Finding(title, "stop", (*said, *_at(last, failed)), last.seq if last else None)
    if limit is not None:
        said = [_("A limit: %(why)s.") % {"why": recorded(reason)}]
        return Finding(title, "stop", (*said, *_at(_last_call(case.events), None)), limit.seq)
    if failed is not None:
        lines = (*_tool(failed), _("Its planner then gave up: %(why)s") % {"why": recorded(reason)})
        return Finding(title, "stop", lines, failed.seq)
    said = [_("In its planner, which gave up: %(why)s") % {"why": recorded(reason)}]
    if rejected is not None:
        why = str(rejected.payload.get("why", ""))[:TOO_LONG]
        said.append(_("Before that a plan was rejected: %(why)s") % {"why": why})
    return Finding(title, "stop", tuple(said), rejected.seq if rejected else None)


def _reason(case: Case) -> str:
    end = _last(case.events, E.TASK_FAILED)
    told = end.payload.get("reason") if end is not None else None
    return str(case.task.outcome_reason or told or "–")[:TOO_LONG]


def _failed(events: Sequence[EventView]) -> EventView | None:
    """Find the last failed call that did not succeed after all."""
    recovered = {event.call_id for event in events if event.type in _RECOVERED}
    return next(
        (one for one in events if one.type in _FAILED and one.call_id not in recovered), None
    )


def _last_call(events: Sequence[EventView]) -> EventView | None:
    return next((one for one in events if one.type in _CALLS), None)


def _at(last: EventView | None, failed: EventView | None) -> Iterator[str]:
    """Name the last call of a task that failed at none."""
    if last is None or failed is not None:
        return
    tool, took_ms = last.payload.get("tool"), last.payload.get("took_ms")
    if tool and isinstance(took_ms, int | float):
        said = _("Its last call was %(tool)s, which took %(span)s.")
        yield said % {"tool": tool, "span": span(took_ms / 1000)}
    elif tool:
        yield _("Its last call was %(tool)s.") % {"tool": tool}


def _tool(event: EventView | None) -> Iterator[str]:
    if event is None:
        return
    payload = event.payload
    told = {
        "tool": payload.get("tool", "?"),
        "error": payload.get("error") or recorded(str(payload.get("why", ""))),
        "message": str(payload.get("message", ""))[:TOO_LONG],
        "attempt": payload.get("attempt", "?"),
        "of": payload.get("of", "?"),
    }
    if event.type == E.TOOL_CALL_IN_DOUBT:
        yield _("In the tool %(tool)s: nobody knows whether it happened: %(error)s") % told
    elif payload.get("failure") == _AMBIGUOUS:
        yield _("In the tool %(tool)s: no answer came in time (%(error)s: %(message)s).") % told
    else:
        yield (
            _("In the tool %(tool)s: attempt %(attempt)s of %(of)s failed, %(error)s: %(message)s")
            % told
        )


def _last(events: Sequence[EventView], kind: E) -> EventView | None:
    return next((event for event in events if event.type == kind), None)


def _state(case: Case) -> Finding:
    title, verdict = _("Its last state, and whether it resumed rightly"), case.verdict
    # A worker that ended later, with other work or none, says nothing of this task.
    dead = [held for held in case.holdings if held.died_with_it]
    lines = [_workers(case)]
    lines += [_died(held) for held in dead]
    if verdict is None:
        lines.append(_("Its journal is too long to prove here: run `manage.py verify` on it."))
        return Finding(title, "waiting", tuple(lines))
    if verdict.held:
        lines.append(
            _("Proved: its events fold to the stored state, and results and ledger fit them.")
        )
        return Finding(title, "done", tuple(lines))
    lines += [problem.what for problem in verdict.problems[:5]]
    return Finding(title, "stop", tuple(lines))


def _workers(case: Case) -> str:
    workers = len({held.worker_id for held in case.holdings})
    said = ngettext(
        "Changes of hands: %(hands)d; %(count)d worker wrote its events.",
        "Changes of hands: %(hands)d; %(count)d workers wrote its events.",
        workers,
    )
    return said % {"hands": case.lease.epoch, "count": workers}


def _died(held: Holding) -> str:
    told = {"worker": held.name, "seq": held.last_seq, "death": held.death or "?"}
    said = _("Worker %(worker)s, which wrote up to event %(seq)d, died: %(death)s")
    return said % told


def _effects(case: Case) -> Finding:
    title = _("Repeated effects")
    again = [effect for effect in case.effects if effect.dispatches > 1]
    doubted = [effect for effect in case.effects if effect.word is Word.IN_DOUBT]
    lines = [_sent(effect) for effect in again[:5]]
    lines += [_("%(tool)s is in doubt.") % {"tool": effect.tool} for effect in doubted[:5]]
    if not lines:
        return Finding(title, "done", (_("No effect was sent more than once."),))
    return Finding(title, "stop" if doubted else "retrying", tuple(lines))


def _sent(effect: EffectLine) -> str:
    told = {"tool": effect.tool, "count": effect.dispatches, "word": standing(effect.word)}
    said = _("%(tool)s was sent %(count)d times under one operation id; now it is %(word)s.")
    return said % told


def _resources(case: Case) -> Finding:
    task, lines = case.task, []
    steps = {"used": task.steps, "limit": case.limits.get("steps") or "∞"}
    lines.append(_("%(used)s of %(limit)s steps were used.") % steps)
    writes = {"used": task.writes, "limit": case.limits.get("writes", "∞")}
    lines.append(_("%(used)s of %(limit)s writes were made.") % writes)
    if task.finished_at is not None:
        took = span((task.finished_at - task.created_at).total_seconds())
        lines.append(_("It lived for %(span)s.") % {"span": took})
    if case.artifacts:
        said = ngettext(
            "It keeps %(count)d artifact.", "It keeps %(count)d artifacts.", case.artifacts
        )
        lines.append(said % {"count": case.artifacts})
    if case.lease.refused:
        said = ngettext(
            "%(count)d late write was refused.",
            "%(count)d late writes were refused.",
            case.lease.refused,
        )
        lines.append(said % {"count": case.lease.refused})
    return Finding(_("Resources"), "done", tuple(lines))
