"""Tools that behave well or badly in one way each; what they did stands in the test's diary."""

import asyncio
import contextlib
import os
import signal
import threading
from typing import Any

from django.db import connection

from runtime.core.errors import Ambiguous, Permanent, Retryable
from runtime.examples.aftersales import client
from runtime.tools.context import ToolContext
from runtime.tools.registry import tool
from tests.support.engine_agents.hands import DEFERRED_TABLE, LOCAL_TABLE, ask
from tests.support.engine_diary import Diary
from tests.support.engine_zoo import ZOO

SHORT_S = 0.3


@tool(effect="read", timeout_s=10)
def echo(value: Any = None) -> Any:
    """Give back what came."""
    return value


@tool(effect="read", timeout_s=10)
async def echo_async(value: Any = None) -> Any:
    """Give back what came."""
    return value


@tool(effect="read", timeout_s=30)
def gated(diary: str, gate: str) -> str:
    """Wait at a gate."""
    Diary(diary).note("entered", gate=gate)
    Diary(diary).pass_gate(gate)
    return gate


@tool(effect="read", timeout_s=30)
async def gated_async(diary: str, gate: str) -> str:
    """Wait at a gate."""
    Diary(diary).note("entered", gate=gate)
    await Diary(diary).pass_gate_async(gate)
    return gate


@tool(effect="keyed", timeout_s=30)
def gated_write(diary: str, gate: str, *, operation_id: str) -> str:
    """Note a write, then wait at a gate."""
    Diary(diary).note("written", operation_id=operation_id)
    Diary(diary).pass_gate(gate)
    return operation_id


@tool(effect="read", timeout_s=SHORT_S)
def hang(diary: str) -> str:
    """Outstay the deadline until the gate `hang` opens."""
    Diary(diary).note("hung")
    Diary(diary).pass_gate("hang")
    Diary(diary).note("awoke")
    return "too late"


@tool(effect="once", timeout_s=SHORT_S)
def hang_once(diary: str) -> str:
    """Outstay the deadline of a call that must not happen twice."""
    Diary(diary).note("sent")
    Diary(diary).pass_gate("hang")
    return "too late"


@tool(effect="local", timeout_s=SHORT_S)
def hang_local(diary: str, order_id: str, *, ctx: ToolContext) -> str:
    """Write a row of our own, then outstay the deadline."""
    insert(order_id, ctx)
    Diary(diary).note("inserted")
    Diary(diary).pass_gate("hang")
    return "too late"


@tool(effect="read", timeout_s=SHORT_S)
def drip(order_id: str) -> Any:
    """Read an answer that may never end."""
    return ask("GET", f"/orders/{order_id}")


@tool(effect="read", timeout_s=SHORT_S)
async def drip_async(order_id: str) -> Any:
    """Read an answer that may never end."""
    return await client.get_order(order_id)


@tool(effect="read", timeout_s=SHORT_S)
async def stubborn(diary: str) -> str:
    """Swallow every cancellation until the gate `hang` opens."""
    Diary(diary).note("hung")
    while not Diary(diary).is_open("hang"):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.02)
    return "too late"


@tool(effect="read", timeout_s=SHORT_S)
async def block_loop(diary: str) -> str:
    """Block the whole event loop until the gate `hang` opens."""
    Diary(diary).note("hung")
    Diary(diary).pass_gate("hang")
    return "too late"


@tool(effect="once", timeout_s=SHORT_S)
async def send_async(diary: str) -> str:
    """Send what must not be sent twice, from the event loop."""
    Diary(diary).note("sent")
    return "sent"


@tool(effect="read", timeout_s=10, attempts=1)
async def end_loop(how: str) -> None:
    """Do what ends an event loop."""
    loop = asyncio.get_running_loop()
    if how == "stop":
        loop.stop()
        await asyncio.Event().wait()
    if how == "exit in a task":
        await asyncio.create_task(_exit())
    error = KeyboardInterrupt() if how == "interrupt" else SystemExit(3)
    raise error


async def _exit() -> None:
    raise SystemExit(3)


