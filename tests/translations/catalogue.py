"""The catalogue of what the console says: collected from the sources, compiled for Django.

For developers: `uv run python -m tests.translations.catalogue` after a sentence was added or
changed; then translate what is empty in the .po file and run it once more. No gettext is needed.
"""

import ast
import io
import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

PROJECT: Final = Path(__file__).parents[2]
PO: Final = PROJECT / "console/locale/zh_Hans/LC_MESSAGES/django.po"
MO: Final = PO.with_suffix(".mo")
_KEYWORDS: Final[dict[str, Any]] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
#: Where the runtime words something; it does not translate, so it has a function of its own.
_RUNTIME_KEYWORDS: Final[dict[str, Any]] = {"say": None}
_IDLE: Final = re.compile(
    rb'^"(POT-Creation-Date|PO-Revision-Date|Generated-By|Report-Msgid|Last-Tr|Language-Team)[^\n]*\n',
    re.MULTILINE,
)

#: A compiled catalogue names days; these would differ each time it is compiled.
_ANY_DAY: Final = datetime(2026, 1, 1, tzinfo=UTC)

type Found = tuple[str, str | tuple[str, ...], str | None]


def collected() -> Catalog:
    """Collect every text from the sources."""
    catalog = Catalog(locale="zh_Hans", project="Signalbox", version="1", fuzzy=False)
    catalog.header_comment = "# What the console says, in simplified Chinese."
    for place, text, context in _everything():
        catalog.add(text, locations=[(place, 0)], context=context)
    return catalog


def merged() -> Catalog:
    """Give what the sources say with the translations that are kept."""
    catalog, kept = collected(), stored()
    for message in _messages(catalog):
        before = kept.get(message.id, message.context)
        if before is not None:
            message.string = before.string
    return catalog


def stored() -> Catalog:
    """Read the catalogue as it is kept."""
    with PO.open("rb") as file:
        return read_po(file, locale="zh_Hans")


def as_po(catalog: Catalog) -> bytes:
    """Write a catalogue for translators; the same each time."""
    out = io.BytesIO()
    write_po(out, catalog, width=100, sort_output=True, include_lineno=False, ignore_obsolete=True)
    return _IDLE.sub(b"", out.getvalue())


def as_mo(po: bytes) -> bytes:
    """Compile a catalogue for Django."""
    out, catalog = io.BytesIO(), read_po(io.BytesIO(po), locale="zh_Hans")
    catalog.creation_date = catalog.revision_date = _ANY_DAY
    write_mo(out, catalog)
    return out.getvalue()


def _messages(catalog: Catalog) -> Iterator[Message]:
    return (message for message in catalog if message.id)


def _everything() -> Iterator[Found]:
    for path in _files("console", "*.py"):
        yield from _of_python(path, path.read_bytes(), _KEYWORDS)
    for path in _files("runtime/core", "*.py"):
        yield from _of_python(path, path.read_bytes(), _RUNTIME_KEYWORDS)
    for path in _files("templates", "*.html"):
        # What is no text becomes blanks there; lines that began with some are no indented code.
        source = templatize(path.read_text(), str(path))
        lines = "\n".join(line.lstrip() for line in source.splitlines())
        yield from _of_python(path, lines.encode(), _KEYWORDS)
    yield from _of_errors()


def _of_python(path: Path, source: bytes, keywords: dict[str, Any]) -> Iterator[Found]:
    place = str(path.relative_to(PROJECT))
    for _line, text, _comments, context in extract("python", io.BytesIO(source), keywords):
        yield place, text, context


def _of_errors() -> Iterator[Found]:
    """Refusals carry their sentence as data of their class."""
    for path in sorted((PROJECT / "runtime/core").glob("error*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and _names(node.targets) == ["sentence"]:
                yield str(path.relative_to(PROJECT)), ast.literal_eval(node.value), None


def _names(targets: Iterable[ast.expr]) -> list[str]:
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _files(folder: str, pattern: str) -> list[Path]:
    return sorted((PROJECT / folder).rglob(pattern))


def main() -> None:
    """Bring the kept catalogue up to date and compile it; say what waits for a translation."""
    po = as_po(merged())
    PO.write_bytes(po)
    MO.write_bytes(as_mo(po))
    texts = list(_messages(read_po(io.BytesIO(po), locale="zh_Hans")))
    empty = [text for text in texts if not all(strings(text))]
    print(f"{len(texts)} texts, {len(empty)} without a translation, in {PO}")  # noqa: T201


def strings(message: Message) -> tuple[str, ...]:
    """Give every form of a translation."""
    return message.string if isinstance(message.string, tuple) else (str(message.string),)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    main()
