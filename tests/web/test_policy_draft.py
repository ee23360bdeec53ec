"""From the editor to a draft, to its shadow, to a version, and back again."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any

from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.models import PolicyVersion
from tests.cast import Cast
from tests.driver import agent_of, call, policy
from tests.web.test_pages import rule_fields

As = Callable[[Member], Client]
ALL = {"name": "All the rest", "tool": "*", "action": "require", "approvals": 1}


def post(client: Client, path: str, **fields: Any) -> str:
    return unescape(client.post(f"/northwind/policy/{path}", fields, follow=True).content.decode())


def get(client: Client, path: str) -> str:
    return unescape(client.get(f"/northwind/policy{path}", follow=True).content.decode())


def test_the_way_of_a_draft(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    policy(cast.support, ALL)
    client = as_(cast.alice)
    fields = rule_fields(get(client, "/edit"))
    bad = post(client, "publish", **{**fields, "r0-approvals": "many", "do": "save"})
    assert "Rule 1 (All the rest), approvals: Write a whole number." in bad
    page = post(client, "publish", **{**fields, "r0-approvals": "2", "do": "save", "note": "<b>two</b>"})
    draft = open_draft(cast.workspace.pk)
    assert (
        draft is not None
        and "approvals: 1 → 2" in page
        and "<b>two</b>" not in client.get("/northwind/policy/draft").content.decode()
    )
    assert "There is a draft" in get(client, "") and "There is a draft" not in get(as_(cast.bob), "")
    assert "Saving replaces the" in get(client, "/edit")
    assert "Try the draft" in get(client, "/edit?from=draft")
    assert "Nothing otherwise so far." in post(client, "draft/shadow", draft=draft.pk, do="start")
    agent.pause(agent.run()["id"], call()).ok()
    page = get(client, "/draft")
    assert "Would wait for others" in page and "2 approvals from Support" in page
    old = post(client, "draft/publish", draft=draft.pk, note="why", base=0)
    assert "published v1 meanwhile" in old and PolicyVersion.objects.count() == 1
    assert "Policy v2 is in force." in post(client, "draft/publish", draft=draft.pk, note="why", base=1)
    assert "There is no draft." in get(client, "/draft")
    assert "Roll back" not in get(as_(cast.bob), "/1")
    assert "Say what changes and why." in post(client, "roll-back", number=1, base=2, note=" ")
    assert "it says what v1 said" in post(client, "roll-back", number=1, base=2, note="too strict")
    assert "back to v1" in get(client, "")
    assert "No rule differs." in get(client, "/3?against=1") and "approvals: 2 → 1" in get(client, "/3")
