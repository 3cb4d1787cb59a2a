"""Shows a run to people: a live view while it goes on, a table at its end.

It prints and decides nothing; the live view goes to standard error, and only to a terminal.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runtime.core.states import TERMINAL, State
from runtime.examples.aftersales.demo.play import Display, Progress
from runtime.examples.aftersales.demo.verdict import Verdict

BAR_WIDTH = 40
NEWS_SHOWN = 8
REFRESH_PER_S = 8
_GOOD, _BAD, _QUIET = "green", "bold red", "dim"


@contextmanager
def live(console: Console) -> Iterator[Display]:
    """Show the progress in place as long as the block lasts; nothing where nobody looks."""
    if not console.is_terminal:
        yield _ignore
        return
    with Live(console=console, refresh_per_second=REFRESH_PER_S, transient=True) as view:
        yield lambda progress: view.update(_moving(progress))


def _ignore(_progress: Progress) -> None:
    """Show nothing."""


def _moving(progress: Progress) -> RenderableType:
    spent_s = time.monotonic() - progress.began_s
    sent = progress.standing.states.total()
    head = Text.assemble(
        ("Signalbox demo", "bold"), f"  {sent} of {progress.tasks} requests sent  {spent_s:.0f} s"
    )
    states = Table.grid(padding=(0, 2))
    for state in State:
        number = progress.standing.states[state]
        if number:
            width = max(1, round(BAR_WIDTH * number / progress.tasks))
            bar = Text("█" * width, style=_GOOD if state in TERMINAL else "cyan")
            states.add_row(state.replace("_", " "), str(number), bar)
    news = [Text(line, style=_QUIET, no_wrap=True) for line in progress.news[-NEWS_SHOWN:]]
    return Group(head, states, *news)


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print the table at the end, and in one line whether everything held."""
    table = Table(show_header=False, box=SIMPLE, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(style=_QUIET)
    for name, value, note in _rows(verdict):
        table.add_row(name, value, note)
    console.print(table)
    for problem in verdict.problems[:NEWS_SHOWN]:
        console.print(problem, style=_BAD, markup=False)
    _print_waiting(console, verdict)
    if verdict.held:
        console.print(f"Every invariant held, in {verdict.seconds:.1f} s.", style=_GOOD)
    else:
        console.print(f"It did not hold: {'; '.join(verdict.failures)}.", style=_BAD, markup=False)


def _print_waiting(console: Console, verdict: Verdict) -> None:
    if not verdict.waiting:
        return
    console.print("These wait for a person; with `--approve` a robot person answers them:")
    for one in verdict.waiting:
        line = Text(f"  {one.task}  {one.kind.replace('_', ' ')}: {one.asked}")
        console.print(line, no_wrap=True, overflow="ellipsis")
    console.print()


def _rows(verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    books, killed = verdict.books, verdict.killed
    yield "requests", str(verdict.tasks), _listed(verdict.outcomes)
    yield "tasks at their end", str(verdict.terminal), _listed(verdict.states)
    yield "effects the books expect", str(books.expected), "refunds and mails"
    yield "effects seen", str(books.seen), ""
    yield "duplicates", str(len(books.duplicates) + len(books.unexpected)), ""
    yield "lost", str(len(books.lost)), ""
    yield "stuck", str(verdict.stuck), ""
    yield "reviews answered", str(sum(verdict.answered.values())), _listed(verdict.answered)
    yield "faults at the shop", str(sum(verdict.faults.values())), _listed(_kinds(verdict.faults))
    if killed is not None:
        took = "never" if killed.recovered_s is None else f"{killed.recovered_s:.1f} s"
        held = "1 task" if killed.held == 1 else f"{killed.held} tasks"
        yield "killed worker's work carried on in", took, f"{held} in its hands"
    yield "writes refused by the fence", str(verdict.fence_refusals), ""
    yield "events that contradict the state", str(len(verdict.problems)), ""


def _kinds(faults: Mapping[str, int]) -> Mapping[str, int]:
    kinds: Counter[str] = Counter()
    for name, number in faults.items():
        kinds[name.partition(" ")[0]] += number
    return kinds


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())
