"""A new task: the form an agent's schema makes, what is wrong said at its field, JSON, one task."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from django.test import Client
from pydantic import BaseModel, ConfigDict, Field

from console.access import Role
from console.models import AuditEntry
from console.pages import schema_forms
from console.pages.new_task import Draft, _check_input, _check_manifest
from console.pages.schema_forms import fields, fill, initial, place, read
from console.steering import Wanted
from runtime import api
from runtime.api import Agent, Plan
from runtime.models import Task, TaskSpec
from runtime.tools.agents import registry
from tests.agents_for_tests.clerk import NAME, clerk

type AsRole = Callable[[Role | None], Client]


@pytest.fixture(autouse=True)
def _clerk_alone() -> Iterator[None]:
    with registry.separate(clerk):
        yield


def _typed(**more: str) -> dict[str, str]:
    usual = {"agent": NAME, "mode": "form", "key": "console:one", "f.order_id": "A1", "f.note": ""}
    return {**usual, **more}


def _post(client: Client, **more: str) -> Any:
    return client.post("/new/", _typed(**more))


def _input(task_id: UUID) -> Any:
    return api.task(task_id).input


# --- the page -----------------------------------------------------------------------------------


def test_the_form_is_made_from_what_the_agent_takes(operator: Client) -> None:
    page = operator.get("/new/").content.decode()

    assert re.search(r'<input id="f-order_id" name="f.order_id"[^>]* required', page)
    assert 'name="f.note"' in page
    assert "Nobody approves" in page
    assert "it is no real money" in page
    assert "No worker serves the queue" in page


def test_all_mistakes_are_said_at_once(operator: Client) -> None:
    answer = _post(operator, mode="json", input='{"order_id": 5}', priority="high")

    assert 'id="input-error"' in answer.content.decode()
    assert 'id="priority-error"' in answer.content.decode()


def test_a_field_that_cannot_be_read_hides_no_other_mistake() -> None:
    """The form, the schema and the manifest are all looked at before anything is said."""
    draft = Draft(typed={**FILLED, "whole": "x", "short": "a" * 30}, mode="form")
    draft.errors = read(FORM, draft.typed).errors
    wanted = Wanted(
        agent="test-homes",
        input=read(FORM, draft.typed).value,
        key="k",
        manifest={"colour": 1},
        title="",
        labels={},
        priority=0,
        not_before=None,
    )
    with registry.separate(_homes()):
        _check_input(FORM, draft, wanted)
    _check_manifest(FORM, draft, wanted)

    assert draft.errors["whole"] == "Give a whole number, like 12."
    assert draft.errors["short"] == "Give at most 20 characters."
    assert "colour: There is no field of this name" in draft.errors["manifest"]


def test_a_submitted_form_leads_to_its_task(operator: Client) -> None:
    answer = _post(
        operator,
        title="Refund A1",
        labels="shop = berlin\n\nteam=a",
        priority="-5",
        manifest='{"limits": {"steps": 5}}',
        not_before="2030-01-02T03:04",
        **{"f.order_id": "A1"},
    )

    task = Task.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/tasks/{task.id}/")
    assert _input(task.id) == {"order_id": "A1", "note": ""}
    spec = TaskSpec.objects.get()
    assert (spec.title, spec.labels) == ("Refund A1", {"shop": "berlin", "team": "a"})
    assert (spec.created_by, task.priority) == ("human:operator", -5)
    assert task.due_at is not None
    assert task.due_at.isoformat() == "2030-01-02T03:04:00+00:00"
    assert api.task(task.id).manifest["manifest"]["limits"]["steps"] == 5
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object, entry.result) == ("task.submit", f"agent:{NAME}", "done")


def test_the_same_form_sent_twice_makes_one_task(operator: Client) -> None:
    first, second = _post(operator), _post(operator)

    assert first.headers["Location"] == second.headers["Location"]
    assert Task.objects.count() == 1


def test_a_form_that_was_changed_after_it_was_sent_says_so_and_gets_a_new_key(
    operator: Client,
) -> None:
    _post(operator)
    made = Task.objects.get().id

    answer = _post(operator, **{"f.order_id": "B2"})
    page = answer.content.decode()
    key = re.search(r'name="key" value="([^"]+)"', page)

    assert answer.status_code == 409
    assert f"/tasks/{made}/" in page
    assert 'value="B2"' in page
    assert key is not None
    assert key[1] != "console:one"
    assert _post(operator, key=key[1], **{"f.order_id": "B2"}).status_code == 302


def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(operator: Client) -> None:
    answer = _post(
        operator,
        title="Keep me",
        labels="no equals sign",
        priority="first",
        manifest="{\n  'limits'",
        not_before="soon",
        **{"f.order_id": "", "f.note": "still here"},
    )
    page = answer.content.decode()

    assert answer.status_code == 422
    assert Task.objects.count() == 0
    for name in ("f-order_id", "labels", "priority", "manifest", "not_before"):
        assert f'id="{name}-error"' in page, name
        assert f'href="#{name}"' in page, name
    assert "line 2, column 3" in page
    for kept in ("Keep me", "still here", "no equals sign", "first", "&#x27;limits&#x27;"):
        assert kept in page, kept
    assert 'value="console:one"' in page


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ('{"limits": {"steps": 99999}}', "limits.steps"),
        ('{"tools": ["rob_bank"]}', "rob_bank"),
        ('{"tools": ["pay"]}', "leaves out"),
        ("[]", "A manifest is a JSON object."),
    ],
)
def test_a_manifest_may_only_narrow(manifest: str, said: str, operator: Client) -> None:
    answer = _post(operator, manifest=manifest)

    assert answer.status_code in {409, 422}
    assert 'id="manifest-error"' in answer.content.decode()
    assert said in answer.content.decode()


def test_json_is_checked_in_the_same_way(operator: Client) -> None:
    wrong = _post(operator, mode="json", input='{"order_id": 5, "extra": 1}')
    broken = _post(operator, mode="json", input='{"order_id":\n "A1",}')
    right = _post(operator, mode="json", input='{"order_id": "A1"}')

    assert wrong.status_code == 422
    assert "order_id" in wrong.content.decode()
    assert "extra" in wrong.content.decode()
    assert "line 2" in broken.content.decode()
    assert right.status_code == 302


def test_a_form_turns_into_json_and_back_and_submits_nothing(operator: Client) -> None:
    as_json = _post(operator, into="json", **{"f.note": "two\r\nlines"}).content.decode()
    value = '{"order_id": "B2", "note": "n"}'
    as_form = _post(operator, mode="json", into="form", input=value).content.decode()
    stays = _post(operator, mode="json", into="form", input='{"zzz": 1}').content.decode()

    assert "two\\nlines" in as_json
    assert 'name="mode" value="json"' in as_json
    assert 'value="B2"' in as_form
    assert "has no field “zzz”" in stays
    assert 'name="mode" value="json"' in stays
    assert Task.objects.count() == 0


def test_an_agent_without_a_schema_takes_json_alone(operator: Client) -> None:
    with registry.separate():
        Agent("loose", role="r", tools=[], planner=lambda _context: Plan.finish("done"))
        page = operator.get("/new/").content.decode()
        sent = {"agent": "loose", "mode": "json", "key": "console:x", "input": '{"a": [1]}'}
        answer = operator.post("/new/", sent)

    assert 'name="input"' in page
    assert answer.status_code == 302
    assert _input(Task.objects.get().id) == {"a": [1]}


def test_of_several_agents_one_is_chosen_and_an_unknown_one_is_told(operator: Client) -> None:
    with registry.separate():
        for name in ("first", "second"):
            Agent(name, role="r", tools=[], planner=lambda _context: Plan.finish("done"))
        choice = operator.get("/new/").content.decode()
        unknown = operator.get("/new/?agent=<b>third")

    assert "/new/?agent=first" in choice
    assert unknown.status_code == 404
    assert "&lt;b&gt;third" in unknown.content.decode()


def test_without_agents_it_says_where_they_come_from(operator: Client) -> None:
    with registry.separate():
        assert "SIGNALBOX_APPS" in operator.get("/new/").content.decode()


def test_who_may_only_look_cannot_submit(as_role: AsRole) -> None:
    viewer = as_role(Role.VIEWER)

    assert viewer.get("/new/").status_code == 403
    assert _post(viewer).status_code == 403
    assert Task.objects.count() == 0


# --- forms from schemas -------------------------------------------------------------------------


class _Address(BaseModel):
    street: str
    number: int | None = None


class _Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    short: Annotated[str, Field(max_length=20)]
    long: Annotated[str, Field(max_length=2000)] = "as it was"
    whole: int
    exact: float = 1.5
    sure: bool
    perhaps: bool | None = None
    size: Literal["s", "m", 3] = "m"
    tags: list[str] = []
    numbers: list[int] = []
    home: _Address
    away: _Address | None = None
    many: list[_Address] = []
    nothing: str | None = None


FORM = fields(_Everything.model_json_schema())
BY_NAME = {one.name: one for one in FORM}


@pytest.mark.parametrize(
    ("name", "control"),
    [
        ("short", "text"),
        ("long", "long"),
        ("whole", "integer"),
        ("exact", "number"),
        ("sure", "boolean"),
        ("perhaps", "choice"),
        ("size", "choice"),
        ("tags", "lines"),
        ("numbers", "lines"),
        ("home", "group"),
        ("away", "group"),
        ("many", "json"),
        ("nothing", "text"),
    ],
)
def test_a_field_gets_the_control_that_fits(name: str, control: str) -> None:
    assert BY_NAME[name].control == control


FILLED = {
    "short": "a",
    "long": "as it was",
    "whole": "12",
    "exact": "2.5",
    "sure": "on",
    "size": "3",
    "tags": "x\r\n\r\ny z",
    "numbers": "1\n-2",
    "home.street": "High Street",
    "many": '[{"street": "b"}]',
}


def test_texts_become_the_values_they_stand_for() -> None:
    found = read(FORM, FILLED)

    assert found.errors == {}
    assert found.value == {
        "short": "a",
        "long": "as it was",
        "whole": 12,
        "exact": 2.5,
        "sure": True,
        "size": 3,
        "tags": ["x", "y z"],
        "numbers": [1, -2],
        "home": {"street": "High Street"},
        "many": [{"street": "b"}],
    }
    assert _Everything.model_validate(found.value).home.street == "High Street"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("whole", "12.0", "whole number"),
        ("whole", "9" * 400, "whole number"),
        ("whole", "", "needed"),
        ("exact", "NaN", "number"),
        ("exact", "1e999", "number"),
        ("size", '"xl"', "Choose"),
        ("numbers", "1\ntwo", "whole number"),
        ("many", "[{]", "line 1, column 3"),
        ("many", "[NaN]", "JSON has no NaN"),
        ("home.street", "", "needed"),
        ("home.number", "x", "whole number"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_field(name: str, text: str, said: str) -> None:
    found = read(FORM, {**FILLED, name: text})

    assert list(found.errors) == [name]
    assert said in found.errors[name]


def test_fields_of_an_optional_group_hold_no_form_back(operator: Client) -> None:
    """A browser refuses an empty field that is required; this group may be left out whole."""
    with registry.separate(_homes()):
        page = operator.get("/new/", {"agent": "test-homes"}).content.decode()

    fields_of = {name: re.search(rf'id="f-{name}"[^>]*>', page) for name in _STREETS}
    required = {name: bool(found and " required" in found[0]) for name, found in fields_of.items()}
    assert required == {"home-street": True, "away-street": False}
    assert page.count("required with the others") == 1


_STREETS = ("home-street", "away-street")


def _homes() -> Agent:
    return Agent(
        "test-homes",
        role="Looks at homes",
        tools=[],
        planner=lambda _context: Plan.finish({}),
        input=_Everything,
    )


def test_a_value_fills_the_form_that_makes_it_again() -> None:
    value = read(FORM, FILLED).value

    assert read(FORM, fill(FORM, value)).value == value
    assert json.loads(json.dumps(value)) == value


def test_an_untouched_form_shows_the_defaults() -> None:
    found = initial(FORM)

    assert (found["long"], found["exact"], found["size"]) == ("as it was", "1.5", '"m"')
    assert read(FORM, {**FILLED, "long": ""}).value["long"] == ""


def test_problems_find_their_fields() -> None:
    errors, rest = place(
        FORM, ["short: too long", "home.number: bad", "many.0.street: missing", "it is all wrong"]
    )

    assert errors == {
        "short": "too long",
        "home.number": "bad",
        "many": "many.0.street: This is needed.",
    }
    assert rest == ["it is all wrong"]


def test_a_schema_of_nothing_makes_no_field() -> None:
    assert schema_forms.fields({"type": "object"}) == ()
    assert schema_forms.fields(None) == ()