@tool(effect="read", timeout_s=10)
def flaky(diary: str, failures: int, after_s: float | None = None) -> int:
    """Fail as often as asked, then tell the number of tries."""
    Diary(diary).note("tried")
    tries = Diary(diary).count("tried")
    if tries <= failures:
        message = "not yet"
        raise Retryable(message, after_s)
    return tries


@tool(effect="read", timeout_s=10, attempts=2, fallback="echo")
def falls_back(value: Any = None) -> Any:
    """Never succeed; another tool stands in."""
    message = f"no {value}"
    raise Retryable(message)


@tool(effect="read", timeout_s=10)
def refuse(value: str) -> Any:
    """Fail for good."""
    raise Permanent(value)


@tool(effect="once", timeout_s=10)
def unsure(diary: str) -> Any:
    """Be unsure whether it happened."""
    Diary(diary).note("sent")
    message = "the line went dead"
    raise Ambiguous(message)


@tool(effect="read", timeout_s=10, attempts=50)
def resting(diary: str) -> int:
    """Fail like a downstream that is down until the gate `up` opens."""
    Diary(diary).note("tried")
    if not Diary(diary).is_open("up"):
        message = "the downstream is down"
        raise ConnectionError(message)
    return Diary(diary).count("tried")


@tool(effect="keyed", timeout_s=10)
def pay(diary: str, to: str, cents: int, *, operation_id: str) -> str:
    """Pay; two equal payments of one task are one too many."""
    Diary(diary).note("paid", to=to, cents=cents, operation_id=operation_id)
    return operation_id


@tool(effect="keyed", timeout_s=10, same="to")
def pay_once(diary: str, to: str, cents: int, *, operation_id: str) -> str:
    """Pay; a second payment to the same person is the same one."""
    Diary(diary).note("paid", to=to, cents=cents, operation_id=operation_id)
    return operation_id


@tool(effect="keyed", timeout_s=10, repeatable=True)
def pay_often(diary: str, to: str, cents: int, *, operation_id: str) -> str:
    """Pay as often as asked."""
    Diary(diary).note("paid", to=to, cents=cents, operation_id=operation_id)
    return operation_id


def _has_echoed_yes(context: Any) -> bool:
    return bool(context.result("echo") == "yes")


@tool(effect="keyed", timeout_s=10, requires="echo", when=_has_echoed_yes)
def guarded(diary: str, *, operation_id: str) -> str:
    """Write only after `echo` has said yes."""
    Diary(diary).note("paid", operation_id=operation_id)
    return operation_id


def _cannot_tell(_context: Any) -> bool:
    message = "no such\x00thing"
    raise LookupError(message)


@tool(effect="keyed", timeout_s=10, when=_cannot_tell)
def guarded_badly(diary: str, *, operation_id: str) -> str:
    """Write under a precondition that fails itself."""
    Diary(diary).note("paid", operation_id=operation_id)
    return operation_id


@tool(effect="read", timeout_s=20, isolate=True)
def apart(diary: str) -> int:
    """Tell the process it runs in."""
    Diary(diary).note("apart")
    return os.getpid()


@tool(effect="read", timeout_s=4, attempts=1, isolate=True)
def hang_apart(diary: str) -> str:
    """Hang in a process of its own."""
    Diary(diary).note("hung")
    Diary(diary).pass_gate("hang")
    return "too late"


@tool(effect="read", timeout_s=20, attempts=1, isolate=True)
def die_apart(diary: str) -> None:
    """Kill the process it runs in, which is its own."""
    Diary(diary).note("died")
    os.kill(os.getpid(), signal.SIGKILL)


def insert(order_id: str, ctx: ToolContext) -> None:
    """Write one row of our own inside the step's transaction."""
    with ctx.transaction(), connection.cursor() as cursor:
        statement = f"INSERT INTO {LOCAL_TABLE} (order_id, attempt) VALUES (%s, %s)"  # noqa: S608
        cursor.execute(statement, (order_id, ctx.attempt))


@tool(effect="local", timeout_s=10)
def enter_late(order_id: str, fails_before: int, *, ctx: ToolContext) -> int:
    """Write a row, then fail on the first attempts: the row must go with the failure."""
    insert(order_id, ctx)
    if ctx.attempt <= fails_before:
        message = "after the write"
        raise Retryable(message)
    return ctx.attempt


