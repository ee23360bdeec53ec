"""Nothing on any page keeps somebody out: axe (WCAG 2.2 A and AA) finds nothing, in light, in dark and on a phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.db import transaction
from django.test import Client
from playwright.sync_api import Page

from reviewhub.accounts.models import Member
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp
from tests.e2e.desk import Visit, ask
from tests.web.conftest import one_of_each
from tests.web.make import waiting
from tests.web.test_access import PAGES, address

pytestmark = pytest.mark.django_db(transaction=True)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Colours are all that dark changes; what a page is made of was looked at in light.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
TOUCH = {"runOnly": {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]}}
EVERYTHING = {"runOnly": {"type": "tag", "values": TAGS}}
PHONE = {"width": 390, "height": 844}
HOSTILE = (
    '{"amount":"1e400","order_id":"<script>alert(1)</script>\\u202e\\u0430pple","note":"'
    + "long " * 400
    + '"}'
)


def fill(cast: Cast, agent: AgentHttp) -> dict[str, Any]:
    """Pages with something on them: what waits, what is late, what was decided, what is hostile."""
    with transaction.atomic():
        ids = one_of_each(cast)
    waiting(cast.support, arguments=HOSTILE, risk="critical", seconds=30)
    waiting(cast.support, risk="low", seconds=-5, approvals=2)
    decided = ask(agent)
    rejection = {"type": "reject", "version": 1, "digest": decided.digest, "message": "Not now."}
    PersonHttp(cast.bob).post(f"/requests/{decided.pk}/decide", rejection).ok()
    return {**ids, "decided": decided.number}


def whole_pages(member: Member, ids: dict[str, Any]) -> list[str]:
    """The addresses at which this member gets a page of its own, and not a part of one or a file."""
    client = Client()
    client.force_login(member.person)
    found = [f"/northwind/requests/{ids['decided']}", "/account", "/northwind/queue?q=nothing-is-called-that"]
    for path, (method, _) in PAGES.items():
        where = address(path, ids)
        if method == "get" and is_whole(client.get(where)):
            found.append(where)
    return found


def is_whole(answer: Any) -> bool:
    is_page = answer.status_code == 200 and answer.get("Content-Type", "").startswith("text/html")
    return is_page and b"<!doctype html>" in b"".join(answer).lower()


def complaints(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe says, a line for each place."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(AXE_SCRIPT)
    # Nothing of what is looked for here needs the style sheets as text, which axe would fetch each time.
    asked = {**options, "resultTypes": ["violations"], "preload": False}
    found = page.evaluate("options => axe.run(options)", asked)["violations"]
    return [
        f"{page.url} {one['id']}: {one['help']}: {node['html'][:160]} {(node.get('failureSummary') or '')[-160:]}"
        for one in found
        for node in one["nodes"]
    ]


def test_axe_finds_nothing(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    """On what an admin sees; and on what a reviewer alone sees, or has forms on that the admin has not."""
    ids = fill(cast, agent)
    for_alice, for_bob = whole_pages(cast.alice, ids), whole_pages(cast.bob, ids)
    for_bob = [one for one in for_bob if one not in for_alice or "/requests/" in one]
    assert len(for_alice) > 10 and len(for_bob) > 2
    found = [*on_all(visit(cast.alice, "/account"), for_alice), *on_all(visit(cast.bob, "/account"), for_bob)]
    assert not found, "\n".join(found)


def on_all(page: Page, places: list[str]) -> list[str]:
    """What axe says of these pages, and which of them are too wide for a phone."""
    origin = page.url.removesuffix("/account")
    found = []
    for place in places:
        page.set_viewport_size({"width": 1280, "height": 800})
        # What changes its colour slowly has neither the old nor the new one while axe looks.
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(f"{origin}{place}")
        found += complaints(page, EVERYTHING)
        page.emulate_media(color_scheme="dark")
        found += complaints(page, COLOURS)
        page.set_viewport_size(PHONE)
        found += complaints(page, TOUCH)
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            found.append(f"{place} is {wider} px wider than a phone")
    return found


def test_axe_finds_nothing_at_the_door(server: str, visit: Visit, cast: Cast) -> None:
    page = visit(cast.alice, "/account")
    page.context.clear_cookies()
    page.goto(f"{server}/signin")
    assert not complaints(page, EVERYTHING)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert not complaints(page, COLOURS)
