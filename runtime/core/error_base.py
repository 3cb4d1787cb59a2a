"""The root of all errors and what authors of tools raise; the tree is in `runtime.core.errors`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from runtime.core.error_text import shown


class SignalboxError(Exception):
    """Root of the tree. Fields of a subclass are named in its `sentence`."""

    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False
    code: ClassVar[str] = "error"
    sentence: ClassVar[str] = ""

    def __str__(self) -> str:
        if not self.sentence:
            return super().__str__()
        return self.sentence.format_map({name: shown(value) for name, value in vars(self).items()})

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by data, so that keyword arguments and subclasses with constructors survive."""
        return _rebuilt, (type(self), self.args, dict(vars(self)))


def _rebuilt(
    kind: type[SignalboxError], args: tuple[Any, ...], data: dict[str, Any]
) -> SignalboxError:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(data)
    return error


@dataclass(eq=False)
class ToolError(SignalboxError):
    """What the author of a tool raises to say how a call ended."""

    message: str = ""

    code = "tool_error"

    def __str__(self) -> str:
        return self.message or self.code.replace("_", " ")


@dataclass(eq=False)
class Retryable(ToolError):
    """The call did not succeed and may be tried again; from a `once` tool: nothing was sent."""

    after_s: float | None = None
    """Seconds the downstream asked us to wait."""

    retryable = True
    code = "retryable"


class Permanent(ToolError):
    """The call failed, had no effect, and would fail again."""

    code = "permanent"


class Ambiguous(ToolError):
    """Nobody knows whether the call took effect: a time-out, a lost connection, no clear answer."""

    code = "ambiguous"
