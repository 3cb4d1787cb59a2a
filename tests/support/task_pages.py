"""A task's page as tests ask for it, and tasks with something on theirs."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.test import Client

from runtime import api
from runtime.core import commands as c
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]

ANN: dict[str, Any] = {"reason": "go", "by": "human:ann"}


def shown(client: Client, task_id: UUID, **asked: Any) -> str:
    """Give a task's page as text."""
    answer = client.get(f"/tasks/{task_id}/", asked)
    assert answer.status_code == 200
    return answer.content.decode()


def retried(submitted: Submit) -> UUID:
    """Make a task whose write failed once and then succeeded."""
    task_id = submitted()
    hand = Hand(task_id).start().read().begin().fail("503 from the bank")
    api.retry(task_id, **ANN)
    hand.again().do(c.Begin()).succeed("paid")
    return task_id
