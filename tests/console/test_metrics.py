"""`/metrics` is what Prometheus reads: parsed here as it does, and bounded whatever there is."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console import tokens
from console.access import Permission, Role, grant, lay_roles
from console.metrics import escaped, lines, number
from console.tokens import OPENS, Scope
from runtime import api
from runtime.api import Measure
from runtime.engine.ports import Ports
from runtime.engine.sweep import Sweep
from runtime.store import counting, health, measures
from runtime.store.session import execute
from tests.agents_for_tests import clerk
from tests.agents_for_tests.hand import Hand

SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
UNESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

type Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse(text: str) -> tuple[Samples, dict[str, str]]:
    """Read the text format strictly; gives the samples and the type of each family."""
    assert text.endswith("\n")
    samples: Samples = {}
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, said = line.split(" ", 3)
            assert said
            helped.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name in helped
            assert name not in kinds, "a family is one block"
            kinds[name] = kind
        else:
            name, labels, value = _sample(line)
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            assert family in kinds or name in kinds, line
            assert (name, labels) not in samples, f"twice: {line}"
            samples[name, labels] = float(value)
    return samples, kinds


def _sample(line: str) -> tuple[str, frozenset[tuple[str, str]], str]:
    found = SAMPLE.fullmatch(line)
    assert found, line
    name, labels, value = found.groups()
    read = list(LABEL.finditer(labels or ""))
    assert "".join(one.group(0) for one in read) == (labels or ""), line
    pairs = [
        (one.group(1), re.sub(r"\\.", lambda m: UNESCAPED[m.group()], one.group(2))) for one in read
    ]
    assert len(dict(pairs)) == len(pairs), line
    return name, frozenset(pairs), value


def sample(samples: Samples, metric: str, **labels: str) -> float | None:
    """Give one sample by its labels."""
    return samples.get((metric, frozenset(labels.items())))


@pytest.fixture
def ann(db: None) -> User:
    """A viewer."""
    lay_roles()
    user = User.objects.create_user("ann")
    grant(user, Role.VIEWER)
    return user


@pytest.fixture
def bearer(ann: User) -> Callable[..., Client]:
    """Make clients that show a token of ann's."""

    def make(*scopes: Scope, namespaces: tuple[str, ...] = ()) -> Client:
        token = tokens.create(f"t{uuid4()}", "ann", scopes, namespaces=namespaces)
        return Client(headers={"authorization": f"Bearer {token}"})

    return make


@pytest.fixture
def scrape(bearer: Callable[..., Client]) -> Callable[[], Samples]:
    """Read the page with a token for it."""
    client = bearer(Scope.METRICS_READ)

    def read() -> Samples:
        counting.count()
        answer = client.get("/metrics")
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return parse(answer.content.decode())[0]

    return read


def submit() -> Hand:
    return Hand(api.submit(clerk.NAME, {"order_id": "A1"}).id)


def test_a_fresh_installation_has_little_to_say_and_says_it_well(
    scrape: Callable[[], Samples],
) -> None:
    Sweep(Ports(), 15.0).run_once()

    found = scrape()

    age = sample(found, "signalbox_sweep_age_seconds")
    assert age is not None
    assert age < 60
    assert all(name.startswith("signalbox_") for name, _ in found)


def test_living_and_ended_tasks_are_told_apart(scrape: Callable[[], Samples]) -> None:
    api.submit(clerk.NAME, {"order_id": "A1"})
    submit().start().ask()
    submit().start()
    submit().start().read().begin().succeed().finish()
    cancelled = api.submit(clerk.NAME, {"order_id": "A1"})
    api.cancel(cancelled.id, reason="enough", by="human:ann")

    found = scrape()

    def living(state: str) -> float | None:
        return sample(found, "signalbox_tasks", namespace="default", state=state)

    def ended(outcome: str) -> float | None:
        name = "signalbox_tasks_ended_total"
        return sample(found, name, namespace="default", agent=clerk.NAME, outcome=outcome)

    assert (living("initialized"), living("waiting_human"), living("planning")) == (1, 1, 1)
    assert (ended("succeeded"), ended("aborted"), ended("failed")) == (1, 1, None)
    here = {"namespace": "default", "agent": clerk.NAME}
    assert sample(found, "signalbox_tasks_submitted_total", **here) == 5
    assert sample(found, "signalbox_reviews_opened_total", **here, kind="question") == 1
    assert sample(found, "signalbox_queue_wait_seconds_count", **here) == 1
    age = sample(found, "signalbox_task_last_ended_age_seconds", namespace="default")
    assert age is not None
    assert age < 60


