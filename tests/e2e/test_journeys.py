"""Ways through the product that need more than one page, with the keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from reviewhub.accounts.models import Member, Team
from tests.cast import Cast
from tests.driver import AgentHttp
from tests.e2e.desk import Visit, ask, is_live, tab_to

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_question_is_answered_while_one_looks(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}")
    page.keyboard.press("q")
    page.wait_for_url("**mode=ask*")
    page.keyboard.type("Which order, a or r?")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#deeds")).to_contain_text("Which order, a or r?")
    is_live(page)
    (question,) = agent.get("/questions").ok()["items"]
    agent.post(f"/questions/{question['id']}/answer", {"text": "The <b>blue</b> one"}).ok()
    expect(page.locator("#deeds")).to_contain_text("The <b>blue</b> one")
    expect(page.locator("#decide-form")).to_be_visible()


def test_an_admin_invites_somebody_and_renames_a_team(cast: Cast, visit: Visit) -> None:
    page = visit(cast.alice, "/northwind/people")
    tab_to(page, "name")
    page.keyboard.type("Erin")
    page.keyboard.press("Tab")
    page.keyboard.type("bob@example.com")
    page.locator("form[action$=invite] [value=manager]").check()
    page.locator("form[action$=invite] [name=teams]").first.check()
    page.keyboard.press("Enter")
    expect(page.locator("[role=alert]")).to_be_focused()
    expect(page.locator("form[action$=invite] [value=manager]")).to_be_checked()
    expect(page.locator("form[action$=invite] [name=teams]").first).to_be_checked()
    page.fill("#i-email", "erin@example.com")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("erin@example.com")
    assert Member.objects.get(person__email="erin@example.com").role == "manager"
    tab_to(page, "Rename")
    page.keyboard.press("Enter")
    tab_to(page, "name")
    page.keyboard.press("Control+A")
    page.keyboard.type("Accounts")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Accounts")
    assert Team.objects.filter(workspace=cast.workspace, name="Accounts").exists()
