"""Marks: how a page says which news it has heard, and for how long what was read may be said again.

They are moments of one process, said with all its news and said back by who asks for a part.
"""

import time
from typing import Final
from uuid import uuid4

#: Who asks (`console.live.known`) and what is answered (`console.live.shared`) are kept for so long
#: each, one on top of the other: so rights are looked at anew after a second at most, also where
#: nobody said that they changed.
LONGEST_S: Final = 0.5
_PROCESS: Final = uuid4().hex[:8]


def mark() -> str:
    """Name this moment of this process: said with all news, and said back by who asks for more."""
    return f"{_PROCESS}.{time.monotonic_ns()}"


def heard_in(said: str) -> int | None:
    """Give the moment that a mark of this process names; None for anything else."""
    process, _, heard = said.partition(".")
    return int(heard) if process == _PROCESS and heard.isdecimal() else None
