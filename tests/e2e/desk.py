"""What the browser tests share: requests that wait, and what a page shows of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from reviewhub.reviews.models import ReviewRequest
from tests.driver import AgentHttp, call

Visit = Callable[..., Page]
PATIENCE = 20_000  # milliseconds for a page of a busy machine; what must be quick is measured apart


def ask(agent: AgentHttp, **fields: Any) -> ReviewRequest:
    """A tool call that waits, through the API, with all its events."""
    paused = agent.pause(agent.run(title="Ticket")["id"], call(**fields)).ok()
    return ReviewRequest.objects.get(pk=paused["tool_calls"][0]["request"]["id"])


def is_live(page: Page) -> None:
    expect(page.locator("#live")).to_have_text("Live")


def rows(page: Page) -> Any:
    return page.locator(".list [data-group] .row")


def tab_to(page: Page, text: str) -> None:
    """Goes on by Tab until this control has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        seen = page.evaluate("(document.activeElement.innerText || document.activeElement.name || '').trim()")
        if seen.startswith(text):
            return
    raise AssertionError(f"the keyboard does not reach {text!r}")
