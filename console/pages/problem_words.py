"""What is wrong with a value, in the reader's language, as an order that can be followed.

Pure.  A validator words its problems in English; each sentence known here is found again and said
in ours, and what an agent's author wrote stays as it is.  A test holds the sentences against the
validator that is installed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from console.pages.problem_sentences import JSON, RUNTIME, VALIDATOR, Known

_LONGEST: Final = 1000


#: What a hole holds, where that is not just anything.
_HOLDS: Final[Mapping[str, str]] = {
    "expected_plural": "s?",
    "count": r"\d+",
    "min_length": r"\d+",
    "max_length": r"\d+",
    "expected": r"(?:'|-?\d|True|False).*",
    "detail": "with .+ ",
    "field_type": r"\w+",
    "gt": r"\S*\d.*",
    "lt": r"\S*\d.*",
}
_HOLE: Final = re.compile(r"\{(\w+)\}")
#: A list of choices ends with this; inside of a choice it stands between letters.
_LAST_OR: Final = re.compile(r"(?<=['\d]) or (?=['\d-])")
_AUTHORS: Final = ("Value error, ", "Assertion failed, ")


def problem(text: str) -> str:
    """Say what is wrong; a problem may come as ``place: what``, and its place stays."""
    if (whole := said(text)) != text:
        return whole
    where, colon, what = text.partition(": ")
    if not colon or (worded := said(what)) == what:
        return text
    return _("%(where)s: %(what)s") % {"where": where, "what": worded}


def said(text: str) -> str:
    """Word one problem without its place; what nobody knows comes back as it is."""
    if len(text) > _LONGEST:
        return text
    for known, pattern in _patterns():
        if (found := pattern.fullmatch(text)) is not None:
            return _worded(known, found.groupdict())
    return next((text.removeprefix(one) for one in _AUTHORS if text.startswith(one)), text)


def _worded(known: Known, data: dict[str, str]) -> str:
    if known.ours:
        if "expected" in data:
            data["expected"] = _LAST_OR.sub(", ", data["expected"])
        return _(known.ours).format_map(data)
    name, sentence = _counted()[known.kind]
    return sentence(int(data[name])) % {"count": data[name]}


def _counted() -> Mapping[str, tuple[str, Callable[[int], str]]]:
    """Give the sentences that count something, with the name of what they count."""
    return {
        "": ("count", lambda n: ngettext("%(count)s more.", "%(count)s more.", n)),
        "string_too_short": (
            "min_length",
            lambda n: ngettext(
                "Give at least %(count)s character.", "Give at least %(count)s characters.", n
            ),
        ),
        "string_too_long": (
            "max_length",
            lambda n: ngettext(
                "Give at most %(count)s character.", "Give at most %(count)s characters.", n
            ),
        ),
        "too_short": (
            "min_length",
            lambda n: ngettext(
                "Give at least %(count)s item.", "Give at least %(count)s items.", n
            ),
        ),
        "too_long": (
            "max_length",
            lambda n: ngettext("Give at most %(count)s item.", "Give at most %(count)s items.", n),
        ),
        "decimal_max_digits": (
            "max_digits",
            lambda n: ngettext(
                "Give at most %(count)s digit.", "Give at most %(count)s digits.", n
            ),
        ),
        "decimal_max_places": (
            "decimal_places",
            lambda n: ngettext(
                "Give at most %(count)s digit after the point.",
                "Give at most %(count)s digits after the point.",
                n,
            ),
        ),
        "decimal_whole_digits": (
            "whole_digits",
            lambda n: ngettext(
                "Give at most %(count)s digit before the point.",
                "Give at most %(count)s digits before the point.",
                n,
            ),
        ),
    }


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[Known, re.Pattern[str]], ...]:
    # The choices come last: their sentence begins like many others.
    known = sorted((*RUNTIME, *VALIDATOR, *JSON), key=lambda one: one.kind == "literal_error")
    return tuple((one, re.compile(_pattern(one.theirs), re.DOTALL)) for one in known)


def _pattern(theirs: str) -> str:
    return "".join(_pieces(theirs))


def _pieces(theirs: str) -> Iterator[str]:
    for at, piece in enumerate(_HOLE.split(theirs)):
        yield f"(?P<{piece}>{_HOLDS.get(piece, '.+?')})" if at % 2 else re.escape(piece)