@tool(effect="local", timeout_s=10)
def enter_twice(order_id: str, *, ctx: ToolContext) -> int:
    """Write what only COMMIT refuses, as Django's foreign keys do."""
    with ctx.transaction(), connection.cursor() as cursor:
        statement = f"INSERT INTO {DEFERRED_TABLE} (order_id) VALUES (%s), (%s)"  # noqa: S608
        cursor.execute(statement, (order_id, order_id))
    return ctx.attempt


@tool(effect="read", timeout_s=10, attempts=5)
def count_down(diary: str, *, ctx: ToolContext) -> Any:
    """Report 4, 3, 2, 1 and fail; the next attempt tells what it was given."""
    Diary(diary).note("attempt", given=ctx.progress)
    if ctx.progress is not None:
        return ctx.progress
    for left in (4, 3, 2, 1):
        ctx.heartbeat(left)
    message = "in the middle"
    raise Retryable(message)


@tool(effect="read", timeout_s=30)
def report_and_wait(diary: str, *, ctx: ToolContext) -> Any:
    """Report progress and wait for the worker's death; the next attempt tells what it was given."""
    Diary(diary).note("attempt", given=ctx.progress)
    if ctx.progress is not None:
        return ctx.progress
    ctx.heartbeat({"page": 7})
    Diary(diary).pass_gate("never")
    return None


@tool(effect="read", timeout_s=10, attempts=1)
def zoo(animal: str) -> Any:
    """Return or raise something odd."""
    return ZOO[animal].make()


@tool(effect="keyed", timeout_s=10, attempts=1)
def zoo_write(animal: str, diary: str, *, operation_id: str) -> Any:
    """Write, then return or raise something odd."""
    Diary(diary).note("paid", operation_id=operation_id)
    return ZOO[animal].make()


@tool(effect="read", timeout_s=10)
def kill_worker(diary: str) -> None:
    """Kill the process it runs in."""
    Diary(diary).note("killed")
    os.kill(os.getpid(), signal.SIGKILL)


@tool(effect="read", timeout_s=10)
def kill_twice(diary: str) -> str:
    """Kill the process it runs in, twice."""
    if Diary(diary).count("killed") < 2:
        Diary(diary).note("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    return "behaves"


@tool(effect="keyed", timeout_s=10)
def kill_worker_write(diary: str, *, operation_id: str) -> None:
    """Kill the process it runs in, with its intent written."""
    Diary(diary).note("killed", operation_id=operation_id)
    os.kill(os.getpid(), signal.SIGKILL)


@tool(effect="read", timeout_s=10)
async def kill_worker_async(diary: str) -> None:
    """Kill the process it runs in, after a moment on the loop."""
    Diary(diary).note("killed")
    await asyncio.sleep(0)
    os.kill(os.getpid(), signal.SIGKILL)


@tool(effect="read", timeout_s=60)
async def dwell(seconds: float) -> float:
    """Be inside a slow call, as a model would."""
    await asyncio.sleep(seconds)
    return seconds


@tool(effect="read", timeout_s=30)
def until_cancelled(diary: str, *, ctx: ToolContext) -> str:
    """Work until somebody wants the task's end."""
    Diary(diary).note("entered")
    never = threading.Event()
    while not ctx.cancelled():
        never.wait(0.01)
    return "returned early"


MANNERS = (
    echo,
    echo_async,
    gated,
    gated_async,
    gated_write,
    hang,
    hang_once,
    hang_local,
    drip,
    drip_async,
    stubborn,
    block_loop,
    send_async,
    end_loop,
    flaky,
    falls_back,
    refuse,
    unsure,
    resting,
    pay,
    pay_once,
    pay_often,
    guarded,
    guarded_badly,
    apart,
    hang_apart,
    die_apart,
    enter_late,
    enter_twice,
    count_down,
    report_and_wait,
    zoo,
    zoo_write,
    kill_worker,
    kill_worker_write,
    kill_worker_async,
    kill_twice,
    dwell,
    until_cancelled,
)
