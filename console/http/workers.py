"""`/workers`: who works, and on what backlog."""

from typing import Final

from django.http import HttpRequest
from ninja import Router

from console.access import Permission
from console.http.auth import needs
from console.http.problems import Problem
from console.http.schemas import QueueOut, WorkerOut, WorkersOut, shown
from runtime import api

router = Router(tags=["workers"])
_ANSWERS: Final = {200: WorkersOut, 401: Problem, 403: Problem}


@router.get("", response=_ANSWERS, **needs(Permission.VIEW_WORKERS))
def list_workers(request: HttpRequest) -> WorkersOut:  # noqa: ARG001 (the framework's signature)
    """List living workers, those that ended within a day and how, and the queues."""
    return WorkersOut.model_construct(
        workers=[shown(WorkerOut, view) for view in api.workers()],
        queues=[shown(QueueOut, view) for view in api.queues()],
    )
