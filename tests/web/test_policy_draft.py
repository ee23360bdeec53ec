"""From the editor to a draft, to its shadow, to a version, and back again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.core.actors import Actor
from reviewhub.insights.models import Backtest
from reviewhub.insights.work_off import work_off
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.save_draft import save_draft
from tests.cast import Cast, make_test_agent
from tests.driver import PersonHttp, agent_of, call, policy
from tests.insights.make import draft_of, known_tools, recorded
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
    assert "As draft: it replaces the" in get(client, "/edit")
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


def test_a_draft_stays_on_the_version_that_it_was_made_from(cast: Cast, as_: As) -> None:
    policy(cast.support, ALL)
    client = as_(cast.alice)
    fields = rule_fields(get(client, "/edit"))
    policy(cast.support, {**ALL, "approvals": 3})
    refused = post(client, "publish", **{**fields, "do": "publish", "note": "why"})
    assert "published v2 meanwhile" in refused
    post(client, "publish", **{**fields, "do": "save", "note": "why"})
    # Neither a save after the refusal nor another edit moves it.
    post(client, "publish", **{**rule_fields(get(client, "/edit?from=draft")), "do": "save", "note": "why"})
    draft = open_draft(cast.workspace.pk)
    assert draft is not None and draft.base == 1
    page = get(client, "/draft")
    assert 'href="/northwind/policy/2?against=1"' in page and 'name="on_top"' in page
    sent = {"draft": draft.pk, "note": "why", "base": 2}
    assert "published v2 after the draft was made from v1" in post(client, "draft/publish", **sent)
    assert PolicyVersion.objects.count() == 2
    assert "Policy v3 is in force." in post(client, "draft/publish", **sent, on_top="yes")


def test_a_backtest_shows_how_far_it_is(cast: Cast, as_: As) -> None:
    agent = make_test_agent(cast.support)[0]
    known_tools(agent, "refund")
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "allow"})
    recorded(agent, "refund", 1, 2, 3, decided="reject")
    found = draft_of(cast, json.dumps({"rules": [{**ALL, "name": "<i>All</i>"}]}))
    client = as_(cast.alice)
    assert "Write a number of days" in post(client, "draft/backtest", draft=found.pk, days="many")
    page = post(client, "draft/backtest", draft=found.pk, days=7)
    assert "0 of 3 calls of the last 7 days, 0 %" in page and "<progress" in page
    test = Backtest.objects.get()
    part = client.get("/northwind/policy/draft/backtest/progress").content.decode()
    assert part.startswith("<section") and "every 2s" in part
    work_off(test.pk)
    page = get(client, "/draft")
    assert "every 2s" not in page and "Would wait" in page and "would wait 3 of 3; under v1, 0" in page
    assert "<i>All</i>" not in client.get("/northwind/policy/draft").content.decode()
    assert "Done, the last 7 days" in post(client, "draft/backtest/cancel", backtest=test.pk)
    post(client, "draft/backtest", draft=found.pk, days=7)
    test = Backtest.objects.get(state="open")
    assert "Cancelled after 0 %" in post(client, "draft/backtest/cancel", backtest=test.pk)


def test_nobodys_draft_is_replaced_unasked(cast: Cast, as_: As) -> None:
    """Only what it was opened from is replaced by saving; another draft by a tick that says whose it is."""
    policy(cast.support, ALL)
    client = as_(cast.alice)
    opened = rule_fields(get(client, "/edit"))
    theirs = save_draft(
        workspace=cast.workspace, rules_text=json.dumps({"rules": [{**ALL, "approvals": 3}]}), note="", replaces=None,
        actor=Actor(kind="person", id=cast.alice.pk, name="Bob"),
    )  # fmt: skip
    page = get(client, "")
    assert 'href="/northwind/policy/edit?from=draft"' in page and "Edit v1" in page
    for again in (opened, rule_fields(post(client, "edit", **{**opened, "do": "check"}))):
        refused = post(client, "publish", **{**again, "do": "save"})
        assert "Bob saved a draft on " in refused and open_draft(cast.workspace.pk) == theirs
    assert f'name="replaces" value="{theirs.pk}"' in refused and "it replaces the" in refused
    assert f"{theirs.created_at:%H:%M} UTC" in refused
    # One that was there when it was opened is no other: the policy in force was opened, and not the draft.
    assert "Bob saved a draft on " in post(
        client, "publish", **{**rule_fields(get(client, "/edit")), "do": "save"}
    )
    post(client, "publish", **{**opened, "do": "save", "replaces": theirs.pk})
    mine = open_draft(cast.workspace.pk)
    assert mine is not None and mine != theirs
    post(client, "publish", **{**rule_fields(get(client, "/edit?from=draft")), "do": "save", "note": "on"})
    changed = open_draft(cast.workspace.pk)
    assert changed is not None and changed.note == "on"
    # Nor by who opened a draft that somebody else replaced meanwhile, whatever they press before.
    stale = {**opened, "draft": mine.pk}
    stale = rule_fields(post(client, "edit", **{**stale, "do": "check"}))
    assert "saved a draft on " in post(client, "publish", **{**stale, "do": "save"})
    assert open_draft(cast.workspace.pk) == changed


def test_tools_that_publishing_frees_are_named_before(cast: Cast, as_: As) -> None:
    agent = make_test_agent(cast.support)[0]
    known_tools(agent, "mail.get")
    mails = {"name": "Mails", "tool": "mail.*", "action": "allow"}
    policy(cast.support, mails, ALL)
    known_tools(agent, "mail.send", "order.place")
    found = draft_of(cast, json.dumps({"rules": [{**mails, "action": "observe"}, ALL]}))
    client = as_(cast.alice)
    words = "mail.send of Support agent would run by rule Mails"
    for path in ("/draft", "/edit", "/edit?from=draft&check=yes"):
        page = " ".join(re.sub(r"<[^>]*>", "", get(client, path)).split())
        assert ("Publishing also frees 1 tool" in page and words in page) is (
            path != "/edit?from=draft&check=yes"
        ), path
        assert "mail.get of" not in page and "order.place of" not in page
    assert "It also frees: mail.send would run by rule Mails." in re.sub(
        r"<[^>]*>", "", get(client, "/draft")
    )
    reply = PersonHttp(cast.alice).post("/policy/check", {"policy": json.loads(found.rules)}).ok()
    assert reply["frees"] == [
        {"agent": "Support agent", "tool": "mail.send", "says": "would run by rule Mails"}
    ]
    guarded = {"guardrails": [{"name": "G", "tool": "mail.send", "action": "require"}], "rules": [mails]}
    assert PersonHttp(cast.alice).post("/policy/check", {"policy": guarded}).ok()["frees"] == []
    post(client, "draft/publish", draft=found.pk, note="why", base=1)
    assert "Publishing also frees" not in get(client, "/edit")
