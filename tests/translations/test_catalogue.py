"""Every text that a person sees is in the catalogue, translated, and compiled."""

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from django.template.base import Lexer as TemplateLexer
from django.template.base import TokenType

from console.pages.script_words import script_words
from tests.translations import catalogue
from tests.translations.catalogue import MO, PO, PROJECT

PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd%]|\{\w*\}|</?[a-z]+[^>]*>")
HOW = "run `uv run python -m tests.translations.catalogue`, translate what is empty, run it again"


def _texts() -> list[Message]:
    return [message for message in catalogue.stored() if message.id]


def test_the_catalogue_holds_what_the_sources_say_and_nothing_else() -> None:
    said = {(message.id, message.context) for message in catalogue.collected() if message.id}
    kept = {(message.id, message.context) for message in _texts()}

    assert said - kept == set(), HOW
    assert kept - said == set(), HOW


def test_what_django_reads_was_compiled_from_what_translators_read() -> None:
    assert MO.read_bytes() == catalogue.as_mo(PO.read_bytes()), HOW


def test_nothing_is_left_untranslated_or_uncertain() -> None:
    empty = [text.id for text in _texts() if not all(catalogue.strings(text))]
    uncertain = [text.id for text in _texts() if text.fuzzy]

    assert empty == [], HOW
    assert uncertain == []


def test_a_translation_keeps_every_placeholder_and_tag() -> None:
    torn = [
        (text.id, translated)
        for text in _texts()
        for translated in catalogue.strings(text)
        if set(PLACEHOLDER.findall(translated)) != set(PLACEHOLDER.findall(_widest(text)))
    ]

    assert torn == []


def _widest(text: Message) -> str:
    """Of a text with a plural, the plural: it names the count."""
    return text.id[-1] if isinstance(text.id, tuple) else str(text.id)


def test_scripts_and_the_page_agree_on_the_words() -> None:
    folder = PROJECT / "console/static/console/js"
    sources = "\n".join(path.read_text() for path in sorted(folder.glob("*.js")))

    asked = set(re.findall(r'\bword\("([^"]+)"', sources))
    # A template names these two.
    idle = [name for name in script_words() if f'"{name}"' not in sources]

    assert asked - set(script_words()) == set()
    assert set(idle) <= {"ago", "waiting"}


WORD = re.compile(r"[A-Za-z]{3,}")
SEEN = re.compile(r"""\s(?:title|aria-label|placeholder|alt)=(?:"([^"]*)"|'([^']*)')""")
#: Names, units, and what is typed as it stands.
KEPT = re.compile(
    r"Signalbox|(uv run )?manage\.py[ \w]+|uv run|--\w+|JSON|USD|UTC|doctype html|https?:\S+"
    r"|<code>.*?</code>|\{[^}]*\}+"
)
#: For developers of programs, in English like the API that it describes.
IN_ENGLISH = {PROJECT / "templates/api/docs.html"}


def _templates() -> list[Path]:
    folder = PROJECT / "templates"
    return [path for path in sorted(folder.rglob("*.html")) if path not in IN_ENGLISH]


@pytest.mark.parametrize("path", _templates(), ids=lambda path: path.stem)
def test_no_template_says_anything_that_cannot_be_translated(path: Path) -> None:
    bare = KEPT.sub(" ", _outside_of_tags(path.read_text()))
    seen = [a or b for a, b in SEEN.findall(bare)]
    text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", "\n", bare, flags=re.DOTALL)

    assert [line.strip() for line in [*text.splitlines(), *seen] if WORD.search(line)] == []


def _outside_of_tags(source: str) -> str:
    """Give what a template holds besides tags, variables and what is marked for translation."""
    kept, is_marked, is_class = [], False, False
    for token in TemplateLexer(source).tokenize():
        if token.token_type is TokenType.BLOCK:
            name = token.contents.split()[0]
            is_class = token.contents == "block body_class"
            is_marked = name in {"blocktranslate", "blocktrans"} or (
                is_marked and name not in {"endblocktranslate", "endblocktrans"}
            )
        elif token.token_type is TokenType.TEXT and not is_marked and not is_class:
            kept.append(token.contents)
        elif token.token_type is TokenType.VAR:
            kept.append("·")
    return "".join(kept)
