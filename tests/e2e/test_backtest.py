"""What a backtest found is read on a phone without moving sideways, whatever teams, tools and rules are called."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from playwright.sync_api import Page

from reviewhub.accounts.models import Team
from reviewhub.insights.models import Backtest
from reviewhub.insights.start_backtest import start_backtest
from reviewhub.insights.work_off import work_off
from reviewhub.policies.models import PolicyDraft
from reviewhub.tools.models import Tool
from tests.cast import ALICE, Cast, make_test_agent
from tests.e2e.desk import Visit
from tests.e2e.test_hostile import too_wide
from tests.insights.make import draft_of, known_tools, recorded

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = {
    "plain": "Finance",
    "huge": "W" * 200,
    "hostile": "<b>\u202eteam\u0430</b> " + "\u0301" * 20 + "long " * 20,
}
PHONE = {"width": 390, "height": 844}


def with_backtest(cast: Cast, name: str) -> None:
    """A draft whose backtest has something under each heading."""
    with transaction.atomic():
        team = Team.objects.filter(workspace=cast.workspace, name=name).first()
        team = team or Team.objects.create(workspace=cast.workspace, name=name)
        agent = make_test_agent(cast.support)[0]
        known_tools(agent, "refund", "mail", "letter")
        Tool.objects.update(schema="{}")
        if name != "none":
            recorded(agent, "refund", *range(120), decided="approve")
            recorded(agent, "mail", 5, 6, decided="reject")
            recorded(agent, "letter", 1, 2, 3)
        rules: list[dict[str, Any]] = [
            {"name": "R" * 150, "tool": "refund", "action": "require", "team": name, "approvals": 3},
            {"name": "Mail", "tool": "mail", "action": "allow"},
            {"name": f"Letters {name[:100]}", "tool": "letter", "action": "deny",
             "when": [{"path": "p" * 150, "test": "is_over", "value": 1}]},
        ]  # fmt: skip
        draft = draft_of(cast, json.dumps({"rules": rules}))
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=30, actor=ALICE)
    work_off(test.pk)
    assert Backtest.objects.get().state == "done" and PolicyDraft.objects.count() == 1


def cut_off(page: Page) -> Any:
    """What of the backtest stands outside of its box, to the right."""
    return page.evaluate(
        """() => [...document.querySelectorAll('#backtest .scroll-x')]
            .filter((e) => e.scrollWidth > e.clientWidth).map((e) => [e.scrollWidth, e.clientWidth])"""
    )


@pytest.mark.parametrize("name", ["none", *NAMES])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_backtest_is_read_on_a_phone(cast: Cast, visit: Visit, name: str, scheme: Any) -> None:
    with_backtest(cast, NAMES.get(name, name))
    page = visit(cast.alice, "/northwind/policy/draft", viewport=PHONE, color_scheme=scheme)
    for bunch in page.locator("#backtest details").all():
        bunch.locator("summary").click()
    if shots := os.environ.get("SHOTS"):
        for at, part in enumerate(("#backtest", "#backtest tbody", "#backtest details")):
            if found := page.locator(part).all():
                found[0].evaluate("(e) => e.scrollIntoView()")
                page.screenshot(path=Path(shots) / f"{name}-{scheme}-{at}.png")
    assert cut_off(page) == [] and too_wide(page) is None
    if name != "none":
        row = page.locator("#backtest tbody tr").first
        for label in ("Approvals, now", "By the draft", "Seconds each", "Extra minutes"):
            assert label in row.locator(f"[data-label='{label}']").evaluate(
                "(e) => getComputedStyle(e, '::before').content"
            )
