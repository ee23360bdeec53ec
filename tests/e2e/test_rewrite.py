"""A run is rewritten, or forked when it has ended, in the browser: with the keyboard alone and without scripts."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.reviews.models import ReviewRequest
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call
from tests.e2e.desk import Visit, tab_to

pytestmark = pytest.mark.django_db(transaction=True)


def paused(cast: Cast, agent: AgentHttp) -> Any:
    """A run that waits at a mail after its refund ran."""
    agent.put("/tools/refund", {"effect": "once"}).ok(200, 201)
    run = agent.run(title="Ticket")["id"]
    raw = b'{"state":{"amount":1240.00,"api_key":"sk_live_abcdefghijklmnop1234","customer":"Kim"}}'
    saved = agent.post(f"/runs/{run}/checkpoints", raw=raw).ok(201)
    (done,) = agent.pause(run, call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(done, "approve").ok()
    agent.consume(done).ok()
    agent.outcome(done).ok()
    agent.pause(run, call("mail", "c2")).ok(201)
    return saved


def change_the_amount(page: Page) -> None:
    """By the keyboard alone, up to the page that says what it means."""
    page.focus('[name="f:/amount"]')
    page.keyboard.press("Control+A")
    page.keyboard.type("1240.10")
    tab_to(page, "reason")
    page.keyboard.type("The amount was wrong")
    tab_to(page, "Look at what it means")
    page.keyboard.press("Enter")


@pytest.mark.parametrize("script", [True, False])
def test_a_rewrite_from_the_run_to_the_new_branch(
    cast: Cast, agent: AgentHttp, visit: Visit, script: bool
) -> None:
    saved = paused(cast, agent)
    page = visit(
        cast.bob,
        f"/northwind/runs/{saved['run']}?checkpoint={saved['id']}",
        java_script_enabled=script,
    )
    page.click("#in-t a")
    page.wait_for_url(f"**/checkpoints/{saved['id']}")
    page.click("text=Rewrite from here")
    page.wait_for_url("**/rewrite")
    assert "sk_live_abcdefghijklmnop1234" not in page.content()
    change_the_amount(page)
    expect(page.locator("h1")).to_have_text("What this rewrite means")
    expect(page.locator("main")).to_contain_text("Already done, will not be undone")
    expect(page.locator("main")).to_contain_text("1240.00 → 1240.10")
    expect(page.locator("text=Go back")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Rewritten by Bob")
    made = Checkpoint.objects.get(branch__fork_of=saved["id"])
    assert load(made) == ('{"amount":1240.10,"api_key":"sk_live_abcdefghijklmnop1234","customer":"Kim"}')
    assert ReviewRequest.objects.get(tool_name="mail").state == "withdrawn"


@pytest.mark.parametrize("script", [True, False])
def test_an_ended_run_is_forked_with_a_changed_state(
    cast: Cast, agent: AgentHttp, visit: Visit, script: bool
) -> None:
    saved = paused(cast, agent)
    agent.post(f"/runs/{saved['run']}/cancel", {"reason": "wrong"}).ok()
    page = visit(
        cast.bob, f"/northwind/runs/{saved['run']}?checkpoint={saved['id']}", java_script_enabled=script
    )
    page.click("text=Fork with changes")
    page.wait_for_url("**/fork/edit")
    expect(page.locator("main")).to_contain_text("Already done, will not be undone")
    change_the_amount(page)
    expect(page.locator("h1")).to_have_text("What this fork means")
    expect(page.locator("main")).to_contain_text("1240.00 → 1240.10")
    expect(page.locator("text=Go back")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("fork-1")
    made = Checkpoint.objects.get(branch__fork_of=saved["id"])
    assert load(made) == '{"amount":1240.10,"api_key":"sk_live_abcdefghijklmnop1234","customer":"Kim"}'
    assert made.branch.state == "running"


def test_a_phone_shows_the_whole_fork_form_above_its_foot(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    run = agent.run(title="Ticket")["id"]
    agent.pause(run, call()).ok(201)
    page = visit(cast.bob, f"/northwind/runs/{run}", viewport={"width": 390, "height": 844})
    page.click("#state summary:has-text('Fork from here')")
    page.locator("#fr").fill("Another way")
    page.get_by_role("button", name="Fork and run").click()
    page.wait_for_url(lambda address: "checkpoint" in address or "branch" in address)
