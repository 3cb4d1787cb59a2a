"""`/tasks`: submit them, list them, read them, wait for them, and act on them."""

from collections.abc import Callable
from typing import Annotated, Any, Final

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Header, Query, Router, Status
from pydantic import Field

from console import audit
from console.access import Permission
from console.audit import Act
from console.http.auth import Caller, caller_of, needs
from console.http.export import stream
from console.http.problems import Problem, of_error
from console.http.schemas import (
    EventOut,
    EventsOut,
    LeverIn,
    Name,
    SeenLeverIn,
    Space,
    TaskDetailOut,
    TaskIn,
    TaskOut,
    TasksOut,
    WhyOut,
)
from console.http.waiting import watch
from console.middleware import request_id
from runtime import api
from runtime.core.errors import BadIdentifier, SignalboxError, UnknownTask
from runtime.core.states import State

router = Router(tags=["tasks"])
LONGEST_WAIT_S: Final = 30.0
PAGE_BYTES: Final = 1024 * 1024
_MOST: Final = 2**63 - 1
_CONFLICT: Final = 409
_OBJECT: Final = {401: Problem, 403: Problem, 404: Problem, 422: Problem}

Found = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]


@router.post(
    "",
    response={202: TaskOut, 409: Problem, 413: Problem, **_OBJECT},
    **needs(Permission.SUBMIT_TASKS),
)
def submit_task(
    request: HttpRequest,
    response: HttpResponse,
    body: TaskIn,
    idempotency_key: Annotated[str | None, Header(alias="Idempotency-Key")] = None,
) -> Status[TaskOut]:
    """Submit a task.

    With an `Idempotency-Key` the same request sent again gives the same task, however often; the
    same key with another request is refused.  Without a key every request makes a task.
    """
    caller = caller_of(request)
    caller.check_reach(body.namespace)
    view = api.submit(
        body.agent,
        body.input,
        manifest=body.manifest,
        key=idempotency_key,
        namespace=body.namespace,
        title=body.title,
        labels=body.labels,
        priority=body.priority,
        not_before=body.not_before,
        created_by=caller.actor,
        callback_url=body.callback_url,
    )
    response["Location"] = f"{request.path}/{view.id}"
    return Status(202, TaskOut.of(view))


