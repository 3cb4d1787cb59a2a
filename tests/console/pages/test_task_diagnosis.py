"""A failed task says why first, and the dialog of a lever says beforehand what it will do."""

import re

from django.test import Client
from django.utils import timezone

from runtime import api
from runtime.core import commands as c
from runtime.models import Worker
from tests.agents_for_tests.hand import Hand
from tests.support.task_pages import ANN, Submit, shown


def test_a_failed_task_opens_with_its_diagnosis(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    hand = Hand(task_id).start().begin().fail("503 from the bank")
    api.retry(task_id, **ANN)
    hand.again().do(c.GiveUp("nobody pays any more"))

    page = shown(operator, task_id)

    heads = re.findall(r"<h3>([^<]+)</h3>", page[page.index('id="diagnosis"') :])[:4]
    assert heads == [
        "Where it failed",
        "Its last state, and whether it resumed rightly",
        "Repeated effects",
        "Resources",
    ]
    assert "In the tool pay: attempt 1 of 3 failed, Retryable: 503 from the bank" in page
    assert "Its planner then gave up: nobody pays any more" in page
    assert "Proved: its events fold to the stored state" in page
    assert page.index('id="why"') < page.index('id="diagnosis"') < page.index('id="track"')


def test_a_failure_that_was_overcome_is_not_blamed(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    hand = Hand(task_id).start().begin().fail("503 from the bank")
    api.retry(task_id, **ANN)
    hand.again().do(c.Begin()).succeed("paid").do(c.GiveUp("the shop closed"))

    page = shown(operator, task_id)

    assert "In its planner, which gave up: the shop closed" in page


def test_a_diagnosis_names_the_last_call_and_blames_no_worker_that_died_later(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    hand = Hand(task_id).start().begin().succeed("paid")
    hand.do(c.Exhaust("steps", "3"))
    Worker.objects.filter(pk=hand.worker).update(
        state="dead", ended_at=timezone.now(), death="its process was killed"
    )

    page = shown(operator, task_id)

    assert "A limit: its limit of 3 steps is used up." in page
    assert "Its last call was pay" in page
    assert "its process was killed" not in page[page.index('id="diagnosis"') :]


def test_the_dialog_foretells_and_tells_what_moved(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    Hand(task_id).start().read().give_back()
    api.pause(task_id, **ANN)
    seen = api.task(task_id)
    dialog = operator.get(f"/tasks/{task_id}/resume/").content.decode()
    api.resume(task_id, **ANN)
    api.pause(task_id, **ANN)

    answer = operator.post(
        f"/tasks/{task_id}/resume/",
        {"reason": "my reason", "situation": seen.situation, "version": seen.version},
        headers={"HX-Request": "true"},
    )

    assert "1 completed call keeps its result and is not made again." in dialog
    assert answer.status_code == 409
    moved = re.findall(r"#(\d+)</a> (\w+) <span", answer.content.decode())
    assert moved == [(str(seen.version + 1), "resumed"), (str(seen.version + 2), "paused")]
    assert "my reason" in answer.content.decode()


def test_what_cannot_be_done_now_is_not_foretold(operator: Client, submitted: Submit) -> None:
    task_id = submitted()
    hand = Hand(task_id).start().read()

    moving = operator.get(f"/tasks/{task_id}/retry/").content.decode()
    hand.finish()
    ended = operator.get(f"/tasks/{task_id}/cancel/").content.decode()

    assert "This cannot be done to the task as it stands now." in moving
    assert "back-off is dropped" not in moving
    assert "The task has ended: nothing can be done to it any more." in ended
    assert '<button class="button button-stop-full"' not in ended
