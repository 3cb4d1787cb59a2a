"""The installation in numbers, for whoever watches it from outside; see ``runtime.api``.

Names and labels follow the customs of Prometheus: base units in the names, `_total` on what only
grows.  Everything is read bounded; counts of living things stop at a cap.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from runtime.core.states import State
from runtime.store import counting, measures, pulse
from runtime.store.measures import CAP, Backlog, Total

type Labels = tuple[tuple[str, str], ...]
type Sample = tuple[str, Labels, float]
"""Ending of the family's name, labels, value."""

_OUTCOMES: Final = {
    State.TERMINATED_SUCCESS.value: "succeeded",
    State.TERMINATED_FAILED.value: "failed",
    State.TERMINATED_ABORTED.value: "aborted",
}
_HISTOGRAMS: Final = (
    (
        "task_duration",
        "signalbox_task_duration_seconds",
        "From a task's creation to its end, waits for people included.",
    ),
    (
        "queue_wait",
        "signalbox_queue_wait_seconds",
        "From a task's creation to its first step, of tasks that have ended.",
    ),
    (
        "review_wait",
        "signalbox_review_wait_seconds",
        "From the opening of a review item to a person's decision.",
    ),
)
_CAPPED: Final = f"counted up to {CAP}"


@dataclass(frozen=True, slots=True)
class Measure:
    """One family of numbers.

    Args:
        name: With its unit.
        kind: What may be computed with it.
        help: What it counts, in a sentence.
        samples: One for each combination of labels.
    """

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: tuple[Sample, ...]


def measure() -> list[Measure]:
    """Measure the installation, all namespaces of it.

    Raises:
        psycopg.Error: The database is away.
    """
    totals: dict[str, list[Total]] = defaultdict(list)
    for total in measures.totals():
        totals[total.kind].append(total)
    return [
        *_living(),
        *_waiting(),
        *_processes(totals["worker_ended"]),
        _counter(
            "signalbox_tasks_submitted_total",
            "Tasks that were submitted.",
            totals["task_submitted"],
            ("agent",),
        ),
        *_ended(totals["task_ended"]),
        *(_histogram(name, said, totals[kind]) for kind, name, said in _HISTOGRAMS),
        *_reviews(totals["review_opened"], totals["review_closed"]),
        *_calls(totals["tool_call"], totals["tool_retry"]),
        _counter(
            "signalbox_fence_refusals_total",
            "Writes of lost leases that the fence refused.",
            totals["refusal"],
            (),
        ),
    ]


def backlogs() -> list[Backlog]:
    """List what waits in each queue and who serves it; bounded, for pages that ask often."""
    return measures.backlogs()


def sweep_age_s() -> float | None:
    """Tell how many seconds ago a sweep gave its last sign of life; None if there never was one."""
    return pulse.age_s(pulse.SWEEP)


def _living() -> Iterator[Measure]:
    yield _gauge(
        "signalbox_tasks",
        f"Living tasks by state, {_CAPPED} for each.",
        ((_of(("namespace", space), ("state", state)), n) for space, state, n in measures.live()),
    )
    reviews = measures.open_reviews()
    yield _gauge(
        "signalbox_reviews_open",
        f"Review items that wait for a person, {_CAPPED} in all.",
        ((_of(("namespace", space), ("kind", kind)), n) for space, kind, n, _ in reviews),
    )
    yield _gauge(
        "signalbox_review_oldest_open_seconds",
        "How long the oldest open review item has waited.",
        ((_of(("namespace", space), ("kind", kind)), age) for space, kind, _, age in reviews),
    )
    yield _gauge(
        "signalbox_breaker_open",
        "1 for each tool whose breaker is open or probing; absent when it is closed.",
        (
            (_of(("namespace", space), ("tool", tool)), 1)
            for space, tool in measures.open_breakers()
        ),
    )


def _waiting() -> Iterator[Measure]:
    backlogs = measures.backlogs()
    figures: tuple[tuple[str, str, str], ...] = (
        ("signalbox_queue_due_tasks", f"Tasks that could go on now, {_CAPPED}.", "due"),
        (
            "signalbox_queue_oldest_due_seconds",
            "How long the oldest of the counted due tasks has been due.",
            "oldest_s",
        ),
        ("signalbox_queue_workers", "Running workers that serve the queue.", "workers"),
        ("signalbox_queue_slots", "Tasks that these workers may hold.", "slots"),
    )
    for name, said, field in figures:
        found = ((_of(("queue", one.queue)), float(getattr(one, field))) for one in backlogs)
        yield _gauge(name, said, found)