@router.get(
    "",
    response={200: TasksOut, 401: Problem, 403: Problem, 422: Problem},
    **needs(Permission.VIEW_TASKS),
)
def list_tasks(  # noqa: PLR0913, PLR0917 (one filter each)
    request: HttpRequest,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    agent: Annotated[Name | None, Query(description="only those of this agent")] = None,
    q: Annotated[Found | None, Query(description="only those whose id, key or words match")] = None,
    cursor: Annotated[str | None, Query(description="`cursor` of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    namespace: Space = "default",
) -> TasksOut:
    """List tasks, the newest first."""
    caller_of(request).check_reach(namespace)
    page = api.tasks(namespace=namespace, state=state, agent=agent, q=q, cursor=cursor, limit=limit)
    rows = [TaskOut.of(view) for view in page.rows]
    return TasksOut.model_construct(tasks=rows, cursor=page.cursor)


@router.get("/{task_id}", response={200: TaskDetailOut, **_OBJECT}, **needs(Permission.VIEW_TASKS))
async def get_task(
    request: HttpRequest,
    task_id: str,
    wait_s: Annotated[
        float,
        Query(ge=0, le=LONGEST_WAIT_S, allow_inf_nan=False, description="wait for the end so long"),
    ] = 0.0,
    beyond: Annotated[
        int | None,
        Query(ge=0, le=_MOST, description="with `wait_s`: do not wait past a greater `version`"),
    ] = None,
    namespace: Space = "default",
) -> TaskDetailOut:
    """Read one task; perhaps wait until it ends, or moves."""
    caller = caller_of(request)

    def read() -> tuple[api.TaskDetail, TaskDetailOut]:
        view = seen(caller, namespace, task_id)
        return view, TaskDetailOut.of_detail(view, api.callback(view.id, namespace=namespace))

    view, out = await sync_to_async(read)()
    if wait_s and not view.ended and (beyond is None or view.version <= beyond):
        await sync_to_async(close_old_connections)()
        await watch.wait(view.id, wait_s, beyond)
        _, out = await sync_to_async(read)()
    return out


@router.get(
    "/{task_id}/events", response={200: EventsOut, **_OBJECT}, **needs(Permission.VIEW_TASKS)
)
def list_events(
    request: HttpRequest,
    task_id: str,
    after: Annotated[int, Query(ge=0, le=_MOST, description="only those that follow")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    namespace: Space = "default",
) -> EventsOut:
    """Read events of a task in order, at most `limit` and about 1 MB at a time."""
    view = seen(caller_of(request), namespace, task_id)
    found = api.events(view.id, after=after, limit=limit, max_bytes=PAGE_BYTES, namespace=namespace)
    last = found[-1].seq if found else after
    more = bool(found) and bool(api.events(view.id, after=last, limit=1, namespace=namespace))
    rows = [EventOut.of(event) for event in found]
    return EventsOut.model_construct(events=rows, after=last, more=more)


@router.get("/{task_id}/why", response={200: WhyOut, **_OBJECT}, **needs(Permission.VIEW_TASKS))
def why_task(request: HttpRequest, task_id: str, namespace: Space = "default") -> WhyOut:
    """Say in one sentence where a task stands and what it waits for."""
    view = seen(caller_of(request), namespace, task_id)
    return WhyOut.of(api.why(view.id, namespace=namespace))


@router.get("/{task_id}/export", response={200: str, **_OBJECT}, **needs(Permission.VIEW_TASKS))
def export_task(
    request: HttpRequest, task_id: str, namespace: Space = "default"
) -> HttpResponseBase:
    """Stream everything about a task as JSON lines: the task, its events, results and effects."""
    return stream(request, seen(caller_of(request), namespace, task_id))


_ACTS: Final = {200: TaskOut, 409: Problem, **_OBJECT}


@router.post("/{task_id}/pause", response=_ACTS, **needs(Permission.ACT_ON_TASKS))
def pause_task(
    request: HttpRequest, task_id: str, body: LeverIn, namespace: Space = "default"
) -> Any:
    """Hold a task where it stands; possible in every state but a final one."""
    return _pull(request, api.pause, task_id, namespace, body.reason)


@router.post("/{task_id}/cancel", response=_ACTS, **needs(Permission.ACT_ON_TASKS))
def cancel_task(
    request: HttpRequest, task_id: str, body: LeverIn, namespace: Space = "default"
) -> Any:
    """End a task without reaching its goal; possible in every state but a final one."""
    return _pull(request, api.cancel, task_id, namespace, body.reason)


@router.post("/{task_id}/resume", response=_ACTS, **needs(Permission.ACT_ON_TASKS))
def resume_task(
    request: HttpRequest, task_id: str, body: SeenLeverIn, namespace: Space = "default"
) -> Any:
    """Let a paused task go on exactly where it stands."""
    return _pull(request, api.resume, task_id, namespace, body.reason, body.situation)


@router.post("/{task_id}/retry", response=_ACTS, **needs(Permission.ACT_ON_TASKS))
def retry_task(
    request: HttpRequest, task_id: str, body: SeenLeverIn, namespace: Space = "default"
) -> Any:
    """Do not wait any longer: end a back-off, or decide `retry` on the item the task waits for.

    The latter is a decision and needs the right to decide.
    """
    caller = caller_of(request)
    if seen(caller, namespace, task_id).state == State.WAITING_HUMAN:
        caller.check(Permission.DECIDE_REVIEWS)
    return _pull(request, api.retry, task_id, namespace, body.reason, body.situation)


def seen(caller: Caller, namespace: str, task_id: str) -> api.TaskDetail:
    """Give a task that the caller may see.

    Raises:
        UnknownTask: There is none, or it is none of the caller's business: the same words.
    """
    try:
        if caller.reaches(namespace):
            return api.task(task_id, namespace=namespace)
    except BadIdentifier:
        pass
    raise UnknownTask(task_id)


def _pull(  # noqa: PLR0913, PLR0917 (the parts of one command)
    request: HttpRequest,
    lever: Callable[..., api.TaskView],
    task_id: str,
    namespace: str,
    reason: str,
    situation: int | None = None,
) -> Any:
    """Do something to a task; a refusal shows how the task stands."""
    caller = caller_of(request)
    view = seen(caller, namespace, task_id)
    act = Act(
        actor=caller.actor,
        action=f"task.{lever.__name__}",
        object=f"task:{view.id}",
        reason=reason,
        request_id=request_id(request),
    )
    more = {} if situation is None else {"situation": situation}
    try:
        done = lever(view.id, reason=reason, by=caller.actor, namespace=namespace, **more)
    except SignalboxError as error:
        audit.record(act, "conflict" if error.http_status == _CONFLICT else "refused", str(error))
        now = api.task(view.id, namespace=namespace)
        return of_error(request, error, {"current": TaskOut.of(now).model_dump()})
    audit.record(act, "done", _through(caller))
    return TaskOut.of(done)


def _through(caller: Caller) -> str:
    return f"token {caller.token}" if caller.token else "api session"
