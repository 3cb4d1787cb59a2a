"""The tabs of a task: each reads its own, shows what there is, and says what there is not."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from console.models import AuditEntry
from console.pages import task_checkpoints
from console.pages.task_checkpoints import Mark
from runtime import api
from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint, Pending, Queue, Wait
from runtime.core.effects import Effect
from runtime.core.states import State
from runtime.models import Artifact, ArtifactRef, Refusal, Task, Worker
from tests.agents_for_tests.hand import Hand
from tests.support.task_pages import Submit, retried, shown


def test_a_call_shows_intent_attempts_outcome_and_operation(
    operator: Client, submitted: Submit
) -> None:
    task_id = retried(submitted)
    operation = api.effects(task_id)[0].operation_id

    page = shown(operator, task_id, tab="calls")

    row = page[page.index('id="call-0.2.0"') :]
    words = re.findall(r'<span class="num">\d+</span> ([a-z ]+)</a>', row)
    assert words == ["sent", "failed", "to be retried", "sent", "succeeded"]
    assert f'data-copy="{operation}"' in row
    assert "confirmed" in row
    assert "&quot;order_id&quot;" in row


def test_a_link_to_a_call_opens_the_window_that_holds_it(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.task_tabs.CALLS", 2)
    task_id = submitted()
    hand = Hand(task_id).start()
    for _ in range(5):
        hand.read()

    last = shown(operator, task_id, tab="calls")
    second = shown(operator, task_id, tab="calls", call="0.2.0")

    assert re.findall(r'<tr id="call-([\d.]+)"', last) == ["0.4.0", "0.5.0"]
    assert re.findall(r'<tr id="call-([\d.]+)"', second) == ["0.2.0", "0.3.0"]
    assert 'id="call-0.2.0" class="is-wanted"' in second


def test_effects_stand_in_groups_with_those_in_doubt_first(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().begin().succeed("paid").begin("ship", Effect.ONCE).doubt()

    page = shown(operator, task_id, tab="effects")

    assert page.index("Nobody knows whether these happened.") < page.index("The tool said so.")
    assert "Retrying" not in page[page.index('id="panel"') :].split("</section>")[0]


def test_of_many_effects_the_last_are_shown_and_all_are_counted(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.pages.task_tabs.CALLS", 2)
    task_id = submitted()
    hand = Hand(task_id).start()
    for _ in range(3):
        hand.begin().succeed()

    page = shown(operator, task_id, tab="effects")
    undo = shown(operator, task_id, tab="undo")

    panel = page[page.index('id="panel"') :]
    assert '<span class="num">3</span></h3>' in panel
    assert "The last 2 are shown." in panel
    assert panel.count('<th scope="row">') == 2
    assert "1 earlier effect is not shown here." in undo


def test_checkpoints_of_two_events_are_compared_key_by_key(
    operator: Client, submitted: Submit
) -> None:
    task_id = retried(submitted)

    page = shown(operator, task_id, tab="checkpoint", a=4, b=5)

    assert re.search(r"pending\.attempt</span></th>\s*<td>.*changed", page)
    assert re.search(r"wait\.kind|state", page)
    assert "keys are the same" in page


@pytest.mark.parametrize("asked", [{"a": "x"}, {"a": 999, "b": 0}, {"a": -1}, {"b": "9" * 40}])
def test_any_pair_of_versions_is_answered(
    asked: dict[str, Any], operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Hand(task_id).start().read()

    assert "After event" in shown(operator, task_id, tab="checkpoint", **asked)


def test_every_key_of_a_checkpoint_has_a_meaning_in_words() -> None:
    """A key that is added to the checkpoint gets a word here, or this fails."""
    parts: dict[str, Any] = {"pending": Pending, "queue": Queue, "wait": Wait}
    names = [name for name in Checkpoint._fields if name not in parts]
    names += [f"{name}.{key.name}" for name, part in parts.items() for key in fields(part)]

    assert [name for name in names if not task_checkpoints.meaning(name)] == []


def test_what_was_added_and_removed_is_said_in_words() -> None:
    wait = Wait("retry", None, None, "2026-01-01T00:00:00+00:00", State.PLANNING)
    before, after = Checkpoint(State.PLANNING, 2), Checkpoint(State.RETRYING, 3, wait=wait)

    there = {one.name: one.mark for one in task_checkpoints.compare(before, after)}
    back = {one.name: one.mark for one in task_checkpoints.compare(after, before)}

    assert (there["wait.kind"], back["wait.kind"]) == (Mark.ADDED, Mark.REMOVED)
    assert (there["state"], there["situation"]) == (Mark.CHANGED, Mark.SAME)


def test_a_manifest_names_what_is_deployed_otherwise(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = submitted(manifest={"limits": {"steps": 7}})
    same = shown(operator, task_id, tab="manifest")
    monkeypatch.setattr(api.get_agent("test-clerk"), "version", 9)

    differs = shown(operator, task_id, tab="manifest")

    assert "are deployed as they were pinned" in same
    assert "limits.steps" in same
    assert "chosen for this task, or changed since" in same
    assert "1 thing is deployed otherwise than it was pinned." in differs


def test_an_agent_that_is_not_deployed_is_said_and_nothing_fails(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    Task.objects.filter(pk=task_id).update(agent="gone")

    assert "does not know its agent" in shown(operator, task_id, tab="manifest")
    assert "Look at the workers" in shown(operator, task_id)


def test_the_lease_tells_who_wrote_what_and_what_was_refused(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()
    first = Hand(task_id).start().read()
    first.give_back()
    second = Hand(task_id).read()
    Refusal.objects.create(
        task_id=task_id,
        worker_id=first.worker,
        epoch=1,
        epoch_now=2,
        what="an outcome",
        evidence=json.dumps("late <b>money</b>"),
    )

    page = shown(operator, task_id, tab="lease")

    assert "It changed hands 2 times." in page
    assert page.count("testhost:4711</span><br>") == 2
    assert "Given back; no event tells when." in page
    assert "It holds the task." in page
    assert "an outcome" in page
    assert "late &lt;b&gt;money" in page
    assert str(first.worker) in page
    assert second.worker != first.worker


def test_the_lease_tells_deaths_and_who_took_it_away(operator: Client, submitted: Submit) -> None:
    """A death is told where the task was in the dead worker's hands; epochs where kept."""
    task_id = submitted()
    first = Hand(task_id).start().begin().succeed()
    Worker.objects.filter(pk=first.worker).update(
        state="dead", ended_at=timezone.now(), death="killed by signal 9", left_behind=[task_id]
    )
    Task.objects.filter(pk=task_id).update(owner=None, due_at=timezone.now(), epoch=F("epoch") + 1)
    second = Hand(task_id).read()
    held = api.task(task_id).owner
    AuditEntry.objects.create(
        actor="human:ann",
        action="task.force_release",
        object=f"task:{task_id}",
        result="done",
        reason="it <b>hangs</b>",
    )
    Task.objects.filter(pk=task_id).update(owner=None, due_at=timezone.now(), epoch=F("epoch") + 1)
    Hand(task_id).read()

    page = shown(operator, task_id, tab="lease")

    assert held == second.worker
    rows = re.findall(r"<tr>(.*?)</tr>", page[page.index('id="panel"') :], re.DOTALL)[1:4]
    told = [re.sub(r"<[^>]*>|\s+", " ", row) for row in rows]
    assert "It holds the task." in told[0]
    assert "ann took it away: it &lt;b&gt;hangs&lt;/b&gt;" in told[1]
    assert "not kept" in told[1]
    assert "Its worker died with it: killed by signal 9" in told[2]
    assert re.search(r" 1 +Its worker", re.sub(r"\s+", " ", told[2])) is not None


