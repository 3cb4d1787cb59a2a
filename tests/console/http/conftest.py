"""Accounts, tokens and clients of the API's tests."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console import tokens
from console.access import Role, grant, lay_roles
from console.tokens import Scope
from runtime import api
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand

type Bearer = Callable[..., Client]


@pytest.fixture
def ann(db: None) -> User:
    """An operator."""
    lay_roles()  # a test that empties the tables took them along
    user = User.objects.create_user("ann")
    grant(user, Role.OPERATOR)
    return user


@pytest.fixture
def vic(db: None) -> User:
    """A viewer."""
    lay_roles()
    user = User.objects.create_user("vic")
    grant(user, Role.VIEWER)
    return user


@pytest.fixture
def bearer(ann: User) -> Bearer:
    """Make clients with a token: of whom, for what, where."""
    count = 0

    def make(
        *scopes: Scope, user: User = ann, namespaces: tuple[str, ...] = (), **more: Any
    ) -> Client:
        nonlocal count
        count += 1
        wanted = scopes or tuple(Scope)
        token = tokens.create(f"t{count}", user.username, wanted, namespaces=namespaces)
        return Client(headers={"authorization": f"Bearer {token}"}, **more)

    return make


@pytest.fixture
def client(bearer: Bearer) -> Client:
    """A client whose token may do everything an operator may."""
    return bearer()


@pytest.fixture
def task_id(ann: User) -> UUID:
    """A task that nobody has begun."""
    return api.submit(clerk.NAME, {"order_id": "A1"}).id


@pytest.fixture
def item(task_id: UUID) -> api.ReviewView:
    """A question that a task asks."""
    Hand(task_id).start().ask()
    (found,) = api.reviews()
    return found


@pytest.fixture
def doubt(ann: User) -> api.ReviewView:
    """A call in doubt, of a task of its own."""
    Hand(api.submit(clerk.NAME, {"order_id": "A2"}).id).start().read().begin().doubt()
    return api.reviews()[-1]
