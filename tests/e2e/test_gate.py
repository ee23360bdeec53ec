"""A new admin gates a tool by amount with two teams, from the first rule to the story in the audit log."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reviewhub.insights.models import Backtest
from reviewhub.insights.work_off import work_off
from tests.cast import Cast
from tests.driver import AgentHttp, call, policy
from tests.e2e.desk import Visit

pytestmark = pytest.mark.django_db(transaction=True)
REFUND = "payments.refund"
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}, "amount": {"type": "number"}}}


def refund(agent: AgentHttp, amount: int) -> tuple[str, Any]:
    """A run with one refund: its id, and the call."""
    run = agent.run(title=f"Refund of {amount}")["id"]
    asked = call(tool=REFUND, arguments={"order": "8812", "amount": amount})
    (made,) = agent.pause(run, asked).ok(201)["tool_calls"]
    return run, made


def write_the_rule(page: Page) -> None:
    """Adds the rule, heeds the warning that another one hides it, and saves a draft."""
    page.click("text=Add rule")
    page.fill("[name=r1-name]", "Big refunds")
    page.fill("[name=r1-tool]", REFUND)
    page.fill("[name=r1-c0-path]", "amount")
    page.select_option("[name=r1-c0-test]", label="is over")
    page.fill("[name=r1-c0-value]", "500")
    page.select_option("[name=r1-action]", label="Ask for approval")
    page.select_option("[name=r1-team]", label="Support")
    page.locator("#rule-1").get_by_text("A second team").click()
    page.select_option("[name=r1-s0-team]", label="Finance")
    page.click("text=Check the draft")
    expect(page.locator("main")).to_contain_text("Rule 1, Refunds, lets those calls run first; move")
    page.get_by_role("button", name="Move Big refunds up").click()
    expect(page.locator("#rule-0")).to_contain_text("Big refunds")
    page.click("text=Check the draft")
    expect(page.locator("#checked")).to_contain_text("Nothing is wrong with it. It can be published.")
    page.fill("[name=note]", "Over 500 both teams")
    page.click("text=Save as draft")
    page.wait_for_url("**/policy/draft")


def test_a_tool_is_gated_by_amount_with_two_teams(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    agent.put(f"/tools/{REFUND}", {"effect": "once", "schema": SCHEMA}).ok()
    policy(cast.support, {"name": "Refunds", "tool": REFUND, "action": "allow"})
    assert [refund(agent, amount)[1]["state"] for amount in (20, 300, 900)] == ["allowed"] * 3
    page = visit(cast.alice, "/northwind/policy")
    page.click("text=Edit")
    write_the_rule(page)
    page.click("text=Run it")
    page.wait_for_url("**/draft#backtest")
    while work_off(Backtest.objects.get().pk):
        pass
    expect(page.locator("#backtest")).to_contain_text("would wait 1 of")
    page.click("#backtest summary")
    expect(page.locator("#backtest")).to_contain_text("1 approval from Support, then 1 approval from Finance")
    page.click("text=Publish v2")
    page.wait_for_url("**/northwind/policy")
    expect(page.locator("#rule-1")).to_contain_text("1 from Support, then 1 from Finance")

    assert refund(agent, 500)[1]["state"] == "allowed"
    run, held = refund(agent, 501)
    assert held["state"] == "waiting"
    path = f"/northwind/requests/{held['request']['number']}"
    bob, dave = visit(cast.bob, path), visit(cast.dave, path)
    expect(dave.locator("#decide")).to_contain_text("Support has to approve before you are asked.")
    approve(bob)
    approve(dave)  # whose page learned meanwhile that it is his turn
    agent.consume(held).ok()
    agent.outcome(held, result={"paid": True}).ok()

    page.goto(page.url.replace("/policy", "/audit"))
    expect(page.locator("main")).to_contain_text("Alice published policy v2: Over 500 both teams")
    page.goto(f"{page.url}/runs/{run}")
    for line in (
        "1 waiting",
        "Bob voted to approve #1",
        "#1 was put to Finance",
        "Dave voted to approve #1",
        "started",
    ):
        expect(page.locator("main")).to_contain_text(line)


def approve(page: Page) -> None:
    """It must not run twice, so the page asks once more."""
    page.locator("#decide-form .btn--ok").click()
    page.locator("#decide-form .btns--turned .btn--ok").click()
    expect(page.locator("#votes")).to_contain_text("approved")
