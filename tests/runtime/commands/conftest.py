"""Runs the command line inside the test's process, and on its database."""

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management.base import CommandParser

from console.entry import main
from tests.agents_for_tests import clerk

__all__ = ["clerk"]


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object that it printed, and nothing else."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        return json.loads(lines[0])


type Manage = Callable[..., Done]


@pytest.fixture
def manage(
    transactional_db: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Manage:
    """Give `manage.py` as a function of its arguments."""
    # The entry is made for a process of its own and leaves these changed.
    monkeypatch.setattr(CommandParser, "error", CommandParser.error)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*argv: object, stdin: str | None = None) -> Done:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", StringIO(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["manage.py", *map(str, argv)])
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return run
