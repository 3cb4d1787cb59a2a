"""What the runtime recorded in its own words, said in the reader's language.

A journal keeps a sentence as it was made. Here the fixed part of those we know is found again and
looked up in the catalogue; what we do not know stays as it is. A test holds the templates against
the sources of the runtime.
"""

import re
from functools import lru_cache
from typing import Final

from django.utils.translation import gettext, gettext_noop

#: `{name}` stands for what was filled in when it was recorded.
TEMPLATES: Final = (
    gettext_noop("it needs a reason"),
    gettext_noop("its checksum does not match"),
    gettext_noop("it was written by another version"),
    gettext_noop("it does not fit the last completed call"),
    gettext_noop("it is not the item this task waits for"),
    gettext_noop("it offers {decisions}"),
    gettext_noop("it does not take the argument {argument}"),
    gettext_noop("there is no call to give a result for"),
    gettext_noop("the tool is resting after repeated failures"),
    gettext_noop("the task ended before its outcome was known"),
    gettext_noop("it may have happened, and it must not happen twice: {failure}"),
    gettext_noop("its deadline passed"),
    gettext_noop("it failed for good: {failure}"),
    gettext_noop("after {count} attempts nobody knows whether it happened: {failure}"),
    gettext_noop("{count} attempts failed: {failure}"),
    gettext_noop("{tool}: {count} attempts failed: {failure}"),
    gettext_noop("1 attempt failed: {failure}"),
    gettext_noop("{tool}: 1 attempt failed: {failure}"),
    gettext_noop("{tool}: it failed for good: {failure}"),
    gettext_noop("nobody has said yet whether {tool} happened"),
    gettext_noop("{tool} was dispatched and its outcome was lost; it must not happen twice"),
    gettext_noop("{tool} was confirmed before with the same arguments (call {call})"),
    gettext_noop("the plan calls {tool}, which is not one of this task's tools ({known})"),
    gettext_noop("the pending call needs {tool}, which is not deployed as it was pinned"),
    gettext_noop("the retry needs {tool}, which is not deployed any more"),
    gettext_noop("its step ended the worker's process {count} times, the last time on its own"),
    gettext_noop("its limit of {allowed} {limit} is used up"),
)
_HOLE: Final = re.compile(r"\{(\w+)\}")
#: What a hole holds, where that is not just anything.
_HOLDS: Final = {"count": r"\d+", "tool": r"[\w.-]+", "call": r"[\w.:-]+"}
_LONGEST: Final = 1000


def recorded(text: str) -> str:
    """Give what the runtime recorded; foreign text and what nobody knows come back as they are."""
    if len(text) > _LONGEST:
        return text
    for template, pattern in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            return gettext(template).format_map(found.groupdict())
    return text


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((template, re.compile(_pattern(template))) for template in TEMPLATES)


def _pattern(template: str) -> str:
    parts = _HOLE.split(template)
    holes = [f"(?P<{name}>{_HOLDS.get(name, '.+?')})" for name in parts[1::2]]
    fixed = [re.escape(part) for part in parts[::2]]
    return "".join(piece for pair in zip(fixed, [*holes, ""], strict=True) for piece in pair)
