"""What a lever will do to a task, said before it is pulled.

Pure: made of the checkpoint and the ledger, so that what the dialog foretells is what the engine
decides on.  Nothing here does anything.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.pages.review_words import meaning
from console.queries import EffectLine
from runtime.core.checkpoint import Checkpoint, Pending
from runtime.core.effects import MEANINGS, Unknown
from runtime.core.ledger_words import Word
from runtime.core.reviews import Decision, Kind
from runtime.core.states import State

_HAPPENED = frozenset({Word.CONFIRMED, Word.FOUND})


@dataclass(frozen=True, slots=True)
class Foretold:
    """One thing that will be so.

    Args:
        lamp: Which lamp it wears: ``done`` stays, ``moving`` is done, ``ended`` is not done any
            more, ``waiting`` goes on waiting, ``stop`` may happen twice or is in doubt.
        text: One sentence; names of tools in it are foreign.
    """

    lamp: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a preview is made of.

    Args:
        at: The checkpoint; None when it cannot be read.
        in_hand: A worker holds the task.
        effects: The ledger of the task.
    """

    at: Checkpoint | None
    in_hand: bool
    effects: Sequence[EffectLine]


def preview(lever: str, standing: Standing) -> list[Foretold]:
    """Foretell what pulling a lever will do.

    Args:
        lever: ``pause``, ``resume``, ``retry`` or ``cancel``.
        standing: Where the task stands.
    """
    if standing.at is None:
        said = _("Its checkpoint cannot be read; a person is asked before anything goes on.")
        return [Foretold("stop", said), *_effects_stay(standing.effects)]
    told = {"pause": _pause, "resume": _resume, "retry": _retry, "cancel": _cancel}[lever]
    return list(told(standing, standing.at))


def _pause(standing: Standing, at: Checkpoint) -> Iterator[Foretold]:
    if standing.in_hand:
        yield _under_way(at)
    elif at.state is State.RETRYING:
        yield Foretold("waiting", _("The back-off runs on; the attempt waits for the resume."))
    elif at.state is State.WAITING_HUMAN:
        said = _("The review stays open and can be decided; what follows waits for the resume.")
        yield Foretold("waiting", said)
    else:
        yield Foretold("waiting", _("No worker takes it until it is resumed."))
    yield from _kept(at)
    if at.deadline is not None and at.state is not State.WAITING_HUMAN:
        yield Foretold("waiting", _("Its deadline runs on meanwhile."))


def _under_way(at: Checkpoint) -> Foretold:
    if at.pending is not None and at.state is State.WAITING_TOOL_CALL:
        said = _("%(tool)s is under way and reaches its end first; its result is kept.")
        return Foretold("moving", said % {"tool": at.pending.tool})
    return Foretold("moving", _("The step under way reaches its end first."))


def _resume(_standing: Standing, at: Checkpoint) -> Iterator[Foretold]:
    yield from _kept(at)
    if at.state is State.WAITING_HUMAN:
        yield Foretold("person", _("It goes on waiting for a person's decision."))
    elif at.state is State.RETRYING:
        said = _("The next attempt is made when its back-off ends, at once if that has passed.")
        yield Foretold("waiting", said)
        yield _next_call(at)
    else:
        yield _next_call(at)


def _retry(_standing: Standing, at: Checkpoint) -> Iterator[Foretold]:
    wait = at.wait
    if wait is not None and wait.kind in set(Kind):
        kind = Kind(wait.kind)
        said = _("The review is decided: %(meaning)s.")
        yield Foretold("person", said % {"meaning": meaning(kind, Decision.RETRY)})
        yield from _risk(kind, at.pending)
    else:
        yield Foretold("ended", _("The rest of the back-off is dropped."))
        yield _next_call(at)
    yield from _kept(at)


def _risk(kind: Kind, pending: Pending | None) -> Iterator[Foretold]:
    tool = {"tool": pending.tool if pending else "?"}
    if kind is Kind.IN_DOUBT:
        said = _("This says that %(tool)s did not happen. If it did, it happens twice.")
        yield Foretold("stop", said % tool)
    elif kind is Kind.REPEATED_WRITE:
        yield Foretold("stop", _("%(tool)s has an effect for a second time.") % tool)
    elif kind is Kind.RETRIES_EXHAUSTED and pending is not None:
        yield Foretold("moving", _("%(tool)s is called with fresh attempts.") % tool)


