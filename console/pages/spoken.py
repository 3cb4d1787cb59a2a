"""What the runtime says, in the reader's language: its sentences and its refusals.

The runtime keeps a sentence and its data apart; here the sentence is looked up in the catalogue.
What people, agents and tools wrote stands in the data and stays as it is.
"""

from typing import Final

from django.utils.translation import gettext

from console.pages.problem_words import problem
from console.pages.words import actor
from console.recorded import recorded
from runtime.core.error_base import SignalboxError
from runtime.core.error_text import shown
from runtime.core.saying import Said
from runtime.core.why import Facts, said

_PEOPLE: Final = frozenset({"by", "decided_by", "closed_by"})
#: Data that the runtime worded itself; all else is somebody's own.
_OURS: Final = frozenset({"why", "outcome"})


def spoken(something: Said) -> str:
    """Put a sentence of the runtime into the reader's language."""
    return something.worded(gettext, _show)


def why(facts: Facts) -> str:
    """Say where a task stands and what it waits for."""
    return spoken(said(facts))


def refusal(error: SignalboxError) -> str:
    """Say why something was refused."""
    if not error.sentence:
        return str(error)
    data = {name: _show(name, shown(_worded(name, value))) for name, value in vars(error).items()}
    return gettext(error.sentence).format_map(data)


def _worded(name: str, value: object) -> object:
    return tuple(map(problem, value)) if name == "problems" and isinstance(value, tuple) else value


def _show(name: str, value: object) -> object:
    if name in _PEOPLE:
        return actor(str(value))
    return recorded(value) if name in _OURS and isinstance(value, str) else value
