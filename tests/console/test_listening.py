"""The socket of the web server."""

import socket

from console.supervisor.listening import listen


def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_head() -> None:
    with listen("127.0.0.1", 0) as server:
        with socket.create_connection(server.getsockname()):
            accepted, _ = server.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
