"""What holds for every page there is: the list is made of the routes, so none can be forgotten."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.access import Role
from console.bench.addresses import Address, addresses, pages
from console.http import api as http_api
from runtime import api
from runtime.core.effects import Effect
from runtime.core.retry import ErrorKind
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand
from tests.support.statements import counted_statements, no_writes

FEW, MORE = 3, 27
KINDS = ("done", "failed", "asking", "retrying", "writing", "paused", "waiting")

type Samples = dict[str, str]


class World:
    """Tasks of every kind, and more of each when asked."""

    def __init__(self, submit: Callable[..., UUID]) -> None:
        self._submit = submit
        self.samples: Samples = {"agent": NAME, "tool": "look"}
        self._long = self._submit(title="long")
        self.samples["long"] = str(self._long)
        self._hand = Hand(self._long).start()

    def grow(self, number: int, kinds: tuple[str, ...] = KINDS) -> None:
        """Add so many tasks of each kind, and so many calls to the long one."""
        for _ in range(number):
            self._hand.read().begin(effect=Effect.KEYED).succeed()
            for kind in kinds:
                self.samples[kind] = str(getattr(self, f"_{kind}")())
        review_id = api.task(self.samples["asking"]).review_id
        self.samples |= {"review": str(review_id), "middle": self.samples["done"]}

    def _done(self) -> UUID:
        task_id = self._submit(title="done")
        Hand(task_id).start().read().finish()
        return task_id

    def _failed(self) -> UUID:
        task_id = self._submit(title="failed")
        Hand(task_id).start().begin(effect=Effect.READ).fail(kind=ErrorKind.PERMANENT)
        return task_id

    def _asking(self) -> UUID:
        task_id = self._submit(title="asking")
        Hand(task_id).start().read().ask()
        return task_id

    def _retrying(self) -> UUID:
        task_id = self._submit(title="retrying")
        Hand(task_id).start().begin().fail()
        return task_id

    def _writing(self) -> UUID:
        task_id = self._submit(title="writing")
        Hand(task_id).start().begin()
        return task_id

    def _paused(self) -> UUID:
        task_id = self._submit(title="paused")
        api.pause(task_id, reason="wait", by="human:ann")
        return task_id

    def _waiting(self) -> UUID:
        return self._submit(title="waiting")


@pytest.fixture
def world(submitted: Callable[..., UUID]) -> World:
    found = World(submitted)
    found.grow(FEW)
    return found


def _statements(client: Client, wanted: list[Address]) -> dict[str, int]:
    found = {}
    for one in wanted:
        with counted_statements() as count:
            answer = client.get(one.path)
        assert answer.status_code == 200, (one.path, answer.status_code)
        found[one.name] = count.number
    return found


def test_a_page_sends_no_more_statements_for_thirty_rows_than_for_three(
    as_role: Callable[[Role], Client], world: World
) -> None:
    client, wanted = as_role(Role.ADMINISTRATOR), addresses(world.samples)
    _statements(client, wanted)  # what is looked up once in a process is known from here on
    with_few = _statements(client, wanted)

    world.grow(MORE, ("done", "failed", "asking", "retrying"))
    _statements(client, wanted)  # a track is followed once over what is new

    with_many = _statements(client, wanted)
    grown = {name: (few, with_many[name]) for name, few in with_few.items()}
    # One that looks for what only a longer list has is no read for each row.
    assert {name: pair for name, pair in grown.items() if pair[1] > pair[0] + 1} == {}


def test_the_count_of_statements_sees_every_way_to_the_database(
    submitted: Callable[..., UUID], operator: Client
) -> None:
    """Reads of the runtime do not pass Django's cursors."""
    task_id = submitted()
    with counted_statements() as by_runtime:
        api.task(task_id)
    with counted_statements() as by_django:
        User.objects.first()

    assert (by_runtime.number, by_django.number) == (1, 1)


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["page", "fragment"])
def test_the_server_itself_sees_no_page_write(
    headers: dict[str, str], operator: Client, world: World
) -> None:
    for one in addresses(world.samples):
        with no_writes():
            answer = operator.get(one.path, headers=headers)
        assert answer.status_code < 500, one.path


def test_the_server_itself_sees_no_read_of_the_api_write(operator: Client, world: World) -> None:
    known = {"task_id": world.samples["done"], "review_id": world.samples["review"]}
    reads = [path for path, ways in http_api.get_openapi_schema()["paths"].items() if "get" in ways]

    for path in reads:
        with no_writes():
            answer = operator.get(path.format_map(known))
        assert answer.status_code == 200, path


def test_every_route_with_a_page_has_an_address(world: World) -> None:
    named = {one.path.partition("?")[0] for one in addresses(world.samples)}

    assert len(named) >= len({str(pattern.name) for pattern in pages()})
