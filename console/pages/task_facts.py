"""What every part of a task's page is made of, read once for a request."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import Http404
from django.utils.translation import gettext as _

from console import queries
from console.pages import spoken, task_diagnosis
from console.pages.words import Lamp, lamp
from console.queries import EffectLine, Journey, LeaseView
from runtime import api
from runtime.api import Agent, SignalboxError, TaskDetail, Verdict
from runtime.core.checkpoint import Checkpoint
from runtime.core.errors import CheckpointUnreadable, UnknownAgent, UnknownTask
from runtime.core.ledger_words import Word
from runtime.core.states import RUNNABLE, State

_PROVED: Final = 2000
"""Journals up to so many events are proved while a page is made."""
_LOOKED_AT: Final = 50
#: Standings of effects that took place, whatever came of them later.
HAPPENED: Final = frozenset({Word.CONFIRMED, Word.FOUND, Word.UNDONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One task with what stands around it.

    Args:
        at: Its checkpoint; None when it cannot be read.
        agent: The agent as it is deployed here; None when this installation does not know it.
        serving: Running workers that serve its queue.
    """

    task: TaskDetail
    at: Checkpoint | None
    why: str
    serving: int
    lamp: Lamp
    lease: LeaseView
    effects: Sequence[EffectLine]
    reviews: int
    artifacts: int
    journey: Journey
    agent: Agent | None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits it was pinned to."""
        manifest = self.task.manifest.get("manifest", self.task.manifest)
        limits = manifest.get("limits", {}) if isinstance(manifest, dict) else {}
        return limits if isinstance(limits, dict) else {}

    @property
    def waits_for_its_first_worker(self) -> bool:
        """Whether nothing has happened to it yet."""
        return self.task.state == State.INITIALIZED and self.task.owner is None

    @property
    def cannot_be_taken(self) -> str:
        """Why no worker can take it, in a sentence; empty when one can."""
        if self.task.ended or self.task.owner is not None:
            return ""
        if self.agent is None:
            return _("No process here knows its agent, so no worker can take it.")
        if self.serving == 0 and self.task.state != State.WAITING_HUMAN:
            return _("No running worker serves its queue, so no worker can take it.")
        return ""

    @property
    def why_says_so(self) -> bool:
        """Whether the sentence of the page says already that no worker can take it."""
        return self.task.state in RUNNABLE and not self.task.held

    @property
    def compensations(self) -> dict[str, str]:
        """What undoes the task's tools, by tool, as their authors declared it."""
        tools = self.agent.tools if self.agent is not None else {}
        return {name: tool.compensate for name, tool in tools.items() if tool.compensate}

    @property
    def can_be_undone(self) -> bool:
        """Whether undoing is a matter for this task at all."""
        return bool(self.compensations) or any(one.word in HAPPENED for one in self.effects)

    @property
    def trace_id(self) -> str:
        """The id of its trace: its own, without dashes."""
        return self.task.id.hex

    @property
    def trace_url(self) -> str:
        """Where a tracing system shows it; empty when none was named."""
        pattern: str = settings.SIGNALBOX_TRACE_URL
        return pattern.replace("{trace_id}", self.trace_id)


def found(task_id: UUID) -> TaskDetail:
    """Read a task.

    Raises:
        Http404: There is none.
    """
    try:
        return api.task(task_id)
    except UnknownTask as error:
        raise Http404(str(error)) from error


def read(task: TaskDetail) -> Facts:
    """Read what stands around a task; a fixed number of reads, however long it has lived."""
    state, at = State(task.state), checkpoint(task.id)
    pending = at.pending.operation_id if at is not None and at.pending is not None else None
    counts, (why, serving) = queries.tab_counts(task.id), _why(task.id)
    return Facts(
        task=task,
        at=at,
        why=why,
        serving=serving,
        lamp=lamp(state, held=task.held, in_hand=bool(task.owner)),
        lease=queries.lease(task.id),
        effects=queries.effects_of(task.id, pending, ended=task.ended),
        reviews=counts.reviews,
        artifacts=counts.artifacts,
        journey=queries.travelled(task.id, task.version, state),
        agent=_agent(task.agent),
    )


def checkpoint(task_id: UUID) -> Checkpoint | None:
    """Read a task's checkpoint; None when it is damaged."""
    try:
        return api.checkpoint(task_id)
    except CheckpointUnreadable:
        return None


def _why(task_id: UUID) -> tuple[str, int]:
    try:
        why = api.why(task_id)
    except SignalboxError as error:
        return spoken.refusal(error), 1
    return spoken.why(why.facts), why.facts.serving


def _agent(name: str) -> Agent | None:
    try:
        return api.get_agent(name)
    except UnknownAgent:
        return None


# --- the diagnosis of a task that failed --------------------------------------------------------


def diagnosis(facts: Facts) -> list[task_diagnosis.Finding]:
    """Say why a task failed; nothing for any other."""
    task = facts.task
    if task.state != State.TERMINATED_FAILED:
        return []
    events = api.events(task.id, after=max(task.version - _LOOKED_AT, 0), limit=_LOOKED_AT)
    case = task_diagnosis.Case(
        task=task,
        events=events[::-1],
        verdict=_proof(task.id, task.version) if task.version <= _PROVED else None,
        effects=facts.effects,
        holdings=queries.holdings(task.id, task.version),
        lease=facts.lease,
        artifacts=facts.artifacts,
        limits=facts.limits,
    )
    return task_diagnosis.diagnose(case)


@lru_cache(maxsize=256)
def _proof(task_id: UUID, version: int) -> Verdict:  # noqa: ARG001 (an ended task moves no more)
    return api.verify(task_id)
