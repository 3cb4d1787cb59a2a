"""What a run leaves behind, and how its tasks are kept from the runs after it."""

from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from runtime import api
from runtime.examples.aftersales.demo import runs
from runtime.examples.aftersales.shop.ledger import drop_schema, ensure_schema
from runtime.models import Task
from runtime.tools.agents import registry

NAMES = [f"20260101-00000{number}-abcd" for number in range(5)]
REQUEST = {"request_id": "R-1", "order_id": "A-1", "customer_message": "…"}


@pytest.fixture
def books_of_five_runs(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, child_environ: dict[str, str]
) -> Iterator[list[runs.Run]]:
    """Five runs that are over, in this session's database."""
    url = child_environ["DATABASE_URL"]
    monkeypatch.setattr(settings, "DATABASE_URL", url)
    for schema in schemas():  # of demos that other tests ran
        drop_schema(url, schema)
    earlier = [runs.Run(name) for name in NAMES]
    for run in earlier:
        ensure_schema(url, run.schema)
    yield earlier
    for run in earlier:
        drop_schema(url, run.schema)


def schemas() -> list[str]:
    with connection.cursor() as cursor:
        query = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'shop\\_demo%%' ORDER BY 1"
        cursor.execute(query)
        return [name for (name,) in cursor.fetchall()]


def submitted_in(run: runs.Run) -> Task:
    agent = api.get_agent("aftersales")
    with registry.separate():
        runs.on_queue(agent, run.queue)
        view = api.submit("aftersales", REQUEST)
    return Task.objects.get(id=view.id)


def test_tasks_of_a_run_wait_in_a_queue_that_only_its_workers_serve(
    transactional_db: None,
) -> None:
    in_run, outside = submitted_in(runs.Run(NAMES[0])), api.submit("aftersales", REQUEST)

    assert in_run.queue == f"demo-{NAMES[0]}"
    assert outside.queue == "default"
    assert api.task(in_run.id).manifest == api.task(outside.id).manifest


def test_only_the_last_few_books_are_kept(books_of_five_runs: list[runs.Run]) -> None:
    runs.tidy()

    assert schemas() == [run.schema for run in books_of_five_runs[-runs.KEPT_RUNS :]]


def test_what_a_closed_run_did_not_finish_is_cancelled(books_of_five_runs: list[runs.Run]) -> None:
    task, other = submitted_in(books_of_five_runs[0]), api.submit("aftersales", REQUEST)

    runs.tidy()

    assert api.task(task.id).state == "terminated_aborted"
    assert api.task(other.id).state == "initialized"


def test_a_run_whose_shop_is_open_is_left_alone(books_of_five_runs: list[runs.Run]) -> None:
    run = books_of_five_runs[0]
    task = submitted_in(run)
    shop = f"shop {run.schema}"

    with psycopg.connect(settings.DATABASE_URL, application_name=shop):
        runs.tidy()

    assert run.schema in schemas()
    assert api.task(task.id).state == "initialized"
