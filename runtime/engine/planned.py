"""The calls of a stored plan, each read only when it is asked for."""

from collections.abc import Sequence
from typing import Any, overload

from runtime.core import commands as c
from runtime.core.effects import Effect


class Planned(Sequence[c.Decided]):
    """The calls of a stored plan, each read when asked for: a commit needs one of thousands."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self._calls = calls

    @overload
    def __getitem__(self, index: int) -> c.Decided: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[c.Decided]: ...
    def __getitem__(self, index: int | slice) -> c.Decided | Sequence[c.Decided]:
        if isinstance(index, slice):
            return Planned(self._calls[index])
        call = self._calls[index]
        return c.Decided(
            tool=call["tool"],
            effect=Effect(call["effect"]),
            digest=call["digest"],
            arguments=call["arguments"],
            operation_id=call.get("operation_id"),
        )

    def __len__(self) -> int:
        return len(self._calls)
