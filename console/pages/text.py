"""Foreign text made safe to look at: nothing invisible stays invisible, nothing becomes markup.

Whatever an agent, a tool or a webhook wrote is shown as characters.  Those that hide, reorder or
imitate are shown by their code point; letters of every script, right-to-left ones too, stay as
they are.  Stored text is never changed.
"""

import re
import unicodedata
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

_KEPT_CONTROLS: Final = frozenset("\n\t")
_EMOJI_JOINERS: Final = frozenset("\u200d\ufe0f")
_JOINS_WORDS: Final = frozenset("\u200c\u200d")
#: Wide spaces of East Asian text; every other space but U+0020 imitates one it is not.
_KEPT_SPACES: Final = frozenset(" \u3000")
_SPACES: Final = frozenset({"Zs", "Zl", "Zp"})
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
#: Letters that show nothing (Hangul and Khmer fillers) and the selectors of variants.
_BLANK: Final = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\u034f")
_SELECTORS: Final = re.compile(r"[\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180d\u180f]")
_PLAIN: Final = re.compile(r"[\n\t\x20-\x7e]*")
_WORD: Final = re.compile(r"\w+")
_LOOK_ALIKES: Final = ("CYRILLIC", "GREEK")


def visible(value: object) -> SafeString:
    """Give a text as HTML in which every hidden character is seen by its code point.

    Args:
        value: Text, or anything with one.
    """
    text = str(value)
    if _PLAIN.fullmatch(text):
        return escape(text)
    mixed = _mixed_letters(text)
    return mark_safe("".join(_shown(text, at, mixed) for at in range(len(text))))  # noqa: S308


def plain(value: object) -> str:
    """Give a text without markup in which hidden characters are code points: for titles of tabs."""
    text = str(value)
    return "".join(_code(c) if _is_hidden(text, at) else c for at, c in enumerate(text))


def warnings(text: str) -> list[str]:
    """Say what a reader of a text may be misled by, in sentences; empty for honest text."""
    found = []
    hidden = sorted({_code(c) for at, c in enumerate(text) if _is_hidden(text, at)})
    if hidden:
        said = _("It holds characters that cannot be seen: %(codes)s.")
        found.append(said % {"codes": ", ".join(hidden[:8])})
    words = [word for word in _WORD.findall(text) if _is_mixed(word)]
    if words:
        said = _("Letters of two alphabets look alike in: %(words)s.")
        found.append(said % {"words": ", ".join(words[:4])})
    return found


def _shown(text: str, at: int, mixed: frozenset[int]) -> str:
    char = text[at]
    if _is_hidden(text, at):
        name = unicodedata.name(char, "control or unassigned character").lower()
        return f'<span class="esc" title="{escape(name)}">{_code(char)}</span>'
    if at in mixed:
        title = f"{unicodedata.name(char).lower()} {_code(char)}"
        return f'<span class="mixed" title="{escape(title)}">{escape(char)}</span>'
    return str(escape(char))


def _is_hidden(text: str, at: int) -> bool:
    char = text[at]
    if char.isalnum() and char not in _BLANK:
        return False
    if char in _KEPT_CONTROLS or char in _KEPT_SPACES:
        return False
    if char in _EMOJI_JOINERS and _is_emoji(text[at - 1 : at]):
        return False
    if char in _JOINS_WORDS and _joins(text, at):
        return False
    kind = unicodedata.category(char)
    return kind in _HIDDEN or kind in _SPACES or char in _BLANK or bool(_SELECTORS.match(char))


def _is_emoji(before: str) -> bool:
    return bool(before) and (unicodedata.category(before) in {"So", "Sk"} or before == "\ufe0f")


def _joins(text: str, at: int) -> bool:
    """Tell whether a joiner stands between two letters of a script that writes with them."""
    around = (text[at - 1 : at] if at else "", text[at + 1 : at + 2])
    return all(char and unicodedata.category(char) in {"Lo", "Mn", "Mc"} for char in around)


def _mixed_letters(text: str) -> frozenset[int]:
    return frozenset(
        word.start() + offset
        for word in _WORD.finditer(text)
        if _is_mixed(word[0])
        for offset, char in enumerate(word[0])
        if _is_look_alike(char)
    )


def _is_mixed(word: str) -> bool:
    return any(c.isascii() and c.isalpha() for c in word) and any(map(_is_look_alike, word))


def _is_look_alike(char: str) -> bool:
    return not char.isascii() and unicodedata.name(char, "").startswith(_LOOK_ALIKES)


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"
