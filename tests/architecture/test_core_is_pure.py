"""The core sees no clock, no dice, no environment and no world: its imports are listed, one by one.

import-linter guards the third-party packages; it cannot see inside the standard library.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / "runtime" / "core"
DATA_MODULES = {
    "__future__",
    "base64",
    "binascii",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "email",  # reads the dates of HTTP
    "enum",
    "fractions",
    "functools",
    "graphlib",
    "hashlib",
    "heapq",
    "hmac",
    "inspect",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "math",
    "numbers",
    "operator",
    "pathlib",
    "re",
    "reprlib",
    "string",
    "struct",
    "textwrap",
    "types",
    "typing",
    "unicodedata",
    "urllib",  # takes addresses apart
    "uuid",
}
PACKAGES = {"pydantic", "pydantic_core", "rfc8785", "runtime"}
# Modules that carry data and also reach outside: these of their names do.
IMPURE_NAMES = {"now", "today", "utcnow", "uuid1", "uuid4", "getnode", "cwd", "home", "urlopen"}
IMPURE_CALLS = {"open", "input", "print", "exec", "eval", "__import__"}

MODULES = sorted(CORE.rglob("*.py"))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


def _impure(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in IMPURE_NAMES and _is_type(node.value):
            yield f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.ImportFrom) and node.module == "uuid":
            names = {alias.name for alias in node.names} & IMPURE_NAMES
            yield from (f"line {node.lineno}: uuid.{name}" for name in names)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in IMPURE_CALLS:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _is_type(node: ast.expr) -> bool:
    names = {"datetime", "date", "uuid", "Path", "dt"}
    return ast.unparse(node).rpartition(".")[2] in names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CORE)))
def test_core_imports_data_modules_only(path: Path) -> None:
    found = {name.partition(".")[0] for name in _imports(ast.parse(path.read_text()))}

    assert found <= DATA_MODULES | PACKAGES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(CORE)))
def test_core_asks_no_clock_and_touches_no_file(path: Path) -> None:
    """Time and chance are arguments, so that a history folds to the same checkpoint for ever."""
    assert list(_impure(ast.parse(path.read_text()))) == []


def test_the_list_of_data_modules_holds_nothing_else() -> None:
    assert not DATA_MODULES - set(sys.stdlib_module_names)
    assert not DATA_MODULES & {"time", "random", "secrets", "os", "io", "logging", "socket"}
