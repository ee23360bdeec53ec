"""The policy editor in a browser: a new rule is gone to, and a draft is not lost by a slip."""

from __future__ import annotations

import pytest
from playwright.sync_api import Dialog, expect

from tests.cast import Cast
from tests.e2e.desk import Visit

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_draft_is_not_lost_without_a_question(cast: Cast, visit: Visit) -> None:
    page = visit(cast.alice, "/northwind/policy/edit")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.click("text=Discard")
    page.wait_for_url("**/northwind/policy")
    assert asked == [], "nothing was written"
    page.goto(page.url + "/edit")
    page.click("text=Add rule")
    expect(page.locator("[name=r0-name]")).to_be_focused()
    page.keyboard.type("Refunds")
    page.click("text=Discard")
    assert asked == ["beforeunload"]
    page.fill("[name=r0-tool]", "refund")
    page.fill("[name=note]", "The first rule")
    page.click("text=Publish v1")
    page.wait_for_url("**/northwind/policy")
    assert asked == ["beforeunload"], "sending it is no slip"
