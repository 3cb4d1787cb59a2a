"""Addresses to listen on: whether one can be had, and which port is free."""

import os
import socket

from console.supervisor.errors import CannotListen


def listen(host: str, port: int) -> socket.socket:
    """Open the socket of a web server.

    Raises:
        CannotListen: Somebody else has the port, or the host is none of ours.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.create_server((host, port), family=family, backlog=1024)
    except socket.gaierror as error:
        raise CannotListen(host, port, "there is no such host") from error
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        raise CannotListen(host, port, os.strerror(number) if number else str(error)) from error
    # Inherited by every connection. asyncio sets it only where the socket was made with the number
    # of its protocol, which this one was not; without it an answer's body waits 40 ms for the
    # other side to acknowledge the head.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def check_free(host: str, port: int) -> None:
    """Make sure that a server could listen here now.

    Raises:
        CannotListen: It could not.
    """
    listen(host, port).close()


def free_port(host: str = "127.0.0.1") -> int:
    """Find a port that nobody has at the moment."""
    with listen(host, 0) as found:
        return int(found.getsockname()[1])


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.create_connection((host, port), timeout=0.2):
            return True
    except OSError:
        return False
