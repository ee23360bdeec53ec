"""When the web process answers: what the address is printed for."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable

TRY_AGAIN = 0.5
LONGEST = 30.0


def when_it_answers(host: str, port: int, then: Callable[[], None]) -> None:
    """Calls `then` once, from a thread of its own, as soon as `/healthz` answers."""
    threading.Thread(target=_wait, args=(_reachable(host), port, then), name="answers", daemon=True).start()


def _wait(host: str, port: int, then: Callable[[], None]) -> None:
    while not _answers(host, port):
        time.sleep(TRY_AGAIN)
    then()


def _answers(host: str, port: int) -> bool:
    # The supervisor's socket listens already: the request waits in it until the web process takes it up.
    connection = http.client.HTTPConnection(host, port, timeout=LONGEST)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _reachable(host: str) -> str:
    """An address that leads to a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # no binding here
