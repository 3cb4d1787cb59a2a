"""What is wrong with a test, as opposed to what goes wrong in it."""

from collections.abc import Iterable


class ScriptError(AssertionError):
    """The test says something that cannot be played; the message says what and how to mend it.

    An `AssertionError`, so that it fails the test wherever it comes up and no retry swallows it.
    """


class UnknownName(ScriptError):
    """A script names a tool the agent does not have."""

    def __init__(self, where: str, name: str, known: Iterable[str]) -> None:
        """Take the argument of `run`, the name in it, and the names it could have had."""
        listed = ", ".join(sorted(known)) or "none"
        super().__init__(f"{where} names {name!r}, which the agent does not know ({listed})")


class NotPlayable(ScriptError):
    """An argument holds something that has no meaning there."""

    def __init__(self, where: str, what: str, wanted: str) -> None:
        """Take the argument of `run`, what stands there, and what could."""
        super().__init__(f"{where} holds {what}; what can be played there is {wanted}")


class Fenced(ScriptError):
    """The books refused a write although nobody else can hold the task: a bug of ours."""

    def __init__(self, what: str) -> None:
        """Take what was refused."""
        super().__init__(f"the books refused {what} although nobody else holds the task")


class NotScripted(ScriptError):
    """The path calls a tool for which the test has no outcome."""

    def __init__(self, tool: str) -> None:
        """Take the tool's name."""
        super().__init__(
            f"the path calls {tool}, and nothing says what comes of it: "
            f"give tools={{{tool!r}: …}} an outcome, or `real` to call it"
        )


class RanDry(ScriptError):
    """A list of outcomes is shorter than the attempts that are made."""

    def __init__(self, tool: str, played: int, attempt: int) -> None:
        """Take the tool, how many outcomes there were, and the attempt that found none."""
        super().__init__(
            f"{tool} is called once more (attempt {attempt} of a call) after its {played} scripted "
            "outcomes: add one, or give a single outcome instead of a list for “every time”"
        )


class NeverEnds(ScriptError):
    """The path goes round in circles."""

    def __init__(self, claims: int, state: str) -> None:
        """Take how often it was taken up and where it is."""
        super().__init__(f"after being taken up {claims} times the task is still {state}")
