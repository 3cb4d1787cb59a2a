"""What the API takes and gives, as pydantic models; rows of the facade become answers here."""

import re
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self, cast
from uuid import UUID

from ninja import Query, Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from runtime import api
from runtime.core.plain import jsonable
from runtime.core.reviews import Decision, Kind, meaning

LARGEST_SITUATION: Final = 2**31 - 1
LONGEST_REASON: Final = 4000
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_EARLIEST, _LATEST = 2000, 2200


def _instant(value: object) -> object:
    """Only text is read as an instant: a bare number could be seconds or milliseconds."""
    if not isinstance(value, str):
        message = "an instant is a text such as 2026-01-31T12:00:00Z"
        raise ValueError(message)  # noqa: TRY004 (pydantic turns a ValueError into its own)
    return value


def _zoned(value: datetime) -> datetime:
    if value.tzinfo is None:
        message = "an instant needs its zone, such as 2026-01-31T12:00:00Z or +02:00"
        raise ValueError(message)
    if not _EARLIEST <= value.year < _LATEST:
        message = f"an instant lies between the years {_EARLIEST} and {_LATEST}"
        raise ValueError(message)
    return value


def _whole(value: object) -> object:
    """Take integers as themselves or as text; true is not 1, and 1.0 is not whole."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if type(value) is not int:
        message = "it is not a whole number"
        raise ValueError(message)
    return value


Instant = Annotated[datetime, BeforeValidator(_instant), AfterValidator(_zoned)]
NAME: Final = r"^[A-Za-z0-9_.:-]{1,100}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
# Not made of `Name`: of several annotations the framework sees only the first.
Space = Annotated[str, Query(pattern=NAME, description="the namespace to look in")]
Text = Annotated[str, StringConstraints(max_length=LONGEST_REASON)]
Reason = Annotated[
    str, StringConstraints(min_length=1, max_length=LONGEST_REASON, strip_whitespace=True)
]
Situation = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=LARGEST_SITUATION)]
Priority = Annotated[int, BeforeValidator(_whole), Field(ge=-1000, le=1000)]


# --- what comes in ------------------------------------------------------------------------------


class TaskIn(Schema):
    """A request for a task."""

    model_config = ConfigDict(extra="forbid")

    agent: Name
    input: Any = Field(description="what the agent is asked: a JSON object that fits it")
    manifest: dict[str, Any] | None = Field(None, description="narrows the agent's manifest")
    namespace: Name = "default"
    title: Annotated[str, StringConstraints(max_length=1000)] = ""
    labels: dict[str, str] = {}
    priority: Priority = Field(0, description="lower numbers go first")
    not_before: Instant | None = Field(None, description="the earliest start, with its zone")
    callback_url: str | None = Field(None, description="told of the end by a signed POST")


class LeverIn(Schema):
    """Why somebody does something to a task."""

    model_config = ConfigDict(extra="forbid")

    reason: Reason


class SeenLeverIn(LeverIn):
    """The same, for what depends on how the task stood when it was read."""

    situation: Situation = Field(description="the task's `situation` when it was read")


class DecisionIn(Schema):
    """A decision.  Who decides is never taken from here."""

    decision: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    reason: Text = Field("", description="why; `abort` needs one")
    arguments: dict[str, Any] | None = Field(None, description='like {"answer": …}')
    situation: Situation = Field(description="the item's `situation` when it was read")
    digest: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        None, description="the item's `digest`: refused if something else was shown"
    )


# --- what goes out ------------------------------------------------------------------------------


class TaskOut(Schema):
    """A task as lists show it."""

    id: UUID
    namespace: str
    agent: str
    queue: str
    priority: int
    state: str
    ended: bool
    version: int = Field(description="moves with every event")
    situation: int = Field(description="moves with what people rely on; post it back")
    title: str
    labels: dict[str, str]
    key: str | None
    created_by: str
    held: bool = Field(description="paused by a person")
    owner: UUID | None = Field(description="the worker that holds it")
    deaths: int
    created_at: datetime
    due_at: datetime | None
    finished_at: datetime | None
    deadline: datetime | None
    outcome: str | None
    outcome_reason: str | None
    steps: int
    done: int
    writes: int
    tool: str | None
    attempt: int
    wait: str | None
    review_id: UUID | None
    readable: bool

    @classmethod
    def of(cls, view: api.TaskView) -> Self:
        """Show a row."""
        return _made(cls, **_plain_fields(view), ended=view.ended)


class CallbackOut(Schema):
    """Whom a task tells of its end, and how that went."""

    url: str = Field(description="without its query")
    status: Literal["waiting", "due", "delivered", "given_up"]
    attempts: int
    due_at: datetime | None
    answer: int | None
    failure: str
    settled_at: datetime | None

    @classmethod
    def of(cls, view: api.CallbackView) -> Self:
        """Show a row; what stands behind the question mark may be a secret of the receiver's."""
        shown = _plain_fields(view) | {"url": view.url.partition("?")[0]}
        return _made(cls, **shown)


