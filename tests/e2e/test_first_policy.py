"""As an admin new to it: a tool is gated by amount with two teams, tested, published, held, approved, and told of."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from playwright.sync_api import Page, expect

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.insights.models import Backtest
from reviewhub.insights.work_off import work_off
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, call
from tests.e2e.desk import Visit
from tests.insights.make import recorded

pytestmark = pytest.mark.django_db(transaction=True)
SCHEMA = {"type": "object", "properties": {"amount": {"type": "number"}}}


def approve(page: Page) -> None:
    """What must not run twice is asked once more."""
    page.get_by_role("button", name="Approve").first.click()
    page.locator(".btns--turned").get_by_role("button", name="Approve").click()
    expect(page.locator(".btns--turned")).to_have_count(0)


def test_the_way_of_an_admin_from_a_rule_to_the_record(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": SCHEMA}).ok()
    with transaction.atomic():
        cast.bob.teams.set([cast.support])
        cast.dave.teams.set([cast.finance])
        recorded(Agent.objects.get(), "refund", 20, 600, 700, decided="approve")
        ToolCall.objects.update(created_at=now() - timedelta(hours=3))
    page = visit(cast.alice, "/northwind/policy/edit")
    page.click("text=Add rule")
    page.fill("[name=r0-name]", "Big refunds")
    page.fill("[name=r0-tool]", "refund")
    page.fill("[name=r0-c0-path]", "amount")
    page.select_option("[name=r0-c0-test]", "is_over")
    page.fill("[name=r0-c0-value]", "500")
    page.select_option("[name=r0-team]", label="Support")
    page.locator("#rule-0").get_by_text("A second team, escalation, password…").click()
    page.select_option("[name=r0-s0-team]", label="Finance")
    page.fill("[name=note]", "Two teams look at big refunds")
    page.get_by_role("button", name="Save as draft").click()
    page.wait_for_url("**/policy/draft")
    page.get_by_role("button", name="Run it").click()
    page.wait_for_url("**/policy/draft*")
    work_off(Backtest.objects.get().pk)
    page.goto(page.url)
    expect(page.locator("#backtest tbody")).to_contain_text("Finance")
    page.get_by_role("button", name="Publish v1").click()
    page.wait_for_url("**/northwind/policy")
    paused = agent.pause(agent.run(title="Ticket")["id"], call(arguments={"amount": 900})).ok(201)
    assert paused["tool_calls"][0]["state"] == "waiting"
    row = ReviewRequest.objects.get()
    at = f"/northwind/requests/{row.number}"
    for member, state in ((cast.bob, "pending"), (cast.dave, "approved")):
        approve(visit(member, at))
        row.refresh_from_db()
        assert row.state == state
    page.goto(page.url.split("/northwind")[0] + at)
    page.get_by_role("link", name="Whole story").click()
    page.wait_for_url(f"**/audit/runs/{row.run_id}")
    for words in ("Bob", "Dave", "approved"):
        expect(page.locator("main")).to_contain_text(words)
