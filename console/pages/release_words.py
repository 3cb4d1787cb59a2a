"""What follows when a task is taken out of a worker's hands: pure, from where the task stands."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from console.queries.workers import Holding
from runtime.core.checkpoint import Pending
from runtime.core.effects import MEANINGS, Unknown


@dataclass(frozen=True, slots=True)
class Follows:
    """One consequence, with the lamp it wears; names of tools in it are foreign text."""

    lamp: str
    text: str


def what_follows(holding: Holding) -> list[Follows]:
    """Say what runs again, what may happen twice, and what becomes of the old worker's work."""
    old = _("Whatever %(worker)s still brings for it is refused and kept as evidence.")
    return [
        _next(holding),
        Follows("ended", old % {"worker": holding.worker}),
        Follows("done", _("Everything committed so far stays; no attempt is used up.")),
    ]


def _next(holding: Holding) -> Follows:
    if not holding.is_readable:
        said = _("Its checkpoint cannot be read; a person is asked before anything goes on.")
        return Follows("person", said)
    if holding.held:
        return Follows("paused", _("It is paused: no worker takes it until it is resumed."))
    if holding.pending is None:
        said = _("Another worker decides its next step again from the last commit.")
        return Follows("moving", said)
    return _call(holding.pending)


def _call(pending: Pending) -> Follows:
    tool = {"tool": pending.tool}
    if not MEANINGS[pending.effect].is_write:
        return Follows("moving", _("%(tool)s is called again; it has no side effect.") % tool)
    if not pending.dispatched:
        return Follows("moving", _("%(tool)s has not been sent; another worker sends it.") % tool)
    match MEANINGS[pending.effect].when_unknown:
        case Unknown.SAME_ID:
            said = _("%(tool)s is sent again under its operation id, which the other side knows.")
            return Follows("retrying", said % tool)
        case Unknown.CHECK_FIRST:
            said = _("%(tool)s is checked first, and called again only if it did not happen.")
            return Follows("retrying", said % tool)
        case Unknown.ASK:
            said = _("Nobody can know whether %(tool)s happened: a person is asked to say so.")
            return Follows("stop", said % tool)
        case _:
            return Follows("moving", _("%(tool)s is called again; it did not happen.") % tool)
