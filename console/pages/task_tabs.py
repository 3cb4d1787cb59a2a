"""The tabs of a task's page: which there are, and what each shows.

Each tab reads only what is its own; the address names the one that is shown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.utils.translation import gettext as _

from console import queries
from console.pages import task_checkpoints, task_manifest, task_window, timeline
from console.pages.task_facts import HAPPENED, Facts
from console.pages.task_lease import Records, tenures
from console.pages.task_undo import Ground, Pair, back, needed
from console.pages.task_window import number
from console.queries import EffectLine, Moment
from runtime import api
from runtime.api import SignalboxError, StepView
from runtime.core import checkpoint as cp
from runtime.core.ledger_words import Word

CALLS: Final = 100
FIRST: Final = "timeline"
#: Tabs that a page's script leaves as they are: a form stands in them.
STILL: Final = frozenset({"checkpoint"})


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab; `count` is None where nothing is counted."""

    name: str
    words: str
    count: int | None = None


def tabs(facts: Facts) -> list[Tab]:
    """List the tabs a task has; what it has nothing of is left out."""
    found = [
        Tab(FIRST, _("Timeline"), facts.task.version),
        Tab("calls", _("Calls"), facts.task.done),
        Tab("effects", _("Effects"), len(facts.effects)),
        Tab("checkpoint", _("Checkpoint")),
        Tab("manifest", _("Manifest"), _drift(facts)),
        Tab("lease", _("Lease"), facts.lease.refused or None),
    ]
    if facts.can_be_undone:
        found.append(Tab("undo", _("Undo"), len(_forward(facts))))
    if facts.artifacts:
        found.append(Tab("artifacts", _("Artifacts"), facts.artifacts))
    if facts.reviews:
        found.append(Tab("reviews", _("Reviews"), facts.reviews))
    return found


def content(name: str, facts: Facts, request: HttpRequest) -> dict[str, Any]:
    """Read what a tab shows."""
    return _CONTENT[name](facts, request)


def _timeline(facts: Facts, request: HttpRequest) -> dict[str, Any]:
    shown = task_window.window(facts.task, request)
    told: dict[str, Any] = {"window": shown}
    if shown.lens == "json":
        told["json"] = task_window.as_json(shown.events)
    elif shown.lens == "events":
        rows = task_window.rows(shown.events)
        told["rows"] = rows[::-1] if shown.is_descending else rows
    else:
        items = (
            timeline.tell(shown.events, {}, {})
            if shown.failures
            else task_window.items(facts.task, shown.events)
        )
        told["items"] = items[::-1] if shown.is_descending else items
    return told


# --- calls and effects --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One completed call with its intent, its attempts and its outcome."""

    step: StepView
    arguments: Any
    effect: EffectLine | None
    moments: list[Moment]

    @property
    def took_s(self) -> float:
        """How long its last attempt took, in seconds."""
        return self.step.took_ms / 1000


def _calls(facts: Facts, request: HttpRequest) -> dict[str, Any]:
    task = facts.task
    after = number(request.GET.get("after", ""), max(task.done - CALLS, 0))
    wanted = request.GET.get("call", "")
    place = queries.place_of(task.id, wanted) if wanted else None
    if place is not None:
        after = max(place - 1, 0)
    # One more than is shown: the events of the first call lie behind those of the one before.
    steps = api.step_results(task.id, after=max(after - 1, 0), limit=CALLS + 1)
    before = steps.pop(0) if after and steps else None
    steps = steps[:CALLS]
    ids = [step.call_id for step in steps]
    arguments = queries.arguments_of(task.id, ids)
    moments = queries.moments(
        task.id, ids, before.seq if before else 0, steps[-1].seq if steps else 0
    )
    effects = {effect.call_id: effect for effect in facts.effects}
    last = steps[-1].position if steps else after
    return {
        "calls": [
            Call(
                step=step,
                arguments=arguments.get(step.call_id),
                effect=effects.get(step.call_id),
                moments=moments.get(step.call_id, []),
            )
            for step in steps
        ],
        "wanted": wanted,
        "pending": facts.at.pending if facts.at else None,
        "earlier": max(after - CALLS, 0) if after else None,
        "later": last if last < task.done else None,
    }


@dataclass(frozen=True, slots=True)
class Group:
    """Effects of one standing, the last ones, and how many there are."""

    title: str
    says: str
    lamp: str
    effects: list[EffectLine]
    count: int


def _effects(facts: Facts, _request: HttpRequest) -> dict[str, Any]:
    groups = []
    for title, says, lamp, words in _standings():
        found = [one for one in facts.effects if one.word in words]
        groups.append(Group(title, says, lamp, found[-CALLS:], len(found)))
    return {"groups": [group for group in groups if group.effects]}


