"""``manage.py states``: the transition table, as it stands in the core."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime.core.states import LIVE, State
from runtime.core.table import ROWS, Row, edges
from runtime.management import base
from runtime.management.base import SignalboxCommand

_START = "[*]"


class Command(SignalboxCommand):
    """Print what may happen to a task, and when."""

    help = "Print the transition table: every event, where it may come and where it leads."
    needs_services = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        self.common(parser)
        parser.add_argument("--mermaid", action="store_true", help="print a Mermaid state diagram")
        parser.set_defaults(work=self.print_table)

    def print_table(self, options: dict[str, Any]) -> None:
        """Print the table."""
        value: dict[str, Any] = {
            "states": [{"name": state.value, "terminal": _ends(state)} for state in State],
            "events": [_described(row) for row in ROWS],
        }
        if options["mermaid"]:
            value["mermaid"] = mermaid()
            self.show(value, lambda console: console.print(mermaid(), soft_wrap=True))
            return

        def people(console: Console) -> None:
            rows = base.table("event", "in", "leads to", "says", wide=("in", "leads to", "says"))
            for row in ROWS:
                says = f"{row.says}; moves the situation" if row.moves else row.says
                rows.add_row(
                    row.event.value,
                    _shortly(row.sources) or "the beginning",
                    _shortly(row.targets) or "stays",
                    says,
                )
            console.print(rows)

        self.show(value, people)


def _shortly(states: frozenset[State | None] | frozenset[State]) -> str:
    """Name a set of states by what it lacks, where that is shorter."""
    named = {state for state in states if state is not None}
    lacks = LIVE - named
    if named <= LIVE and len(lacks) < len(named):
        return f"any but {', '.join(sorted(lacks))}" if lacks else "any that has not ended"
    return ", ".join(sorted(named))


def _ends(state: State) -> bool:
    return not any(state in row.sources for row in ROWS)


def _described(row: Row) -> dict[str, Any]:
    return {
        "event": row.event.value,
        "sources": sorted(state.value for state in row.sources if state is not None),
        "targets": sorted(state.value for state in row.targets),
        "moves_situation": row.moves,
        "says": row.says,
    }


def mermaid() -> str:
    """Draw the transitions that change the state."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for source, event, target in edges():
        if source is not target:
            start = source.value if source is not None else _START
            arrows.setdefault((start, target.value), []).append(event.value)
    lines = ["stateDiagram-v2"]
    lines += [
        f"    {one} --> {other}: {', '.join(names)}" for (one, other), names in arrows.items()
    ]
    lines += [f"    {state.value} --> {_START}" for state in State if _ends(state)]
    return "\n".join(lines)
