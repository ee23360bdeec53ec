"""The real server in this process: HTTP bridge, gates and WebSockets on a port of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running() -> Iterator[str]:
    """The address of the running product. The caller's test must commit its rows (`transactional_db`)."""
    import uvicorn
    from django.db import connection

    from reviewhub.asgi import application
    from reviewhub.live.hub import hub

    # Its threads outlive the test; a connection that they kept would be in the way when the test database is dropped.
    kept, connection.settings_dict["CONN_MAX_AGE"] = connection.settings_dict["CONN_MAX_AGE"], 0
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        http="h11",
        ws="websockets-sansio",
        lifespan="on",
        log_config=None,
        # A failing test says what failed, not which pages were read before.
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        hub.close()
        server.should_exit = True
        thread.join(10)
        connection.settings_dict["CONN_MAX_AGE"] = kept
