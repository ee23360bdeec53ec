"""A draft in shadow is asked at every pause, changes nothing, and may fail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from reviewhub.gates import shadow as gate
from reviewhub.policies import rules
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.save_draft import save_draft
from reviewhub.policies.set_shadow import set_shadow
from reviewhub.toolcalls.models import ShadowAnswer
from reviewhub.toolcalls.shadowed import shadowed
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call, policy

IN_FORCE = (
    {"name": "Mail", "tool": "mail", "action": "allow"},
    {"name": "Wires", "tool": "wire", "action": "deny"},
)
DRAFT = (
    {"name": "Refunds", "tool": "refund", "action": "allow"},
    {"name": "Mail", "tool": "mail", "action": "require", "team": "Finance"},
    {"name": "Notes", "tool": "note", "action": "require", "approvals": 2},
    {"name": "Wires", "tool": "wire", "action": "deny"},
    {"name": "Drops", "tool": "drop", "action": "deny"},
)


def put_in_shadow(cast: Cast) -> PolicyDraft:
    text = json.dumps({"rules": DRAFT})
    made = save_draft(workspace=cast.workspace, rules_text=text, note="", replaces=None, actor=ALICE)
    return set_shadow(workspace_id=cast.workspace.pk, draft_id=made.pk, on=True, actor=ALICE)


def states(agent: AgentHttp, *tools: str) -> list[str]:
    calls = [call(tool, f"c{at}") for at, tool in enumerate(tools)]
    paused: Any = agent.pause(agent.run()["id"], *calls).ok(201)
    return [one["state"] for one in paused["tool_calls"]]


def test_what_the_draft_would_do_is_counted_and_nothing_else_happens(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_of(cast.support)
    tools = ("refund", "mail", "note", "wire", "drop")
    for name in tools:
        agent.put(f"/tools/{name}", {"effect": "idempotent"}).ok()
    policy(cast.support, *IN_FORCE)
    expected = ["waiting", "allowed", "waiting", "denied", "waiting"]
    assert states(agent, *tools) == expected and not ShadowAnswer.objects.exists()
    draft = put_in_shadow(cast)
    assert states(agent, *tools) == expected
    found = ShadowAnswer.objects.values_list("tool_call__tool_name", "change", "rule", "asks")
    assert sorted(found) == [
        ("drop", "denied", "Drops", ""),
        ("mail", "held", "Mail", "1 approval from Finance"),
        ("note", "rerouted", "Notes", "2 approvals from Support"),
        ("refund", "freed", "Refunds", ""),
    ]
    report = shadowed(draft)
    assert report is not None and report.calls == 5 and {one.count for one in report.groups} == {1}

    real = rules.evaluate

    def breaks_on_drafts(one: rules.Policy, asked: rules.Call) -> rules.Answer:
        if len(one.rules) == len(DRAFT):
            raise RuntimeError("a fault of the draft")
        return real(one, asked)

    monkeypatch.setattr(rules, "evaluate", breaks_on_drafts)
    assert states(agent, "mail") == ["allowed"]
    assert ShadowAnswer.objects.filter(change="failed").count() == 1
    monkeypatch.setattr(gate, "ask_shadow", lambda **_: 1 / 0)
    assert states(agent, "mail", "refund") == ["allowed", "waiting"]
    monkeypatch.undo()
    set_shadow(workspace_id=cast.workspace.pk, draft_id=draft.pk, on=False, actor=ALICE)
    assert states(agent, "refund") == ["waiting"] and ShadowAnswer.objects.count() == 5


def test_limits_and_what_stands_are_asked_of_the_draft_too(cast: Cast) -> None:
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    for name in ("mail", "refund"):
        agent.put(f"/tools/{name}", {"effect": "idempotent", "schema": {"type": "object"}}).ok()
    free = {"name": "Mail", "tool": "mail", "action": "allow"}
    asks = {"name": "Refunds", "tool": "refund", "action": "require"}
    policy(cast.support, free, asks)
    (first,) = agent.pause(agent.run()["id"], call("refund")).ok(201)["tool_calls"]
    bob.decide(first, "approve", remember={"uses": 1}).ok()
    assert states(agent, "mail") == ["allowed"]
    limit = {"name": "Few", "tool": "mail", "most": 2, "window_seconds": 3600, "then": "deny"}
    eyes = {**asks, "four_eyes": True}
    text = json.dumps({"rules": [free, eyes], "limits": [limit]})
    made = save_draft(workspace=cast.workspace, rules_text=text, note="", replaces=None, actor=ALICE)
    set_shadow(workspace_id=cast.workspace.pk, draft_id=made.pk, on=True, actor=ALICE)
    # The limit of the draft counts what ran before it, too; the approval that stood let run what four eyes hold.
    assert states(agent, "mail") == ["allowed"] and not ShadowAnswer.objects.exists()
    assert states(agent, "mail") == ["allowed"]
    assert states(agent, "refund") == ["allowed"]
    found = ShadowAnswer.objects.values_list("tool_call__tool_name", "change", "rule")
    assert sorted(found) == [("mail", "denied", "Few"), ("refund", "held", "Refunds")]


def test_what_the_draft_could_not_decide_is_named_also_where_the_call_waits_anyway(
    cast: Cast, client: Client
) -> None:
    agent = agent_of(cast.support)
    for name in ("refund", "mail"):
        agent.put(f"/tools/{name}", {"effect": "idempotent"}).ok()
    policy(cast.support, {"name": "Mail", "tool": "mail", "action": "allow"})
    sum_of = [{"path": "sum", "test": "is_over", "value": 5}]
    rules_ = [
        {"name": "Sums", "tool": "refund", "action": "deny", "when": sum_of},
        {"name": "Long <b>", "tool": "mail", "action": "deny", "expression": "args.pages > 10"},
        {"name": "Mail", "tool": "mail", "action": "allow"},
    ]
    text = json.dumps({"rules": rules_})
    made = save_draft(workspace=cast.workspace, rules_text=text, note="", replaces=None, actor=ALICE)
    draft = set_shadow(workspace_id=cast.workspace.pk, draft_id=made.pk, on=True, actor=ALICE)
    assert states(agent, "refund", "mail", "refund") == ["waiting", "allowed", "waiting"]
    found = sorted(ShadowAnswer.objects.values_list("tool_call__tool_name", "change"))
    assert found == [
        ("mail", "held"),
        ("mail", "undecided"),
        ("refund", "undecided"),
        ("refund", "undecided"),
    ]
    report = shadowed(draft)
    assert report is not None and report.calls == 3
    sums = "rule Sums cannot be decided: sum is missing"
    assert report.undecided[0] == (sums, 2) and report.undecided[1][0].startswith("rule Long <b> cannot be")
    client.force_login(cast.alice.person)
    page = client.get("/northwind/policy/draft").content.decode()
    assert "Rule Sums cannot be decided: sum is missing" in page and "Rule Long &lt;b&gt; cannot" in page
    said = PersonHttp(cast.alice).get("/policy/draft").ok()
    assert said["shadow_undecided"] == [{"says": words, "calls": many} for words, many in report.undecided]


def test_the_rule_on_which_a_draft_breaks_is_named(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_of(cast.support)
    agent.put("/tools/mail", {"effect": "idempotent"}).ok()
    policy(cast.support, *IN_FORCE)
    put_in_shadow(cast)
    real = rules.matched

    def breaks(rule: rules.Rule, asked: rules.Call) -> rules.Part:
        if rule.action == "require":
            raise RuntimeError("a fault of the rule")
        return real(rule, asked)

    monkeypatch.setattr(rules, "matched", breaks)
    assert states(agent, "mail") == ["allowed"]
    assert ShadowAnswer.objects.values_list("change", "rule").get() == ("failed", "Mail")
