"""A busy port is no reason not to start."""

from __future__ import annotations

import socket

from reviewhub.ops.port import listen


def test_the_next_free_port_is_taken() -> None:
    with listen("127.0.0.1", 0) as first:
        busy = first.getsockname()[1]
        with listen("127.0.0.1", busy) as second:
            assert second.getsockname()[1] != busy
            with socket.create_connection(("127.0.0.1", second.getsockname()[1]), 2):
                pass


def test_a_free_port_is_taken_as_asked() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
    with listen("127.0.0.1", port) as again:
        assert again.getsockname()[1] == port
