"""The database connections of a web process: kept and lent, one to a request at a time.

Opening one costs as much as a small page; hundreds of open pages ask for parts several times a
second. Only the web command asks for it: workers hold theirs anyway.
"""

from typing import Final

from django.db import connections

LEAST: Final = 2
MOST: Final = 16
WAIT_S: Final = 20.0


def keep_connections() -> None:
    """Keep this process's connections; must hold: none of its other threads has opened one."""
    # One that this thread opened while it started is none of the pool's.
    connections.close_all()
    settings = connections.settings["default"]
    # A server that was restarted has ended them all: each is asked before it is lent.
    settings["CONN_HEALTH_CHECKS"] = True
    pool = {"min_size": LEAST, "max_size": MOST, "timeout": WAIT_S}
    settings["OPTIONS"] = {**settings["OPTIONS"], "pool": pool}
