"""Shows a drill to people: a live view while it goes on, a table at its end.

It prints and decides nothing; the live view goes to standard error, and only to a terminal.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.box import SIMPLE
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runtime.core.states import TERMINAL, State
from runtime.examples.aftersales.drill.play import Display, Progress
from runtime.examples.aftersales.drill.verdict import Verdict, quantiles

BAR_WIDTH = 40
NEWS_SHOWN = 10
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
    wanted = progress.wanted
    head = Text.assemble(
        ("Signalbox drill", "bold"),
        f"  seed {wanted.seed}  {progress.sent} of {wanted.tasks} requests sent"
        f"  {progress.spent_s:.0f} s",
    )
    states = Table.grid(padding=(0, 2))
    for state in State:
        number = progress.standing.states[state]
        if number:
            width = max(1, round(BAR_WIDTH * number / wanted.tasks))
            bar = Text("█" * width, style=_GOOD if state in TERMINAL else "cyan")
            states.add_row(state.replace("_", " "), str(number), bar)
    struck = Text(f"faults: {_listed(progress.struck) or 'none yet'}")
    recovered = Text(f"recovery: {_seconds(quantiles(progress.recovered_s))}")
    news = [Text(line, style=_QUIET, no_wrap=True) for line in progress.news[-NEWS_SHOWN:]]
    return Group(head, states, struck, recovered, *news)


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print the table at the end, and in one line whether everything held."""
    table = Table(show_header=False, box=SIMPLE, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column(style=_QUIET)
    for name, value, note in _rows(verdict):
        table.add_row(name, value, note)
    console.print(table)
    for detail in verdict.details[:NEWS_SHOWN]:
        console.print(detail, style=_BAD, markup=False)
    if verdict.held:
        console.print(f"Every invariant held, in {verdict.seconds:.1f} s.", style=_GOOD)
    else:
        console.print(f"It did not hold: {'; '.join(verdict.failures)}.", style=_BAD, markup=False)


def _rows(verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    books = verdict.books
    yield "requests", str(verdict.tasks), f"seed {verdict.seed}"
    yield "tasks at their end", str(verdict.terminal), _listed(verdict.states)
    yield "steps", str(verdict.steps), "finished calls"
    yield "faults", str(sum(verdict.faults.values())), _listed(verdict.faults)
    yield "effects the books expect", str(books.expected), "refunds and mails"
    yield "effects seen", str(books.seen), f"{len(books.unexpected)} unexpected"
    yield "duplicates", str(len(books.duplicates)), ""
    yield "lost", str(len(books.lost)), ""
    yield "stuck", str(verdict.stuck), ""
    yield "events against state", str(len(verdict.problems)), "contradictions"
    yield "reviews answered", str(sum(verdict.answered.values())), _listed(verdict.answered)
    yield "recoveries", str(len(verdict.recovery_s)), _seconds(quantiles(verdict.recovery_s))
    yield "writes refused by the fence", str(verdict.fence_refusals), ""


def _seconds(found: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {value:.1f} s" for name, value in found.items() if value is not None)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())
