"""What is said on the channel layer, besides the runtime's hints."""

import hashlib
from typing import Final

#: Somebody signed out or lost a right: their sockets close with this code.
GONE: Final = "people.gone"
#: A reader talks to itself to learn whether the layer still carries anything.
PING: Final = "reader.ping"

#: What a page that asks for a part has heard last; see `console.live.marks`.
MARK_HEADER: Final = b"signalbox-mark"

SIGNED_OUT: Final = 4401
NOT_ALLOWED: Final = 4403
MALFORMED: Final = 4400


def session_mark(session_key: str | None) -> str:
    """Name a session without giving it away: its key opens the account."""
    return hashlib.sha256(f"live:{session_key or ''}".encode()).hexdigest()[:32]
