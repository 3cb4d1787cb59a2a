"""The faults a test has ordered: which call meets which one, how often, by which chance.

Pure bookkeeping in memory: it decides, and `server.py` carries out. Counts are exact and a
probability draws from a generator with a seed, so that a run can be repeated.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What goes wrong."""

    SLOW = "slow"  #: answers after `seconds`
    DRIP = "drip"  #: answers one byte each `seconds`
    FAIL = "fail"  #: answers `status` (500) and does nothing
    LOSE_ANSWER = "lose_answer"  #: does the work, then closes the connection without an answer
    REFUSE = "refuse"  #: answers `status` (422) and does nothing
    RATE_LIMIT = "rate_limit"  #: answers 429 with Retry-After and does nothing
    HANG = "hang"  #: does nothing and never answers
    HOLD = "hold"  #: does the work and withholds the answer until it is released


#: What a kind has unless the order says otherwise.
_DEFAULTS: dict[Kind, dict[str, Any]] = {
    Kind.SLOW: {"seconds": 1.0},
    Kind.DRIP: {"seconds": 0.1},
    Kind.FAIL: {"status": 500},
    Kind.REFUSE: {"status": 422},
    Kind.RATE_LIMIT: {"status": 429},
    Kind.HOLD: {"after_commit": True},
}
_NUMBER = (int, float)
_FIELDS: dict[str, tuple[type, ...]] = {
    "path": (str,),
    "kind": (str,),
    "method": (str,),
    "operation_id": (str,),
    "count": (int,),
    "skip": (int,),
    "probability": _NUMBER,
    "seed": (int,),
    "seconds": _NUMBER,
    "status": (int,),
    "retry_after": (str, int),
    "retry_after_date_s": _NUMBER,
    "after_commit": (bool,),
}


class FaultRefusedError(ValueError):
    """The order for a fault makes no sense; the message says why."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """One ordered fault, and how often it has struck."""

    id: int
    kind: Kind
    path: str = "/"  #: a prefix of the paths it is for
    method: str | None = None
    operation_id: str | None = None
    count: int | None = None  #: how often it strikes; None: for ever
    skip: int = 0  #: calls that pass before the first strike
    probability: float = 1.0
    seed: int = 0
    seconds: float = 0.0
    status: int = 500
    retry_after: str | int | None = None  #: sent as it is, also when it is junk
    retry_after_date_s: float | None = None  #: sent as an HTTP-date so many seconds ahead
    after_commit: bool = False  #: whether `slow` and `hold` strike after the work is done
    fired: int = 0
    dice: random.Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Give it a generator of its own, so that faults do not disturb each other's chances."""
        self.dice = random.Random(self.seed)

    def meets(self, method: str, path: str, operation_id: str | None) -> bool:
        """Tell whether a call is one of those this fault is for."""
        return (
            path.startswith(self.path)
            and self.method in {None, method}
            and self.operation_id in {None, operation_id}
        )

    def strikes(self) -> bool:
        """Decide about one call it is for, and count."""
        if self.count is not None and self.fired >= self.count:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.probability < 1 and self.dice.random() >= self.probability:
            return False
        self.fired += 1
        return True

    def as_json(self) -> dict[str, object]:
        """Show it to whoever ordered it."""
        names = ("id", "path", "method", "operation_id", "count", "skip", "probability", "fired")
        return {"kind": self.kind.value, **{name: getattr(self, name) for name in names}}


def parse_fault(number: int, order: Mapping[str, object]) -> Fault:
    """Read an order for a fault.

    Args:
        number: the id it gets.
        order: `kind` and any other field of `Fault`; null is as good as left out.

    Raises:
        FaultRefusedError: a field is unknown or has a value that makes no sense.
    """
    fields: dict[str, Any] = {name: value for name, value in order.items() if value is not None}
    for name, value in fields.items():
        _check_field(name, value)
    try:
        kind = Kind(fields.pop("kind", ""))
    except ValueError:
        message = f"the kind of a fault is one of {', '.join(Kind)}"
        raise FaultRefusedError(message) from None
    fault = Fault(id=number, kind=kind, **(_DEFAULTS.get(kind, {}) | fields))
    numbers = (fault.count or 0, fault.skip, fault.seconds, fault.probability)
    if min(numbers) < 0 or fault.probability > 1 or fault.status not in range(400, 600):
        message = "a fault has no negative numbers, a probability up to 1, a status from 400 to 599"
        raise FaultRefusedError(message)
    return fault


def _check_field(name: str, value: object) -> None:
    if name not in _FIELDS:
        message = f"a fault has no field {name!r}"
        raise FaultRefusedError(message)
    types = _FIELDS[name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        message = f"the field {name!r} of a fault cannot be {value!r}"
        raise FaultRefusedError(message)
    if name == "retry_after" and not (str(value).isascii() and str(value).isprintable()):
        message = "the field 'retry_after' of a fault is one line of ASCII"
        raise FaultRefusedError(message)


class FaultBook:
    """The faults in force, in the order in which they were ordered."""

    def __init__(self) -> None:
        """Start with none."""
        self.faults: list[Fault] = []
        self._last_id = 0

    def add(self, order: Mapping[str, object]) -> Fault:
        """Take an order; raises `FaultRefusedError` where it makes no sense."""
        fault = parse_fault(self._last_id + 1, order)
        self._last_id = fault.id
        self.faults.append(fault)
        return fault

    def draw(self, method: str, path: str, operation_id: str | None) -> Fault | None:
        """Return the fault that strikes this call, if one does, and count it."""
        for fault in self.faults:
            if fault.meets(method, path, operation_id) and fault.strikes():
                return fault
        return None

    def clear(self) -> int:
        """Withdraw all faults; returns how many there were."""
        number = len(self.faults)
        self.faults.clear()
        return number
