"""Doing several things at the same moment, each in a thread with its own connection."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Runs all `acts` at once; each one's result, or the exception that it raised, in the order of `acts`."""
    gate = threading.Barrier(len(acts), timeout=30)
    results: list[Any] = [None] * len(acts)

    def run(place: int, act: Callable[[], Any]) -> None:
        try:
            gate.wait()
            results[place] = act()
        except Exception as error:  # noqa: BLE001 - the test looks at what was raised
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place, act)) for place, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "one of the acts hangs"
    return results
