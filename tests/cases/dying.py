"""A process that does one act through the API and dies by SIGKILL at a chosen boundary between its parts.

Boundaries are before every statement inside a transaction, and before and after its commit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection, connections
from django.urls import get_resolver

from tests.driver import AgentHttp

# Loaded here, once, in the server that forks; otherwise each process would load all views for its one request.
assert get_resolver().url_patterns
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["pytest", "tests.chaos.stage", __name__])
ROOT = Path(__file__).resolve().parent.parent.parent
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "agents")])


def dies_at(boundary: int, *, token: str, path: str, body: Any, key: str) -> bool:
    """POSTs as an agent, in a process of its own; whether it was killed, which it is not behind the last boundary."""
    name = str(connection.settings_dict["NAME"])
    process = _server.Process(target=_main, args=(name, boundary, token, path, body, key), daemon=True)
    process.start()
    process.join(60)
    assert process.exitcode in {0, -signal.SIGKILL}, process.exitcode
    _until_its_server_side_is_gone()
    return process.exitcode != 0


def _main(database: str, boundary: int, token: str, path: str, body: Any, key: str) -> None:
    connections["default"].settings_dict["NAME"] = database
    die = _killer(boundary)

    def around(execute: Callable[..., Any], *args: Any) -> Any:
        if connection.in_atomic_block:
            die()
        return execute(*args)

    def commit() -> None:
        die()
        plain_commit()
        die()

    plain_commit = connection._commit
    connection._commit = commit  # type: ignore[method-assign]
    with connection.execute_wrapper(around):
        AgentHttp(token=token).post(path, body, key=key).ok()


def _killer(boundary: int) -> Callable[[], None]:
    passed = 0

    def die() -> None:
        nonlocal passed
        passed += 1
        if passed == boundary:
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def _until_its_server_side_is_gone() -> None:
    """PostgreSQL takes a moment to see that a client is dead; SQLite has nobody who would."""
    if connection.vendor == "sqlite":
        return
    others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    for _ in range(1500):
        with connection.cursor() as cursor:
            cursor.execute(others)
            if cursor.fetchone()[0] == 0:
                return
        time.sleep(0.02)
    raise AssertionError("the server still works for a client that is dead")
