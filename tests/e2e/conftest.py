"""A real browser against the real server (HTTP bridge, gates, WebSockets), in this process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.running import running

# Playwright's loop runs in this thread, so Django takes every ORM call of a test for one in a coroutine.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's Chromium, silent towards the outside."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not path:
        pytest.exit("no Chromium: apt-get install chromium", returncode=1)
    return {**browser_type_launch_args, "executable_path": path, "args": list(FLAGS)}


@pytest.fixture
def server(transactional_db: None, settings: Any) -> Iterator[str]:
    """The address of the running product; its rows are gone after the test."""
    with running() as address:
        settings.PUBLIC_URL = address
        yield address


@pytest.fixture(scope="session")
def base_url() -> None:
    """pytest-base-url's fixture is not used: the address is known only once a test's server runs."""
