"""The console enters the runtime and the memory by their doors only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
CONSOLE = PROJECT / "console"
DOORS = {"runtime.api", "runtime.core", "memory.api"}
# Pages read rows by the thousand: these may see models, and read only.
READERS = {"queries", "admin"}
MODELS = {"runtime.models", "memory.models"}


def _foreign(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in {"runtime", "memory"})


def _module(name: str) -> str:
    return ".".join(name.split(".")[:2])


@pytest.mark.parametrize(
    "path", sorted(CONSOLE.rglob("*.py")), ids=lambda path: str(path.relative_to(CONSOLE))
)
def test_the_console_imports_doors_only(path: Path) -> None:
    is_reader = READERS & {path.stem, *path.relative_to(CONSOLE).parts}
    allowed = DOORS | MODELS if is_reader else DOORS

    assert {_module(name) for name in _foreign(path)} <= allowed
