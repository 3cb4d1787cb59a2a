"""People with each role, and tasks in every situation that a page can show."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from console.access import Role, grant, lay_roles
from runtime import api
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand
from tests.support.brokers import broker

__all__ = ["broker"]

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def person(db: None) -> Callable[[Role | None], User]:
    """Make an account with a role, or with none."""

    def make(role: Role | None) -> User:
        lay_roles()
        name = role.value if role else "nobody"
        user, _ = User.objects.get_or_create(
            username=name, defaults={"email": f"{name}@example.org"}
        )
        if role is not None:
            grant(user, role)
        return user

    return make


@pytest.fixture
def as_role(person: Callable[[Role | None], User]) -> Callable[[Role | None], Client]:
    """Give a browser in which somebody with a role is signed in."""

    def make(role: Role | None) -> Client:
        client = Client()
        client.force_login(person(role), backend=BACKEND)
        return client

    return make


@pytest.fixture
def operator(as_role: Callable[[Role | None], Client]) -> Client:
    return as_role(Role.OPERATOR)


@pytest.fixture
def submitted(db: None) -> Callable[..., UUID]:
    """Submit a task."""

    def make(**parts: Any) -> UUID:
        return api.submit(**{"agent": NAME, "input": {"order_id": "A1"}, **parts}).id

    return make


@pytest.fixture
def asked(submitted: Callable[..., UUID]) -> Callable[[str], tuple[UUID, UUID]]:
    """Submit a task that asks a person; gives the task and the item."""

    def make(question: str = "Which one?") -> tuple[UUID, UUID]:
        task_id = submitted(title="Refund A1")
        Hand(task_id).start().read().ask(question)
        review_id = api.task(task_id).review_id
        assert review_id is not None
        return task_id, review_id

    return make


@contextmanager
def reads_only() -> Iterator[list[str]]:
    """Collect every statement that is no read."""
    written: list[str] = []

    def guard(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        text = str(sql).lstrip().upper()
        if not text.startswith(("SELECT", "WITH", "SAVEPOINT", "RELEASE SAVEPOINT", "(SELECT")):
            written.append(str(sql)[:200])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(guard):
        yield written
