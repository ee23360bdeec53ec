"""The address to listen on."""

from __future__ import annotations

import errno
import socket

TRIES = 20


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on `port`, or on the next free one of the following, or on any.

    The supervisor keeps it open: while the web process is started anew, visitors wait instead of being refused.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [*range(port, min(port + TRIES, 65536)), 0] if port else [0]:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(2048)
        except OSError as error:
            listener.close()
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
        else:
            return listener
    raise OSError(errno.EADDRINUSE, "no free port")
