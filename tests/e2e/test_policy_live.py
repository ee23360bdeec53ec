"""An open page of a request learns of a policy that is published."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp
from tests.e2e.desk import PATIENCE, Visit, ask, is_live

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"width": 390, "height": 844}


def published(cast: Cast, **rule: str) -> None:
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps({"rules": [rule]}),
        note="why",
        base=PolicyVersion.objects.filter(workspace=cast.workspace).count(),
        actor=ALICE,
    )


def test_an_open_page_says_when_policy_denies_the_call_by_now_and_when_it_no_longer_does(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    here = f"/northwind/requests/{row.number}"
    desk, phone = visit(cast.bob, here), visit(cast.bob, here, viewport=PHONE)
    for page in (desk, phone):
        is_live(page)
        page.evaluate("window.stayed = true")
    desk.focus("#cm")
    published(cast, name="No refunds", tool="refund", action="deny")
    for page in (desk, phone):
        expect(page.locator("#denied")).to_contain_text("denies this call by now", timeout=PATIENCE)
        expect(page.locator("#answer button[type=submit]")).to_have_count(0)
    expect(desk.locator("#cm")).to_be_focused()
    expect(phone.locator("#act-m")).not_to_contain_text("Approve")
    published(cast, name="Refunds", tool="refund", action="require")
    for page in (desk, phone):
        expect(page.locator("#denied")).to_have_count(0, timeout=PATIENCE)
        expect(page.locator("#answer button[type=submit]")).to_have_count(1)
        assert page.evaluate("window.stayed") is True
    expect(phone.locator("#act-m")).to_contain_text("Approve")


def test_what_was_typed_stays_when_policy_denies_the_call(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    is_live(page)
    page.fill("#n1", "Ask sales first.")
    published(cast, name="No refunds", tool="refund", action="deny")
    expect(page.locator("#denied")).to_be_visible(timeout=PATIENCE)
    expect(page.locator("#n1")).to_have_value("Ask sales first.")
