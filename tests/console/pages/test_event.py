"""One event: its facts, its pair, its payload within bounds, its files, and what is not there."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console.access import Role
from console.models import AuditEntry
from console.queries import events as reads
from runtime import api
from runtime.core.payloads import encode
from runtime.models import Artifact, Event, StepResult
from runtime.store import artifacts
from tests.agents_for_tests.hand import Hand

type Submit = Callable[..., UUID]

HOSTILE = "<script>alert(1)</script>{{7*7}} \u202egnp.exe\u202c a\u200bb \x1b[31mred"


@pytest.fixture
def paid(submitted: Submit) -> UUID:
    """A task that read and paid: ten events or so."""
    task_id = submitted(title="Refund A1")
    Hand(task_id).start().read(result={"total": 240}).begin().succeed("paid").finish()
    return task_id


def _seq(task_id: UUID, kind: str) -> int:
    return next(event.seq for event in api.events(task_id) if event.type == kind)


def _page(client: Client, task_id: UUID, seq: int) -> str:
    answer = client.get(f"/tasks/{task_id}/events/{seq}/")
    assert answer.status_code == 200
    return answer.content.decode()


def _store(task_id: UUID, seq: int, value: Any) -> None:
    Event.objects.filter(task_id=task_id, seq=seq).update(payload=encode(value).text)


def test_a_call_and_its_outcome_lead_to_each_other(operator: Client, paid: UUID) -> None:
    started = _seq(paid, "tool_call_started")

    call, outcome = _page(operator, paid, started), _page(operator, paid, started + 1)

    assert "Answered by" in call
    assert f"/events/{started + 1}/" in call
    assert "Belongs to" in outcome
    assert f"/events/{started}/" in outcome
    assert "7 ms" in outcome
    assert ">pay<" in call


def test_neighbours_are_links_and_the_ends_have_one_each(operator: Client, paid: UUID) -> None:
    last = api.task(paid).version

    def ways(page: str) -> set[str]:
        return set(re.findall(r'rel="(prev|next)"', page))

    first, middle, end = (_page(operator, paid, seq) for seq in (1, 2, last))

    assert (ways(first), ways(middle), ways(end)) == ({"next"}, {"prev", "next"}, {"prev"})
    assert "the newest so far" in end


@pytest.mark.parametrize("seq", [0, 999, 2**63, 10**30])
def test_an_unknown_number_is_told_which_there_are(seq: int, operator: Client, paid: UUID) -> None:
    answer = operator.get(f"/tasks/{paid}/events/{seq}/")

    assert answer.status_code == 404
    assert f"numbered from 1 to {api.task(paid).version}".encode() in answer.content


def test_an_unknown_task_has_no_events(operator: Client) -> None:
    assert operator.get(f"/tasks/{uuid4()}/events/1/").status_code == 404
    assert operator.post(f"/tasks/{uuid4()}/events/1/raw/", {"part": "payload"}).status_code == 404


def test_a_result_is_shown_with_the_event_that_brought_it(operator: Client, paid: UUID) -> None:
    page = _page(operator, paid, _seq(paid, "tool_call_succeeded"))

    assert "Result of the call" in page
    assert "&quot;total&quot;: 240" in page
    assert "&quot;order_id&quot;: &quot;A1&quot;" in page


def test_hostile_content_is_shown_as_characters(operator: Client, paid: UUID) -> None:
    _store(paid, 2, {"said": HOSTILE, HOSTILE: "key", "long": "x" * 10_000})

    page = _page(operator, paid, 2)

    assert "<script>alert" not in page
    assert "{{7*7}}" in page
    for code in ("U+202E", "U+200B"):
        assert code in page


def test_a_large_payload_is_cut_and_says_of_how_much(operator: Client, paid: UUID) -> None:
    _store(paid, 2, {"rows": ["y" * 90] * 2000, "end": "at the very end"})

    page = _page(operator, paid, 2)

    assert re.search(r"Showing 6\d\.\d kB of 18\d\.\d kB\.", page)
    assert "at the very end" not in page


def test_a_text_too_large_to_be_read_for_a_page_is_not_read(
    operator: Client, paid: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(reads, "BEGINNING_CHARS", 100)
    _store(paid, 2, {"rows": ["y" * 90] * 20, "end": "at the very end"})

    page = _page(operator, paid, 2)

    assert "Showing 100 bytes of 1.9 kB." in page
    assert "at the very end" not in page


def test_a_payload_that_cannot_be_read_is_shown_as_it_is_stored(
    operator: Client, paid: UUID
) -> None:
    Event.objects.filter(task_id=paid, seq=2).update(payload="{not json", codec="j9")

    page = _page(operator, paid, 2)

    assert "This payload cannot be read" in page
    assert "{not json" in page


def _with_large_result(task_id: UUID) -> UUID:
    handle = uuid4()
    marker, _ = artifacts.keep("default", task_id, handle, encode({"rows": ["z" * 50] * 2000}))
    StepResult.objects.filter(task_id=task_id, tool="look").update(
        result=marker, artifact=str(handle)
    )
    return handle


def test_what_lies_beside_the_journal_is_told_with_size_and_digest_and_downloaded(
    operator: Client, paid: UUID
) -> None:
    handle = _with_large_result(paid)
    seq = _seq(paid, "tool_call_succeeded")

    page = _page(operator, paid, seq)
    file = operator.post(f"/tasks/{paid}/artifacts/{handle}/")

    assert "Stored beside the journal" in page
    assert "106.0 kB" in page
    assert Artifact.objects.get(pk=handle).digest in page
    assert b"".join(file).count(b"z" * 50) == 2000


def test_a_payload_that_is_gone_says_so(operator: Client, paid: UUID) -> None:
    handle = _with_large_result(paid)
    Artifact.objects.filter(pk=handle).delete()

    page = _page(operator, paid, _seq(paid, "tool_call_succeeded"))

    assert "The whole is gone; only this beginning was kept." in page
    assert operator.post(f"/tasks/{paid}/artifacts/{handle}/").status_code == 404


def test_an_artifact_of_another_task_is_not_given(
    operator: Client, paid: UUID, submitted: Submit
) -> None:
    handle = _with_large_result(paid)

    assert operator.post(f"/tasks/{submitted()}/artifacts/{handle}/").status_code == 404


def test_the_raw_payload_is_a_file_of_plain_text_and_its_download_is_kept(
    operator: Client, paid: UUID
) -> None:
    _store(paid, 2, {"said": HOSTILE})

    answer = operator.post(f"/tasks/{paid}/events/2/raw/", {"part": "payload"})

    assert b"".join(answer) == encode({"said": HOSTILE}).text.encode()
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.object, entry.detail) == (
        "human:operator",
        "payload.download",
        f"task:{paid}",
        "payload of event 2",
    )


def test_reading_a_raw_payload_by_its_address_is_refused(operator: Client, paid: UUID) -> None:
    """A download leaves a trace, and a GET writes nothing: so it is a form that posts."""
    assert operator.get(f"/tasks/{paid}/events/2/raw/").status_code == 405
    wrong = operator.post(f"/tasks/{paid}/events/2/raw/", {"part": "secret_key"})
    assert wrong.status_code == 404


def test_who_may_not_read_tasks_gets_nothing(
    as_role: Callable[[Role | None], Client], paid: UUID
) -> None:
    nobody = as_role(None)

    assert nobody.get(f"/tasks/{paid}/events/2/").status_code == 403
    assert nobody.post(f"/tasks/{paid}/events/2/raw/", {"part": "payload"}).status_code == 403


def test_the_moving_part_alone_is_given_to_a_script(operator: Client, paid: UUID) -> None:
    answer = operator.get(f"/tasks/{paid}/events/2/", headers={"HX-Request": "true"})

    assert b'id="event-around"' in answer.content
    assert b"<pre" not in answer.content


def test_a_page_reads_as_much_whatever_the_length_of_the_task(
    operator: Client, submitted: Submit
) -> None:
    def cost(reads: int) -> int:
        task_id = submitted()
        hand = Hand(task_id).start()
        for _ in range(reads):
            hand.read()
        seq = _seq(task_id, "tool_call_succeeded")
        with CaptureQueriesContext(
            connection,
        ) as caught:
            _page(operator, task_id, seq)
        return len(caught)

    assert cost(2) == cost(30)
