"""The page for authors says nothing that does not run."""

import re
from pathlib import Path
from typing import Any

import pytest

from runtime.core.effects import Effect
from runtime.testing import Path as TaskPath
from runtime.testing import run
from runtime.tools.agents import registry

PAGE = Path(__file__).resolve().parents[3] / "docs" / "writing-agents.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> dict[str, Any]:
    """Run all examples of the page, one after the other, as one module."""
    text = PAGE.read_text()
    module: dict[str, Any] = {"__name__": "page"}
    with registry.separate():
        for found in BLOCK.finditer(text):
            # So that a failure names the line of the page.
            padding = "\n" * text[: found.start(1)].count("\n")
            exec(compile(padding + found.group(1), str(PAGE), "exec"), module)  # noqa: S102
    return module


MODULE = examples()
TESTS = sorted(name for name in MODULE if name.startswith("test_"))


def test_the_page_has_tests() -> None:
    assert len(TESTS) == 4


@pytest.mark.parametrize("name", TESTS)
def test_an_example_holds(name: str) -> None:
    MODULE[name]()


def test_the_page_names_every_effect_class() -> None:
    text = PAGE.read_text()

    assert all(f"| `{effect}` |" in text for effect in Effect)


def test_the_agent_of_the_page_comes_to_its_end() -> None:
    path = run(MODULE["refunds"], {"order_id": "A1"}, tools=MODULE["TOOLS"])

    assert isinstance(path, TaskPath)
    assert path.result == {"refunded": 4_000}
