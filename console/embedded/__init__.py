"""PostgreSQL and Valkey from wheels, beside the program: a fresh clone needs nothing else.

It is not for production, where `DATABASE_URL` and `VALKEY_URL` name real servers and nothing here
starts. Settings ask for the addresses; commands, tests and drills call `ensure`.
"""

from console.embedded.errors import (
    EmbeddedError,
    FolderRefused,
    NotEmbedded,
    ServerDidNotStart,
)
from console.embedded.places import database_url, valkey_url
from console.embedded.services import Services, ensure

__all__ = [
    "EmbeddedError",
    "FolderRefused",
    "NotEmbedded",
    "ServerDidNotStart",
    "Services",
    "database_url",
    "ensure",
    "valkey_url",
]
