"""What our commands share: their options, how they read arguments, and how they show things.

With ``--json`` a command prints one JSON object on standard output and nothing else there.  Errors
are raised; the entry of the command line makes them one sentence and an exit status.
"""

import json
import math
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runtime.api import SignalboxError, WrongUsage
from runtime.core.errors import clean_text
from runtime.core.plain import jsonable

CHANNEL = "cli"
_WIDTH = 100

type Work = Callable[[dict[str, Any]], None]


@dataclass(eq=False)
class Unusable(WrongUsage):
    """An argument of the command line cannot be used."""

    what: str
    why: str

    code = "unusable_argument"
    sentence = "{what} cannot be used: {why}."


class SignalboxCommand(BaseCommand):
    """A command, or a group of commands as sub-parsers; each leaf names the method that does it."""

    # Django's own options work; they would hide ours in the help.
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--traceback",
        "--no-color",
        "--force-color",
        "--skip-checks",
    }
    requires_system_checks = ()
    acts = True
    """Does what it does as the owner of the API token in the environment, if there is one."""

    def leaf(self, parsers: Any, name: str, work: Work, help_text: str) -> CommandParser:
        """Add one command of a group."""
        parser: CommandParser = parsers.add_parser(name, help=help_text, description=help_text)
        parser.set_defaults(work=work)
        self.common(parser)
        return parser

    def common(self, parser: ArgumentParser) -> None:
        """Add what all commands take."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument(
            "--namespace", default="default", metavar="NAME", help="the space to look in"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run the method that the arguments chose."""
        # Django redirects its own stream; what is printed belongs to whoever reads us.
        self.as_json: bool = options.get("json", False)
        for name, value in options.items():
            if isinstance(value, str) and clean_text(value) != value:
                raise Unusable(name, "it is not valid UTF-8")
        options["work"](options)

    # --- showing ---------------------------------------------------------------------------------

    def show(self, value: Mapping[str, Any], people: Callable[[Console], None]) -> None:
        """Print a result: as JSON, or in the way that is made for people."""
        if self.as_json:
            self.stdout.write(json.dumps(jsonable(value), ensure_ascii=False))
            return
        people(screen(self.stdout))

    def end(self, status: int) -> NoReturn:
        """End with a status of the command's own: 1, what was asked does not hold."""
        self.stdout.flush()
        sys.exit(status)


class _Screen(Console):
    """Leaves a reader that has gone to the entry of the command line; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def screen(stream: Any) -> Console:
    """Give a console that writes to a stream: a terminal's width, else one that fits a page."""
    is_terminal = bool(getattr(stream, "isatty", lambda: False)())
    return _Screen(
        file=stream,
        width=None if is_terminal else _WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def table(*columns: str, wide: Sequence[str] = ()) -> Table:
    """Make a plain table; only the wide columns may be folded, ids never are."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        if name in wide:
            made.add_column(name, overflow="fold", ratio=1)
        else:
            made.add_column(name, no_wrap=True)
    return made


def plain(value: object) -> Text:
    """Give a text for a cell: no markup of anybody's, control characters visible."""
    text = "" if value is None else str(value)
    return Text("".join(_visible(character) for character in text))


def _visible(character: str) -> str:
    # Foreign text must not move the cursor, colour the screen or turn the reading direction.
    if character == "\n" or character.isprintable():
        return character
    return f"\\u{ord(character):04x}"


def facts(console: Console, pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and values below each other; what is not there is left out."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, "", (), {}):
            made.add_row(name, plain(value))
    console.print(made)


def instant(at: datetime | None) -> str:
    """Show an instant to the second, in UTC."""
    return f"{at:%Y-%m-%d %H:%M:%S}" if at else ""


def span(seconds: float | None) -> str:
    """Show seconds as people do."""
    if seconds is None:
        return ""
    if abs(seconds) < 60:  # noqa: PLR2004 (a minute)
        return f"{seconds:.0f} s"
    if abs(seconds) < 5400:  # noqa: PLR2004 (an hour and a half)
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def short(value: object, limit: int = 200) -> str:
    """Show any payload on one line."""
    text = value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# --- JSON -----------------------------------------------------------------------------------------


def read_json(what: str, text: str) -> Any:
    """Read JSON from an argument: itself, ``@FILE``, or ``-`` for standard input.

    Raises:
        Unusable: It cannot be read, or is not JSON.
    """
    given = _given(what, text)
    try:
        return json.loads(given, parse_constant=_no_constant)
    except RecursionError:
        raise Unusable(what, "it is nested too deeply") from None
    except ValueError as error:
        raise Unusable(what, f"it is not JSON ({error})") from None


def _given(what: str, text: str) -> str:
    try:
        if text == "-":
            return sys.stdin.read()
        if text.startswith("@"):
            return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise Unusable(what, str(error)) from None
    return text


def _no_constant(word: str) -> NoReturn:
    message = f"{word} is no JSON number"
    raise ValueError(message)


def read_file(what: str, path: str) -> Any:
    """Read JSON from a file.

    Raises:
        Unusable: It cannot be read, or is not JSON.
    """
    return read_json(what, path if path == "-" else f"@{path}")


def seconds(what: str, text: str) -> float:
    """Read a number of seconds from 0 on.

    Raises:
        Unusable: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise Unusable(what, f"'{text}' is not a number of seconds from 0 on")
    return value


def whole(what: str, text: str, *, least: int = 0) -> int:
    """Read a whole number.

    Raises:
        Unusable: It is none, or below the least.
    """
    if not text.isascii() or not text.isdecimal() or len(text) > 18 or int(text) < least:  # noqa: PLR2004 (what a bigint holds)
        raise Unusable(what, f"'{text}' is not a whole number from {least} on")
    return int(text)


__all__ = [
    "CHANNEL",
    "SignalboxCommand",
    "SignalboxError",
    "Unusable",
    "facts",
    "instant",
    "jsonable",
    "plain",
    "read_file",
    "read_json",
    "screen",
    "seconds",
    "short",
    "span",
    "table",
    "whole",
]
