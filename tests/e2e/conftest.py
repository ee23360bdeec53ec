"""A real browser against the real server (HTTP bridge, gates, WebSockets), in this process."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect

from reviewhub.accounts.models import Member
from tests.cast import Cast, make_cast
from tests.driver import AgentHttp, agent_of
from tests.e2e.desk import PATIENCE, Visit
from tests.running import running

# Playwright's loop runs in this thread, so Django takes every ORM call of a test for one in a coroutine.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

expect.set_options(timeout=PATIENCE)

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
    path = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
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


@pytest.fixture
def cast(server: str) -> Cast:
    made = make_cast()
    made.alice.teams.add(made.support)
    return made


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def signed_in(member: Member) -> str:
    """A new session of theirs; how people sign in by a form is in test_door."""
    client = Client()
    client.force_login(member.person)
    return client.session.session_key or ""


@pytest.fixture
def visit(server: str, browser: Browser, settings: Any) -> Iterator[Visit]:
    """Opens a page as a member, in a browser of their own; whatever the browser complains about fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def go(member: Member, path: str, **more: Any) -> Page:
        context = browser.new_context(**more)
        contexts.append(context)
        context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": signed_in(member), "url": server}]
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{server}{path}")
        return page

    yield go
    for context in contexts:
        context.close()
    # A refused answer (409, 422) is logged by the browser as a failed resource; that is the product's own word.
    assert [one for one in complaints if "status of 4" not in one] == []