def test_a_histogram_is_heaped_up_and_ends_in_its_count(scrape: Callable[[], Samples]) -> None:
    for seconds in (0.5, 2, 2, 10_000, 900_000):
        hand = submit().start().finish()
        execute(
            "UPDATE runtime_task SET created_at = finished_at - make_interval(secs => %s) "
            "WHERE id = %s",
            (seconds, hand.desk.claimed.id),
        )

    found = scrape()

    labels = {"namespace": "default", "agent": clerk.NAME}
    name = "signalbox_task_duration_seconds"
    heaps = [
        sample(found, f"{name}_bucket", **labels, le=bound)
        for bound in ("1", "5", "15", "3600", "21600", "86400", "+Inf")
    ]
    assert heaps == [1, 3, 3, 3, 4, 4, 5]
    assert sample(found, f"{name}_count", **labels) == 5
    assert sample(found, f"{name}_sum", **labels) == pytest.approx(910_004.5)


def test_calls_retries_reviews_queues_and_refusals_are_there(
    scrape: Callable[[], Samples],
) -> None:
    submit().start().read().begin().fail().again().begin().succeed().finish()
    submit().start().read().begin().doubt()
    health.store_breaker("default", "pay", {"state": "open"})
    health.store_breaker("default", "look", {"state": "closed"})
    api.submit(clerk.NAME, {"order_id": "A1"})

    found = scrape()

    here = {"namespace": "default"}
    calls = "signalbox_tool_calls_total"
    assert sample(found, calls, **here, tool="look", outcome="succeeded") == 1
    assert sample(found, "signalbox_tool_retries_total", **here, tool="pay") == 1
    assert sample(found, "signalbox_reviews_open", **here, kind="in_doubt") == 1
    assert (
        sample(found, "signalbox_review_oldest_open_seconds", **here, kind="in_doubt") is not None
    )
    assert sample(found, "signalbox_breaker_open", **here, tool="pay") == 1
    assert sample(found, "signalbox_breaker_open", **here, tool="look") is None
    assert sample(found, "signalbox_queue_due_tasks", queue=clerk.clerk.queue) == 1
    assert sample(found, "signalbox_queue_workers", queue=clerk.clerk.queue) == 2
    assert sample(found, "signalbox_workers", state="running") == 2


def test_counts_of_living_things_stop_at_their_cap(
    scrape: Callable[[], Samples], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "CAP", 2)
    for _ in range(3):
        api.submit(clerk.NAME, {"order_id": "A1"})

    found = scrape()

    assert sample(found, "signalbox_tasks", namespace="default", state="initialized") == 2
    assert sample(found, "signalbox_queue_due_tasks", queue=clerk.clerk.queue) == 2


HOSTILE = ['a"b', "a\\", 'x"} 1\nsignalbox_forged_total 666', "nul\0bell\x07", "\ud800", "\u2028💣"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_forge_a_sample(name: str) -> None:
    one = Measure("signalbox_x_total", "counter", "A\nhelp \\.", (("", (("tool", name),), 1.0),))

    samples, kinds = parse("".join(f"{line}\n" for line in lines([one])))

    assert len(samples) == 1
    assert kinds == {"signalbox_x_total": "counter"}
    assert escaped(name).isprintable() or "💣" in name


@pytest.mark.parametrize(
    ("value", "written"),
    [(3.0, "3"), (0.1, "0.1"), (float("inf"), "+Inf"), (float("nan"), "NaN"), (2**60, str(2**60))],
)
def test_numbers_are_written_with_all_their_digits(value: float, written: str) -> None:
    assert number(value) == written


def test_the_page_opens_for_its_scope_and_for_those_signed_in(
    bearer: Callable[..., Client], ann: User
) -> None:
    signed_in = Client()
    signed_in.force_login(ann)

    assert bearer(Scope.METRICS_READ).get("/metrics").status_code == 200
    assert bearer(Scope.METRICS_READ).head("/metrics").status_code == 200
    assert bearer(Scope.METRICS_READ).post("/metrics").status_code == 405
    assert signed_in.get("/metrics").status_code == 200


@pytest.mark.django_db
def test_it_is_shut_for_everybody_else(bearer: Callable[..., Client], ann: User) -> None:
    nobody = User.objects.create_user("nobody")
    stranger = Client()
    stranger.force_login(nobody)
    beside = Client(headers={"authorization": "Bearer sbx_none"})
    beside.force_login(ann)

    assert Client().get("/metrics").status_code == 302
    assert stranger.get("/metrics").status_code == 403
    assert bearer(Scope.TASKS_READ, Scope.WORKERS_READ).get("/metrics").status_code == 403
    assert bearer(Scope.METRICS_READ, namespaces=("mine",)).get("/metrics").status_code == 403
    refused = beside.get("/metrics")
    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Bearer")


def test_a_token_opens_no_page_that_does_not_take_tokens(bearer: Callable[..., Client]) -> None:
    assert bearer(*Scope).get("/tasks/").status_code == 302


def test_its_scope_opens_nothing_else() -> None:
    assert OPENS[Scope.METRICS_READ] == {Permission.VIEW_METRICS}
