"""Agents: tools with their reach, who serves them, how their tasks stand, and unknown ones."""

from collections.abc import Callable
from typing import Annotated, Literal
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pydantic import BaseModel, Field

from console.access import Role
from console.pages import schemas
from runtime.core.breaker import Breaker, BreakerState
from runtime.models import Breaker as StoredBreaker
from runtime.models import Task, Worker
from runtime.store import counting
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]


def _page(client: Client, address: str = f"/agents/{NAME}/") -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_tool_is_shown_with_its_reach_and_what_keeps_it(operator: Client) -> None:
    page = _page(operator)

    assert "Pays orders" in page
    for said in ("keyed", "money", "it is no real money", "Only after", "Fallback", "order_id"):
        assert said in page, said


def test_a_tool_whose_breaker_is_open_says_until_when(operator: Client) -> None:
    body = Breaker(BreakerState.OPEN, 5, 1, None).as_dict() | {"until": "2026-12-01T10:00:00+00:00"}
    StoredBreaker.objects.create(tool="pay", body=body)

    assert "calls wait until 2026-12-01" in _page(operator)


def test_tasks_are_counted_by_what_they_are_and_lead_to_the_list(
    operator: Client, submitted: Submit
) -> None:
    asks, done, _waits = submitted(), submitted(), submitted()
    Hand(asks).start().ask("Which?")
    Hand(done).start().finish()
    counting.count()

    for page in (_page(operator), _page(operator, "/agents/")):
        for family in ("person", "done", "moving"):
            assert f"/tasks/?state={family}&amp;agent={NAME}" in page, family


def test_who_serves_an_agent_is_what_workers_say(operator: Client, submitted: Submit) -> None:
    worker = Hand(submitted()).worker
    assert "No living worker knows it" in _page(operator)

    Worker.objects.filter(pk=worker).update(agents=[NAME])
    assert "testhost:4711" in _page(operator)

    Worker.objects.filter(pk=worker).update(queues=["elsewhere"])
    assert "No living worker knows it" in _page(operator)


def test_an_agent_with_tasks_that_is_not_known_here_says_so(
    operator: Client, submitted: Submit
) -> None:
    Task.objects.filter(pk=submitted()).update(agent="gone-agent")

    assert "this process does not know it" in _page(operator, "/agents/")
    page = _page(operator, "/agents/gone-agent/")
    assert "Its tasks keep the manifest they were given" in page
    assert "New task" not in page
    assert operator.get("/agents/never-was/").status_code == 404


def test_only_who_may_submit_is_offered_a_new_task(
    as_role: Callable[[Role | None], Client],
) -> None:
    address = f"/new/?agent={NAME}"

    assert address in _page(as_role(Role.OPERATOR))
    assert address not in _page(as_role(Role.VIEWER))


def test_a_page_reads_as_much_whatever_the_number_of_tasks(
    operator: Client, submitted: Submit
) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as caught:
            _page(operator, "/agents/")
            _page(operator)
        return len(caught)

    submitted()
    one = cost()
    for _ in range(5):
        submitted()

    assert cost() == one


# --- schemas as people read them ----------------------------------------------------------------


class _Inner(BaseModel):
    city: str


class _Outer(BaseModel):
    name: Annotated[str, Field(min_length=1, max_length=9, description="Who it is")]
    size: Literal["s", "m"] = "m"
    age: Annotated[int | None, Field(ge=0)] = None
    tags: list[str] = []
    home: _Inner
    others: list[_Inner] = []
    either: int | str = 1


ROWS = {row.name: row for row in schemas.rows(_Outer.model_json_schema())}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("name", "text"),
        ("size", 'one of "s", "m"'),
        ("age", "whole number, or nothing"),
        ("tags", "list of text"),
        ("home", "object"),
        ("others", "list of object"),
        ("either", "whole number or text"),
    ],
)
def test_a_field_is_said_in_words(name: str, kind: str) -> None:
    assert ROWS[name].kind == kind


def test_rules_defaults_and_inner_fields_are_told() -> None:
    assert ROWS["name"].is_required
    assert ROWS["name"].rules == ("not empty", "at most 9 characters")
    assert ROWS["name"].description == "Who it is"
    assert ROWS["size"].default == '"m"'
    assert (ROWS["city"].depth, ROWS["city"].kind) == (1, "text")


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    root = {"properties": {"next": {"$ref": "#"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}

    assert len(schemas.rows(root)) == schemas.DEEPEST
    assert schemas.resolve({"$ref": "#/$defs/a"}, root).schema["$ref"] == "#/$defs/a"
    assert (
        schemas.rows({"properties": {"x": True, "y": {"$ref": "#/nowhere"}}})[1].kind == "any value"
    )
