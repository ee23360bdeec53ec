"""Limits on the policy page and in its editor."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from tests.cast import ALICE, Cast
from tests.driver import agent_of, call

As = Callable[[Member], Client]
HERE = "/northwind/policy"
FORM = {
    "base": "0", "count": "0", "gcount": "0", "lcount": "1", "wcount": "1", "note": "not too much", "l0-name": "Money",
    "l0-tool": "pay.*", "l0-per": "all", "l0-window": "1 d", "l0-sum_of": "amount", "l0-most": "99.50",
    "l0-then": "require", "l0-team": "Finance", "l0-approvals": "2", "w0-name": "Few", "w0-most": "20",
}  # fmt: skip


@pytest.mark.django_db
def test_written_shown_changed_and_kept_by_who_edits_rules(cast: Cast, as_: As) -> None:
    alice = as_(cast.alice)
    page = unescape(alice.post(f"{HERE}/edit", {**FORM, "do": "ladd"}).content.decode())
    assert 'name="lcount" value="2"' in page
    assert 'value="99.50"' in page
    page = alice.post(f"{HERE}/edit", {**FORM, "do": "wremove-0"}).content.decode()
    assert 'name="wcount" value="0"' in page
    wrong = unescape(alice.post(f"{HERE}/publish", {**FORM, "l0-most": "much"}).content.decode())
    assert "Limit 1 (Money), most: Write a number such as 500 or 99.50." in wrong
    assert not PolicyVersion.objects.exists()
    assert alice.post(f"{HERE}/publish", FORM).status_code == 302
    limit, few = (json.loads(PolicyVersion.objects.get().rules)[name][0] for name in ("limits", "waiting"))
    assert (limit["most"], limit["window_seconds"], few) == ("99.50", 86400, {"name": "Few", "most": 20})
    shown = unescape(alice.get(HERE).content.decode())
    assert "amount up to 99.50 by all agents in 1 d" in shown
    assert "Beyond: 2 from <bdi>Finance</bdi>" in shown
    assert "20 requests of each agent may wait" in shown
    again = unescape(alice.get(f"{HERE}/edit").content.decode())
    assert all(f'value="{one}"' in again for one in ("Money", "pay.*", "1 d", "amount", "99.50", "Few", "20"))
    changed = {**FORM, "base": "1", "l0-then": "deny", "w0-most": "30"}
    assert alice.post(f"{HERE}/publish", changed).status_code == 302
    diff = unescape(alice.get(HERE).content.decode())
    assert "what would pass it: asks for approval → is denied" in diff
    assert "most: 20 → 30" in diff


@pytest.mark.django_db
def test_the_use_of_each_limit_is_shown_beside_it(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/refund", {"effect": "once"}).ok()
    limit = {"name": "Money", "tool": "refund", "window_seconds": 3600, "sum_of": "amount", "most": 500}
    text = {
        "rules": [{"name": "Refunds", "tool": "refund", "action": "allow"}],
        "limits": [limit, {"name": "Few", "tool": "refund", "window_seconds": 60, "most": 9, "per": "all"}],
        "waiting": [{"name": "Flood", "most": 7}],
    }
    publish(workspace=cast.workspace, rules_text=json.dumps(text), note="why", base=0, actor=ALICE)
    bob = as_(cast.bob)
    assert seen(bob, HERE).count("Nothing is taken of it now.") == 2 and "None waits now." in seen(bob, HERE)
    asked = [call(call_id=f"c{at}", arguments={"amount": amount}) for at, amount in enumerate((300, 150, 99))]
    first = agent.pause(agent.run()["id"], *asked).ok(201)["tool_calls"][0]
    agent.consume(first).ok()
    page, tools = seen(bob, HERE), seen(bob, "/northwind/tools")
    money = "450 of 500 amount taken by 2 calls, of it 150 reserved by 1 that has not started"
    few = "3 of 9 calls taken, of it 2 reserved and not started"
    assert f"Support agent: {money}" in page and few in page and "Support agent: 1 of 7 waits" in page
    assert f"then held; {money}" in tools and f"then held; {few}" in tools
    publish(workspace=cast.workspace, rules_text=json.dumps(text), note="again", base=1, actor=ALICE)
    assert "450 of 500" not in seen(bob, f"{HERE}/1"), "only of the version in force"
    assert "450 of 500" in seen(bob, HERE), "under the same name it goes on counting"


def seen(client: Client, path: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", client.get(path).content.decode())).split())


@pytest.mark.django_db
def test_lines_of_changes_say_all_of_what_is_new(cast: Cast, as_: As) -> None:
    """A limit with what happens beyond it, a rule with its deadline and locked fields."""
    rule = {
        "r0-name": "Pay", "r0-tool": "pay.out", "r0-action": "require", "r0-approvals": "2", "r0-deny_threshold": "1",
        "r0-deadline": "2 h", "r0-on_timeout": "deny", "r0-locked": "iban, amount", "r0-four_eyes": "yes",
        "r0-allowed": ["approve", "edit", "reject", "respond"],
    }  # fmt: skip
    sent = {**FORM, **rule, "count": "1", "l0-deadline": "1 h", "do": "check"}
    page = seen_in(as_(cast.alice).post(f"{HERE}/edit", sent).content.decode())
    assert "pay.*: amount up to 99.50 in 1 d, all together; beyond it 2 from Finance, deadline 1 h" in page
    assert "2 from the agent’s team, four eyes, deadline 2 h, locked: iban, amount" in page
    assert 'id="l1-deadline" name="l1-deadline" value="1 d"' in " ".join(
        as_(cast.alice).post(f"{HERE}/edit", {**FORM, "do": "ladd"}).content.decode().split()
    )
    as_(cast.alice).post(f"{HERE}/publish", {**sent, "do": "publish"})
    assert json.loads(PolicyVersion.objects.get().rules)["limits"][0]["deadline_seconds"] == 3600
    assert "Beyond: 2 from Finance, deadline 1 h" in seen(as_(cast.bob), HERE)


def seen_in(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", page)).split())
