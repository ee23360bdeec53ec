"""A worker process that asks a webhook and is killed with SIGKILL while it waits for the answer."""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection, connections

from reviewhub.gates.verify import verify
from reviewhub.verdicts import address
from reviewhub.verdicts.webhooks import Webhook
from tests.cases.dying import ROOT

_server = multiprocessing.get_context("forkserver")
assert str(ROOT) in os.environ["PYTHONPATH"]


def killed(verdict_id: uuid.UUID, hook: dict[str, Any], *, until: Callable[[], bool]) -> None:
    """Asks, and is gone as soon as `until` says that the question has arrived."""
    name = str(connection.settings_dict["NAME"])
    process = _server.Process(target=_main, args=(name, verdict_id, hook), daemon=True)
    process.start()
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end and process.is_alive(), process.exitcode
        time.sleep(0.02)
    process.kill()
    process.join(10)


def _main(database: str, verdict_id: uuid.UUID, hook: dict[str, Any]) -> None:
    connections["default"].settings_dict["NAME"] = database
    settings.VERIFIERS = (Webhook.model_validate(hook),)
    address.socket.getaddrinfo = here  # type: ignore[assignment]
    verify(verdict_id=verdict_id)


def here(host: str, port: int, *args: Any, **more: Any) -> list[Any]:
    """Every name leads to this machine."""
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
