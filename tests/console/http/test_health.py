"""`/healthz` and `/readyz`: in one word per part, for anybody, without ever breaking."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from django.test import Client

from console.http import health
from runtime.engine.ports import Ports
from runtime.engine.sweep import Sweep
from runtime.models import Pulse


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Forget what an earlier test was answered."""
    health._known.forget()
    yield
    health._known.forget()


def test_a_process_that_answers_is_healthy_whatever_else_fails() -> None:
    answer = Client().get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_an_installation_is_ready_once_a_sweep_is_at_work() -> None:
    before = Client().get("/readyz")
    assert (before.status_code, before.json()["sweep"]) == (503, "late")

    Sweep(Ports(), 15.0).run_once()
    health._known.forget()

    after = Client().get("/readyz")
    assert after.status_code == 200
    assert after.json() == {"status": "ok", "database": "ok", "valkey": "ok", "sweep": "ok"}


@pytest.mark.django_db
def test_a_sweep_that_stopped_is_noticed() -> None:
    Sweep(Ports(), 15.0).run_once()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE runtime_pulse SET at = at - interval '20 s' WHERE name = 'sweep'")

    assert Client().get("/readyz").json()["sweep"] == "late"


@pytest.mark.django_db
def test_readiness_is_a_real_write_and_not_one_for_every_asker() -> None:
    Client().get("/readyz")
    first = Pulse.objects.get(name="ready").at

    Client().get("/readyz")

    assert Pulse.objects.get(name="ready").at == first


@pytest.mark.django_db
def test_a_database_that_takes_no_writes_is_not_ready() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")

    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()["database"]) == (503, "failed")


@pytest.mark.django_db
def test_a_valkey_that_is_away_is_not_ready(settings: object) -> None:
    settings.VALKEY_URL = "unix:///nowhere/valkey.sock"  # type: ignore[attr-defined]

    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()["valkey"]) == (503, "failed")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_only_reading_is_taken(path: str) -> None:
    assert Client().post(path).status_code == 405


def test_what_is_wrong_in_detail_is_for_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise OperationalError("password=secret")

    assert health._word("the database", fail) == "failed"
    assert "not ready: the database" in caplog.text