def _processes(gone: list[Total]) -> Iterator[Measure]:
    workers = measures.workers()
    yield _gauge(
        "signalbox_workers",
        "Workers with a valid lease, by state.",
        ((_of(("state", state)), n) for state, n, _ in workers),
    )
    yield _gauge(
        "signalbox_worker_held_tasks",
        "Tasks that workers hold, by their last renewal.",
        ((_of(("state", state)), held) for state, _, held in workers),
    )
    yield _counter(
        "signalbox_workers_ended_total",
        "Workers that ended: stopped, killed, or with a lease that ran out.",
        gone,
        ("cause",),
    )
    age_s = sweep_age_s()
    yield _gauge(
        "signalbox_sweep_age_seconds",
        "Seconds since the sweep's last sign of life; absent if there never was one.",
        [] if age_s is None else [((), age_s)],
    )


def _ended(ended: list[Total]) -> Iterator[Measure]:
    named = [_with_outcome(total) for total in ended]
    names = ("agent", "outcome")
    yield _counter("signalbox_tasks_ended_total", "Tasks that have ended.", named, names)
    newest: dict[str, float] = {}
    for total in ended:
        newest[total.namespace] = min(total.age_s, newest.get(total.namespace, total.age_s))
    yield _gauge(
        "signalbox_task_last_ended_age_seconds",
        "Seconds since the last task ended; alert when results stop coming.",
        ((_of(("namespace", namespace)), age) for namespace, age in newest.items()),
    )


def _with_outcome(total: Total) -> Total:
    agent, state = total.label
    label = (agent, _OUTCOMES.get(state, state))
    return Total(total.namespace, total.kind, label, total.count, total.sum, total.age_s)


def _reviews(opened: list[Total], closed: list[Total]) -> Iterator[Measure]:
    yield _counter(
        "signalbox_reviews_opened_total",
        "Review items that were opened.",
        opened,
        ("agent", "kind"),
    )
    yield _counter(
        "signalbox_reviews_closed_total",
        "Review items that were settled: decided and carried out, or withdrawn.",
        closed,
        ("agent", "decision"),
    )


def _histogram(name: str, said: str, classes: list[Total]) -> Measure:
    """Make a histogram of the counts of each class; Prometheus wants them heaped up."""
    by_agent: dict[tuple[str, str], dict[float, Total]] = defaultdict(dict)
    for total in classes:
        agent, up_to = total.label
        by_agent[total.namespace, agent][float(up_to)] = total
    samples: list[Sample] = []
    for (namespace, agent), counts in by_agent.items():
        labels = _of(("namespace", namespace), ("agent", agent))
        heap = 0
        for bound in sorted({*counting.BOUNDS_S, *(b for b in counts if b > 0)}):
            heap += counts[bound].count if bound in counts else 0
            samples.append(("_bucket", (*labels, ("le", f"{bound:g}")), heap))
        whole = sum(total.count for total in counts.values())
        samples.append(("_bucket", (*labels, ("le", "+Inf")), whole))
        samples.append(("_sum", labels, sum(total.sum for total in counts.values())))
        samples.append(("_count", labels, whole))
    return Measure(name, "histogram", said, tuple(samples))


def _calls(calls: list[Total], retries: list[Total]) -> Iterator[Measure]:
    of_ended = "of tasks that have ended"
    names = ("tool", "outcome")
    yield _counter("signalbox_tool_calls_total", f"Completed calls {of_ended}.", calls, names)
    yield _counter(
        "signalbox_tool_call_seconds_total",
        f"Time that the last attempts of completed calls took, {of_ended}.",
        calls,
        names,
        seconds=True,
    )
    said = f"Attempts after the first, {of_ended}."
    yield _counter("signalbox_tool_retries_total", said, retries, ("tool",))


def _of(*labels: tuple[str, str]) -> Labels:
    return labels


def _gauge(name: str, said: str, samples: Iterable[tuple[Labels, float]]) -> Measure:
    return Measure(name, "gauge", said, tuple(("", labels, value) for labels, value in samples))


def _counter(
    name: str, said: str, totals: list[Total], names: tuple[str, ...], *, seconds: bool = False
) -> Measure:
    samples = []
    for total in totals:
        labels = (("namespace", total.namespace), *zip(names, total.label, strict=True))
        samples.append(("", labels, total.sum if seconds else float(total.count)))
    return Measure(name, "counter", said, tuple(samples))
