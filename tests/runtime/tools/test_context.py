"""What a tool is given as `ctx`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from runtime.core.errors import Permanent
from runtime.tools.context import Ports, ToolContext

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TASK = UUID("01890000-0000-7000-8000-000000000001")


def context(*, progress: object = None, **ports: Any) -> ToolContext:
    return ToolContext(
        task_id=TASK,
        namespace="default",
        call_id="0.3.0",
        operation_id="op_1",
        attempt=2,
        deadline=NOON + timedelta(seconds=20),
        progress=progress,
        ports=Ports(**{"clock": lambda: NOON, **ports}),
    )


@pytest.mark.parametrize(("passed_s", "left_s"), [(0, 20), (5, 15), (20, 0), (90, 0)])
def test_the_time_left_follows_the_clock_and_never_falls_below_zero(
    passed_s: int, left_s: int
) -> None:
    ctx = context(clock=lambda: NOON + timedelta(seconds=passed_s))

    assert ctx.remaining_s() == left_s


def test_progress_goes_out_in_order_and_comes_back_as_the_last_of_an_earlier_attempt() -> None:
    """Hazard RP-09: a retry that saw the first marker would repeat items already done."""
    reported: list[object] = []
    first = context(heartbeat=reported.append)

    for left in (4, 3, 2, 1):
        first.heartbeat(left)

    assert reported == [4, 3, 2, 1]
    assert context(progress=reported[-1]).progress == 1


def test_a_heartbeat_without_progress_is_only_a_sign_of_life() -> None:
    reported: list[object] = []

    context(heartbeat=reported.append).heartbeat()

    assert reported == [None]


def test_a_tool_sees_a_cancel_when_it_looks() -> None:
    asked = iter([False, True])
    ctx = context(cancelled=lambda: next(asked))

    assert (ctx.cancelled(), ctx.cancelled()) == (False, True)


def test_a_context_made_by_hand_needs_a_clock_only() -> None:
    ctx = context()
    ctx.heartbeat(1)

    assert ctx.cancelled() is False


def test_a_transaction_wraps_the_work_of_a_local_tool() -> None:
    steps: list[str] = []

    @contextmanager
    def transaction() -> Iterator[None]:
        steps.append("begin")
        yield
        steps.append("commit")

    with context(transaction=transaction).transaction():
        steps.append("work")

    assert steps == ["begin", "work", "commit"]


def test_a_failing_block_reaches_the_transaction_so_that_it_rolls_back() -> None:
    ended: list[type[BaseException]] = []

    @contextmanager
    def transaction() -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            ended.append(type(error))
            raise

    with pytest.raises(ValueError, match="bad row"), context(transaction=transaction).transaction():
        raise ValueError("bad row")  # noqa: TRY003 - the example itself

    assert ended == [ValueError]


def test_other_effects_have_no_transaction_and_are_told_what_to_declare() -> None:
    with pytest.raises(Permanent, match='effect="local"'), context().transaction():
        pytest.fail("the block must not run")


def test_a_log_record_says_which_call_of_which_task_it_belongs_to(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "runtime.tool"):
        context().logger.info("asked the shop", extra={"order_id": "A1"})

    (record,) = caplog.records
    found = (record.__dict__[key] for key in ("task_id", "call_id", "attempt", "order_id"))
    assert tuple(found) == (str(TASK), "0.3.0", 2, "A1")