class TaskDetailOut(TaskOut):
    """A task with its bulky parts."""

    input: Any
    manifest: Any
    result: Any
    callback: CallbackOut | None

    @classmethod
    def of_detail(cls, view: api.TaskDetail, callback: api.CallbackView | None) -> Self:
        """Show a row."""
        told = None if callback is None else CallbackOut.of(callback)
        return _made(cls, **_plain_fields(view), ended=view.ended, callback=told)


class TasksOut(Schema):
    """A page of tasks, the newest first."""

    tasks: list[TaskOut]
    cursor: str | None = Field(description="where the next page begins; null on the last one")


class EventOut(Schema):
    """One event of a task's journal."""

    seq: int
    type: str
    at: datetime
    actor: str
    call_id: str | None
    cause: int | None
    event_id: str | None
    payload: Any

    @classmethod
    def of(cls, view: api.EventView) -> Self:
        """Show a row."""
        return _made(cls, **_plain_fields(view))


class EventsOut(Schema):
    """Events in order; a page ends after so many rows or so many bytes, whichever comes first."""

    events: list[EventOut]
    after: int = Field(description="ask with this for what follows, now or later")
    more: bool = Field(description="whether something follows already")


class WhyOut(Schema):
    """Why a task is not moving."""

    sentence: str
    state: str
    facts: Any

    @classmethod
    def of(cls, why: api.Why) -> Self:
        """Show an answer."""
        return _made(cls, sentence=why.sentence, state=why.state, facts=jsonable(why.facts))


class ReviewOut(Schema):
    """What a person is asked to decide, as lists show it."""

    id: UUID
    namespace: str
    task_id: UUID
    agent: str
    kind: str
    status: str
    why: str
    question: str
    allowed: list[str]
    call_id: str | None
    operation_id: str | None
    tool: str | None
    situation: int = Field(description="the task's; post it back with the decision")
    seq: int
    opened_at: datetime
    waits_s: float
    decision: str | None
    reason: str | None
    decided_by: str | None
    channel: str | None
    decided_at: datetime | None
    closed_at: datetime | None

    @classmethod
    def of(cls, view: api.ReviewView) -> Self:
        """Show a row."""
        return _made(cls, **_plain_fields(view, leave=("arguments", "snapshot")))


class ReviewDetailOut(ReviewOut):
    """A review item with everything it rests on."""

    arguments: Any
    snapshot: Any
    offers: dict[str, str] = Field(description="what each decision does")
    digest: str = Field(description="of what is shown here; post it back with the decision")

    @classmethod
    def of_detail(cls, view: api.ReviewView, digest: str) -> Self:
        """Show a row."""
        offers = {name: meaning(Kind(view.kind), Decision(name)) for name in view.allowed}
        return _made(cls, **_plain_fields(view), offers=offers, digest=digest)


class ReviewsOut(Schema):
    """A page of review items, the longest waiting first."""

    reviews: list[ReviewOut]
    cursor: str | None = Field(description="where the next page begins; null on the last one")


class WorkerOut(Schema):
    """One incarnation of a worker."""

    id: UUID
    host: str
    pid: int
    kind: str
    queues: list[str]
    slots: int
    held: int
    memory_mb: int
    version: str
    state: str
    started_at: datetime
    heartbeat_s: float
    lease_left_s: float
    ended_at: datetime | None
    death: str | None
    refusals: int
    agents: list[str]
    drain_asked_at: datetime | None
    left_behind: list[UUID]


class QueueOut(Schema):
    """One queue: its backlog, and who serves it."""

    queue: str
    due: int
    oldest_s: float | None
    later: int
    workers: int
    slots: int
    held: int


class WorkersOut(Schema):
    """Living workers, those that ended within a day, and the queues."""

    workers: list[WorkerOut]
    queues: list[QueueOut]


def _made[S: Schema](kind: type[S], /, **parts: Any) -> S:
    """Make an answer of what the facade gave: it was checked where it was made."""
    return cast("S", kind.model_construct(**parts))


def shown[S: Schema](kind: type[S], view: Any) -> S:
    """Show a row whose fields are named alike."""
    return _made(kind, **_plain_fields(view))


_BULKY: Final = frozenset({"input", "manifest", "result", "arguments", "snapshot", "payload"})


def _plain_fields(view: Any, leave: tuple[str, ...] = ()) -> dict[str, Any]:
    """Give a row's fields; payloads, which hold any value, as plain JSON."""
    found = {f.name: getattr(view, f.name) for f in fields(view) if f.name not in leave}
    return {
        name: jsonable(v) if name in _BULKY else list(v) if isinstance(v, tuple) else v
        for name, v in found.items()
    }
