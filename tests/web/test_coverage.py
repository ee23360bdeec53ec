"""The page of tools: every tool with its gate, the rule, and what became of its calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.core.clock import now
from reviewhub.policies.publish import publish
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import ToolCall
from reviewhub.tools.models import Tool
from tests.cast import ALICE, Cast
from tests.driver import policy
from tests.web.make import waiting

As = Callable[[Member], Client]


def line(page: str, name: str) -> str:
    (found,) = [part for part in page.split("<li>") if f">{name}</b>" in part]
    return found


@pytest.fixture
def page(cast: Cast, as_: As) -> Callable[[], str]:
    client = as_(cast.alice)

    def shown() -> str:
        page = unescape(client.get("/northwind/tools").content.decode())
        return page.replace("<bdi>", "").replace("</bdi>", "")

    return shown


def test_each_tool_with_its_rule_and_its_calls(cast: Cast, page: Callable[[], str]) -> None:
    for tool in ("refund", "refund", "orders.get", "mail.send"):
        waiting(cast.support, tool=tool)
    ToolCall.objects.filter(tool_name="refund").update(because='{"action":"require","kind":"rule"}')
    ToolCall.objects.filter(tool_name="mail.send").update(because='{"action":"deny","kind":"rule"}')
    policy(
        cast.support,
        {"name": "Money", "tool": "refund", "action": "require"},
        {"name": "Reads", "tool": "*.get", "action": "allow"},
    )
    shown = page()
    refund, reads, mail = line(shown, "refund"), line(shown, "orders.get"), line(shown, "mail.send")
    assert ">Waits</span>" in refund and 'policy#rule-1">Money</a>' in refund
    assert ">2</span> calls in 30 days" in refund and ">2</span> waited" in refund
    assert ">Runs</span>" in reads and 'policy#rule-2">Reads</a>' in reads
    assert "everything else" in mail and ">1</span> denied" in mail


def test_what_silence_lets_run_is_not_said_to_wait(cast: Cast, page: Callable[[], str]) -> None:
    silent = {"tool": "refund", "action": "require", "deadline_seconds": 60, "on_timeout": "allow"}
    tool = waiting(cast.support, tool="refund").tool_call
    Tool.objects.filter(agent=tool.agent, name="refund").update(registered_at=now(), effect="once")
    policy(cast.support, {"name": "Silence", **silent})
    assert ">Waits, runs if nobody answers</span>" in line(page(), "refund")
    when = {"when": [{"path": "amount", "test": "is_over", "value": 5}]}
    policy(
        cast.support,
        {"name": "Silence", **silent, **when},
        {"name": "Ask", "tool": "refund", "action": "require"},
    )
    assert ">Depends on the call</span>" in line(page(), "refund")
    policy(cast.support, {"name": "Ask", "tool": "refund", "action": "require"})
    assert ">Waits</span>" in line(page(), "refund")


def test_limits_and_standing_approvals_are_shown(cast: Cast, page: Callable[[], str]) -> None:
    row = waiting(cast.support, tool="refund")
    waiting(cast.support, tool="mail.send")
    text = {
        "rules": [{"name": "Money", "tool": "refund", "action": "require"}],
        "limits": [{"name": "Few", "tool": "refund*", "most": 2, "window_seconds": 3600, "then": "deny"}],
    }
    publish(workspace=cast.workspace, rules_text=json.dumps(text), note="why", base=0, actor=ALICE)
    StandingApproval.objects.create(
        workspace=cast.workspace, agent=row.agent, environment="production", tool_name="refund", owner=cast.bob,
        schema_fingerprint="sha256:0", owner_name="Bob", team=cast.support, tool_call=row.tool_call,
        request_number=row.number, until=now() + timedelta(days=1),
    )  # fmt: skip
    shown = page()
    refund, mail = line(shown, "refund"), line(shown, "mail.send")
    assert 'policy#limit-1">Limit Few</a>' in refund and "2 calls by each agent in 1 h, then denied" in refund
    assert ">1 standing approval</a>" in refund
    assert "Limit Few" not in mail and "standing approval" not in mail


def test_a_tool_that_came_after_the_policy_says_so(cast: Cast, page: Callable[[], str]) -> None:
    policy(cast.support, {"name": "All", "tool": "*", "action": "allow"})
    waiting(cast.support, tool="late")
    assert "after this policy was published" in line(page(), "late")


def test_a_name_that_reads_like_another_is_flagged(cast: Cast, page: Callable[[], str]) -> None:
    waiting(cast.support, tool="refund")
    waiting(cast.support, tool="REFUND")
    assert "Reads like refund, and is another tool." in line(page(), "REFUND")