def _cancel(standing: Standing, at: Checkpoint) -> Iterator[Foretold]:
    told = None
    if standing.in_hand:
        # A call under way is not torn off: how it ended is known before the task ends.
        yield _under_way(at)
        yield Foretold("ended", _("The worker that holds it then ends the task."))
        yield from _unmade(at)
    else:
        yield from _dropped(at)
        told = at.pending.operation_id if at.pending is not None else None
    if at.wait is not None and at.wait.review_id is not None:
        yield Foretold("ended", _("The open review is closed as cancelled."))
    stay = list(_effects_stay(one for one in standing.effects if one.id != told))
    if not stay and not (at.pending is not None and at.pending.dispatched):
        stay = [Foretold("done", _("No effect of it has reached the outside."))]
    yield from stay


def _dropped(at: Checkpoint) -> Iterator[Foretold]:
    pending = at.pending
    if pending is not None:
        tool = {"tool": pending.tool}
        if pending.dispatched:
            said = _("%(tool)s was sent and its outcome is not known: it ends in doubt.")
            yield Foretold("stop", said % tool)
        else:
            yield Foretold("ended", _("%(tool)s is not called any more.") % tool)
    yield from _unmade(at)


def _unmade(at: Checkpoint) -> Iterator[Foretold]:
    if at.queue is not None:
        left = at.queue.count - at.queue.next
        said = ngettext(
            "%(count)d further call of its plan is not made.",
            "%(count)d further calls of its plan are not made.",
            left,
        )
        yield Foretold("ended", said % {"count": left})


def _kept(at: Checkpoint) -> Iterator[Foretold]:
    if at.done:
        said = ngettext(
            "%(count)d completed call keeps its result and is not made again.",
            "%(count)d completed calls keep their results and are not made again.",
            at.done,
        )
        yield Foretold("done", said % {"count": at.done})


def _effects_stay(effects: Iterable[EffectLine]) -> Iterator[Foretold]:
    known = list(effects)
    stay = sum(effect.word in _HAPPENED for effect in known)
    if stay:
        said = ngettext(
            "%(count)d effect that happened stays as it is; nothing undoes it by itself.",
            "%(count)d effects that happened stay as they are; nothing undoes them by itself.",
            stay,
        )
        yield Foretold("done", said % {"count": stay})
    doubted = sum(effect.word is Word.IN_DOUBT for effect in known)
    if doubted:
        said = ngettext(
            "%(count)d effect stays in doubt: nobody knows whether it happened.",
            "%(count)d effects stay in doubt: nobody knows whether they happened.",
            doubted,
        )
        yield Foretold("stop", said % {"count": doubted})


def _next_call(at: Checkpoint) -> Foretold:
    if at.state is State.INITIALIZED:
        return Foretold("moving", _("The next free worker begins it."))
    if at.pending is None:
        return Foretold("moving", _("Its planner decides on the next step."))
    return _call(at.pending)


def _call(pending: Pending) -> Foretold:
    tool = {"tool": pending.tool, "attempt": pending.attempt + 1}
    if pending.doubted:
        said = _("A person is asked first whether %(tool)s happened.")
        return Foretold("person", said % tool)
    if pending.dispatched:
        return _again(pending)
    if pending.operation_id is not None and pending.attempt:
        said = _("%(tool)s is called again, attempt %(attempt)d, under the same operation id.")
    elif pending.attempt:
        said = _("%(tool)s is called again, attempt %(attempt)d.")
    else:
        said = _("%(tool)s is called.")
    return Foretold("moving", said % tool)


def _again(pending: Pending) -> Foretold:
    """Say what becomes of a call that may have happened: its effect class decides."""
    tool = {"tool": pending.tool}
    match MEANINGS[pending.effect].when_unknown:
        case Unknown.SAME_ID:
            said = _(
                "%(tool)s may have happened; it is sent again under the same operation id, "
                "by which its receiver knows it."
            )
            return Foretold("retrying", said % tool)
        case Unknown.CHECK_FIRST:
            said = _(
                "%(tool)s may have happened; its check is asked, and it is called only if not."
            )
            return Foretold("retrying", said % tool)
        case Unknown.ASK:
            said = _("%(tool)s may have happened and cannot be repeated; a person is asked.")
            return Foretold("stop", said % tool)
        case Unknown.CALL_AGAIN:
            return Foretold("moving", _("%(tool)s is called again.") % tool)