def test_tabs_of_what_a_task_has_nothing_of_are_absent(operator: Client, submitted: Submit) -> None:
    task_id = submitted()

    page = shown(operator, task_id, tab="reviews")

    names = re.findall(r'\?tab=(\w+)"', page[page.index('id="tabs"') : page.index("</nav>", 9)])
    nav = page[page.index('id="tabs"') :].split("</nav>")[0]
    assert names == []
    assert [name for name in ("undo", "artifacts", "reviews") if f"tab={name}" in nav] == []
    assert "Created, waiting for a worker." in page


def test_artifacts_and_reviews_have_their_tabs(
    operator: Client, asked: Callable[[str], tuple[UUID, UUID]]
) -> None:
    task_id, _ = asked("Which one?")
    kept = Artifact.objects.create(id=uuid4(), digest="d", size=3_100_000, data=b"x")
    ArtifactRef.objects.create(artifact_id=kept.id, task_id=task_id)

    assert "3.1 MB" in shown(operator, task_id, tab="artifacts")
    assert "Which one?" in shown(operator, task_id, tab="reviews")


def test_what_undoes_a_write_stands_beside_it(
    operator: Client, submitted: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = submitted()
    Hand(task_id).start().begin().succeed("paid")
    monkeypatch.setattr(
        "console.pages.task_facts.Facts.compensations", property(lambda _self: {"pay": "give_back"})
    )

    page = shown(operator, task_id, tab="undo")

    assert "can be undone by give_back" not in page
    assert "none declared" in page
    assert "Nothing is undone by itself" in page


def test_the_whole_is_sent_as_lines_and_who_took_it_is_kept(
    operator: Client, submitted: Submit
) -> None:
    task_id = submitted()

    answer = operator.post(f"/tasks/{task_id}/export/")
    lines = b"".join(answer.streaming_content).splitlines()  # type: ignore[attr-defined]

    assert json.loads(lines[-1]) == {"kind": "end", "events": 1}
    assert AuditEntry.objects.get().action == "payload.download"
    assert operator.get(f"/tasks/{task_id}/export/").status_code == 405


def test_on_paper_everything_is_open(operator: Client, submitted: Submit) -> None:
    task_id = retried(submitted)

    page = operator.get(f"/tasks/{task_id}/paper/").content.decode()

    for words in (
        "Input",
        "Timeline",
        "503 from the bank",
        "Who held it",
        "Effects on the outside",
    ):
        assert words in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_what_others_wrote_is_text_on_every_tab_and_on_paper(
    operator: Client, submitted: Submit
) -> None:
    hostile = "<script>alert(1)</script> \u202egnp {{7*7}} \x1b[31m <img src=x onerror=alert(1)>"
    task_id = submitted(title=hostile, labels={"l": hostile[:50]}, key=hostile[:50])
    hand = Hand(task_id).start().read(result={hostile: hostile}).begin().fail(hostile)
    api.retry(task_id, reason=hostile, by="human:ann")
    hand.again().do(c.Begin()).fail(hostile)
    api.retry(task_id, reason=hostile, by="human:ann")
    Refusal.objects.create(
        task_id=task_id, worker_id=hand.worker, epoch=1, epoch_now=2, what=hostile
    )
    dialog = operator.get(f"/tasks/{task_id}/cancel/").content.decode()
    hand.again().do(c.Begin()).doubt()
    api.cancel(task_id, reason=hostile, by="human:ann")

    tabs = ("timeline", "calls", "effects", "checkpoint", "manifest", "lease", "reviews")
    pages = [dialog, *(shown(operator, task_id, tab=name) for name in tabs)]
    pages += [shown(operator, task_id, lens="json"), shown(operator, task_id, show="failures")]
    pages.append(operator.get(f"/tasks/{task_id}/paper/").content.decode())
    for page in pages:
        for bad in ("<script>alert", "<img src=x", "\u202e", "\x1b", ">49<"):
            assert bad not in page


def test_the_trace_can_be_copied_and_opened_where_a_system_is_named(
    operator: Client, submitted: Submit, settings: Any
) -> None:
    task_id = submitted()
    without = shown(operator, task_id)
    settings.SIGNALBOX_TRACE_URL = "https://traces.example.org/{trace_id}"

    page = shown(operator, task_id)

    assert f'data-copy="{task_id.hex}"' in without
    assert "Open trace" not in without
    assert f'href="https://traces.example.org/{task_id.hex}"' in page


@pytest.mark.parametrize("tab", ["timeline", "calls", "effects", "checkpoint", "manifest", "lease"])
def test_a_page_makes_as_many_reads_for_a_long_task_as_for_a_short_one(
    tab: str, operator: Client, submitted: Submit, django_assert_max_num_queries: Any
) -> None:
    short, long = submitted(), submitted()
    Hand(short).start().read().begin().succeed().give_back()
    hand = Hand(long).start()
    for _ in range(30):
        hand.read().begin().succeed()
    hand.give_back()
    shown(operator, short, tab=tab)
    with django_assert_max_num_queries(60) as few:
        shown(operator, short, tab=tab)
    with django_assert_max_num_queries(len(few) + 1):
        shown(operator, long, tab=tab)