def _standings() -> list[tuple[str, str, str, frozenset[Word]]]:
    """Name the standings of effects, those that need somebody first."""
    return [
        (
            _("In doubt"),
            _("Nobody knows whether these happened."),
            "stop",
            frozenset({Word.IN_DOUBT}),
        ),
        (
            _("Retrying"),
            _("An attempt failed; they are tried again under the same id."),
            "retrying",
            frozenset({Word.RETRYING}),
        ),
        (
            _("Planned or under way"),
            _("Decided; the outcome is awaited."),
            "moving",
            frozenset({Word.PLANNED, Word.RUNNING}),
        ),
        (_("Confirmed"), _("The tool said so."), "done", frozenset({Word.CONFIRMED})),
        (
            _("Happened"),
            _("A check or a person found it out."),
            "done",
            frozenset({Word.FOUND}),
        ),
        (_("Undone"), _("They happened and were undone."), "ended", frozenset({Word.UNDONE})),
        (
            _("Given up"),
            _("They did not happen and are not tried again."),
            "ended",
            frozenset({Word.GIVEN_UP}),
        ),
    ]


# --- undo ---------------------------------------------------------------------------------------


def _forward(facts: Facts) -> list[EffectLine]:
    return [effect for effect in facts.effects if effect.word in HAPPENED]


def _undo(facts: Facts, _request: HttpRequest) -> dict[str, Any]:
    task, happened = facts.task, _forward(facts)
    # The last one that happened is the first to be undone.
    shown = happened[: -CALLS - 1 : -1]
    ids = [effect.call_id for effect in shown]
    tools = {tool.name: tool for tool in api.agent(task.agent).tools} if facts.agent else {}
    hashes = task.manifest.get("tool_hashes")
    ground = Ground(
        task=task,
        tools=tools,
        hashes=hashes if isinstance(hashes, dict) else {},
        succeeded=queries.succeeded(task.id, needed(shown, tools)),
        writes=facts.limits.get("writes"),
    )
    arguments, results = queries.arguments_of(task.id, ids), queries.results_of(task.id, ids)
    return {
        "undo": [
            Pair(one, arguments.get(one.call_id), results.get(one.call_id), back(one, ground))
            for one in shown
        ],
        "undo_left_out": len(happened) - len(shown),
        "declared": sorted(facts.compensations.items()),
    }


# --- checkpoint and manifest --------------------------------------------------------------------


def _checkpoint(facts: Facts, request: HttpRequest) -> dict[str, Any]:
    version = facts.task.version
    farthest = min(version, api.FARTHEST_FOLD)
    later = min(max(number(request.GET.get("b", ""), farthest), 1), farthest)
    earlier = min(max(number(request.GET.get("a", ""), max(later - 1, 1)), 1), farthest)
    told: dict[str, Any] = {
        "a": earlier,
        "b": later,
        "farthest": farthest,
        "is_far": version > farthest,
        "now_fields": task_checkpoints.named(facts.at) if facts.at is not None else None,
        "size": len(cp.encode(facts.at).encode()) if facts.at is not None else 0,
        "limit": cp.LIMIT_BYTES,
    }
    try:
        at = api.checkpoints_at(facts.task.id, {earlier, later})
        fields = task_checkpoints.compare(at[earlier], at[later])
    except (SignalboxError, KeyError) as error:
        return told | {"damage": str(error)}
    same = task_checkpoints.Mark.SAME
    return told | {
        "differing": [one for one in fields if one.mark is not same],
        "alike": [one for one in fields if one.mark is same],
    }


def _drift(facts: Facts) -> int | None:
    if facts.agent is None:
        return None
    return task_manifest.drifts(task_manifest.compare(facts.task.manifest, facts.agent)) or None


def _manifest(facts: Facts, _request: HttpRequest) -> dict[str, Any]:
    pins = task_manifest.compare(facts.task.manifest, facts.agent) if facts.agent else []
    return {
        "pins": [pin for pin in pins if pin.mark != "same"],
        "alike": [pin for pin in pins if pin.mark == "same"],
        "drifts": task_manifest.drifts(pins),
        "recorded": facts.at.drift if facts.at else None,
    }


# --- lease, artifacts, reviews ------------------------------------------------------------------


def _lease(facts: Facts, _request: HttpRequest) -> dict[str, Any]:
    task = facts.task
    refusals = api.refusals(task.id, limit=CALLS)
    records = Records(
        task=task,
        holdings=queries.holdings(task.id, task.version),
        epochs=queries.epochs_of(task.id),
        takings=queries.takings(task.id),
        refusals=refusals,
        present=facts.lease.epoch,
    )
    return {
        "tenures": tenures(records),
        "takings": records.takings,
        "refusals": refusals,
        "looked_from": max(task.version - queries.SCANNED, 0) + 1,
    }


def _artifacts(facts: Facts, _request: HttpRequest) -> dict[str, Any]:
    return {"artifacts": queries.artifacts_of(facts.task.id)}


def _reviews(facts: Facts, _request: HttpRequest) -> dict[str, Any]:
    return {"reviews": queries.reviews_of(facts.task.id)}


_CONTENT: Final[dict[str, Callable[[Facts, HttpRequest], dict[str, Any]]]] = {
    FIRST: _timeline,
    "calls": _calls,
    "effects": _effects,
    "checkpoint": _checkpoint,
    "manifest": _manifest,
    "lease": _lease,
    "undo": _undo,
    "artifacts": _artifacts,
    "reviews": _reviews,
}
