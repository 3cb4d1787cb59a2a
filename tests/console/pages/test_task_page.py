"""A task's page: the sentence first, its track, its timeline, and what can be done to it."""

import json
import re
from collections.abc import Callable
from uuid import UUID

import pytest
from django.test import Client

from console.access import Role
from console.models import AuditEntry
from runtime import api
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]
type AsRole = Callable[[Role | None], Client]


def test_it_opens_with_the_sentence_that_says_where_it_stands(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted(title="Refund A1")

    page = operator.get(f"/tasks/{task_id}/").content.decode()

    assert api.why(task_id).sentence.split("'")[0] in page
    assert page.index('id="why"') < page.index('id="track"') < page.index('id="timeline"')


def test_calls_are_told_with_arguments_result_and_duration(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().read(result={"total": 240}).begin().succeed("paid").finish()

    page = operator.get(f"/tasks/{task_id}/").content.decode()

    assert "&quot;order_id&quot;: &quot;A1&quot;" in page
    assert "&quot;total&quot;: 240" in page
    assert "5 ms" in page
    assert "keyed" in page
    assert "confirmed" in page


def test_the_parts_hold_what_came_since_and_nothing_older(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    hand = Hand(task_id).start().read().begin()
    before = api.task(task_id).version
    hand.succeed("paid")

    parts = operator.get(f"/tasks/{task_id}/parts/", {"since": before, "from": 0}).content.decode()

    assert re.findall(r'class="item item-(\w+)"', parts) == ["write"]
    assert all(f'id="{name}"' in parts for name in ("why", "track", "side"))


def test_a_long_task_is_shown_by_windows(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.task_window.WINDOW", 4)
    task_id = submitted()
    hand = Hand(task_id).start()
    for _ in range(8):
        hand.read()

    last = operator.get(f"/tasks/{task_id}/").content.decode()
    first = operator.get(f"/tasks/{task_id}/?after=0").content.decode()
    events = operator.get(f"/tasks/{task_id}/?after=0&lens=events").content.decode()

    assert "Earlier: events 3 to 6" in last
    assert "Later events" in first
    assert ("data-grows" in first, "data-grows" in last) == (False, True)
    assert "Submitted" in first
    assert re.findall(r'<tr id="event-(\d+)"', events) == ["1", "2", "3", "4"]


def test_levers_fit_what_can_be_done_now(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    lives = operator.get(f"/tasks/{task_id}/").content
    api.pause(task_id, reason="wait", by="human:ann")
    held = operator.get(f"/tasks/{task_id}/").content
    api.cancel(task_id, reason="enough", by="human:ann")
    ended = operator.get(f"/tasks/{task_id}/").content

    assert (b"/pause/" in lives, b"/resume/" in lives, b"/retry/" in lives) == (True, False, False)
    assert (b"/pause/" in held, b"/resume/" in held) == (False, True)
    assert b"/cancel/" not in ended


def test_who_may_only_look_is_offered_nothing(as_role: AsRole, submitted: Submit) -> None:
    task_id = submitted()
    viewer = as_role(Role.VIEWER)

    assert b"/pause/" not in viewer.get(f"/tasks/{task_id}/").content
    assert viewer.post(f"/tasks/{task_id}/pause/", {"reason": "x"}).status_code == 403
    assert not api.task(task_id).held


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}], ids=["form", "script"])
def test_pausing_needs_a_reason_and_is_kept_in_the_audit(
    headers: dict[str, str], operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    address = f"/tasks/{task_id}/pause/"

    refused = operator.post(address, {"reason": "  "}, headers=headers)
    done = operator.post(address, {"reason": "wait for finance"}, headers=headers)

    assert refused.status_code == 422
    assert done.status_code == (204 if headers else 302)
    if headers:
        assert "Paused" in json.loads(done.headers["HX-Trigger"])["signalbox:done"]["said"]
    assert api.task(task_id).held
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.result) == ("human:operator", "task.pause", "done")
    assert (entry.object, entry.reason) == (f"task:{task_id}", "wait for finance")
    assert entry.request_id == done.headers["X-Request-ID"]


def test_a_command_on_what_has_moved_is_refused_and_keeps_what_was_typed(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    api.pause(task_id, reason="wait", by="human:ann")
    situation = api.task(task_id).situation
    api.resume(task_id, reason="go", by="human:ann")
    api.pause(task_id, reason="wait", by="human:ben")

    answer = operator.post(
        f"/tasks/{task_id}/resume/",
        {"reason": "my <long> reason", "situation": situation},
        headers={"HX-Request": "true"},
    )

    assert answer.status_code == 409
    page = answer.content.decode()
    assert "moved on" in page
    assert "my &lt;long&gt; reason" in page
    assert f'value="{api.task(task_id).situation}"' in page
    assert AuditEntry.objects.get().result == "conflict"


def test_an_ended_task_takes_no_command_and_says_so(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    Hand(task_id).start().finish()

    answer = operator.post(f"/tasks/{task_id}/cancel/", {"reason": "x"})

    assert answer.status_code == 409
    assert b"terminated_success" in answer.content


def test_there_are_no_other_levers(operator: Client, submitted: Submit) -> None:
    task_id = submitted()

    assert operator.get(f"/tasks/{task_id}/explode/").status_code == 404
    assert operator.post(f"/tasks/{task_id}/submit/", {"reason": "x"}).status_code == 404
