"""What a sentence of `runtime.core.why` is made of: the facts that the database knows of a task."""

from dataclasses import dataclass
from datetime import datetime

from runtime.core.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A pause: who placed it, why, and when."""

    by: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The worker that holds the task; ``state`` None when no such worker is known."""

    host: str = ""
    pid: int = 0
    state: str | None = None
    renewed_at: datetime | None = None
    expires_at: datetime | None = None
    death: str | None = None

    @property
    def address(self) -> str:
        """How people find it."""
        return f"{self.host}:{self.pid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The review item that a task waits for."""

    id: str
    kind: str
    why: str
    question: str
    status: str
    at: datetime
    decision: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """A tool's breaker that lets no call through."""

    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything the sentence is made of.

    Args:
        now: The database's clock.
        moved_at: When its last event came.
        attention: Commands of people that nobody has read yet.
        agent_known: Whether this installation has the agent.
        serving: Running workers that serve its queue.
        free: Free slots of those.
        ahead: Due tasks that rank before it.
        last_failure: What the last attempt of the pending call said.
        readable: Whether its checkpoint can be read.
        wait_until: When its wait ends by itself.
        reason: Why it ended.
    """

    state: State
    now: datetime
    moved_at: datetime
    agent: str
    queue: str
    due_at: datetime | None = None
    finished_at: datetime | None = None
    deadline: datetime | None = None
    reason: str | None = None
    outcome: str | None = None
    hold: Hold | None = None
    holder: Holder | None = None
    asked: Asked | None = None
    resting: Resting | None = None
    tool: str | None = None
    attempt: int = 0
    dispatched: bool = False
    last_failure: str | None = None
    wait_until: datetime | None = None
    deaths: int = 0
    attention: int = 0
    agent_known: bool = True
    serving: int = 1
    free: int = 1
    ahead: int = 0
    readable: bool = True
