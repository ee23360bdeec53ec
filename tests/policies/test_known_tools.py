"""What a rule lets run: tools as they were registered when the policy was published, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.policies.coverage import gates, look_alikes
from reviewhub.policies.evaluate import Resolved, evaluate
from reviewhub.policies.facts import call_facts
from reviewhub.policies.known_tools import known_to
from reviewhub.tools.models import Tool
from reviewhub.tools.register import register
from tests.cast import Cast, by_key, make_test_agent
from tests.policies.conftest import Publish

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}
ALL = {"name": "All", "tool": "*", "action": "allow"}
SINCE = "after this policy was published"


@pytest.fixture
def shop(cast: Cast) -> Agent:
    return make_test_agent(cast.support, name="Shop")[0]


def describe(agent: Agent, name: str = "orders.get", **body: Any) -> Tool:
    tree = canonical.parse(canonical.dumps({"effect": "read", "schema": SCHEMA, **body}))
    return register(
        agent=agent, name=name, body=wire.ToolRegister.from_tree(tree), actor=by_key(agent.keys.get())
    )


def ask(agent: Agent, name: str = "orders.get") -> Resolved:
    tool = Tool.objects.filter(agent=agent, name=name).first() or Tool(agent=agent, name=name)
    facts = call_facts(tool=tool, arguments="{}").facts
    return evaluate(workspace_id=agent.workspace_id, agent=agent, environment="production", calls=[facts])[0]


def test_only_tools_that_were_registered_at_publishing_run(shop: Agent, put_in_force: Publish) -> None:
    describe(shop)
    put_in_force(ALL)
    assert ask(shop).action == "allow"
    describe(shop, "orders.list")
    later = ask(shop, "orders.list")
    assert later.action == "require" and SINCE in later.text and later.rule == "All"
    put_in_force(ALL)
    assert ask(shop, "orders.list").action == "allow"


@pytest.mark.parametrize(
    ("change", "action"),
    [
        ({"schema": {"type": "object"}}, "require"),
        ({"effect": "idempotent"}, "require"),
        ({"effect": "once"}, "require"),
        # Words and limits change nothing that a call can do.
        ({"description": "Reads an order."}, "allow"),
        ({"time_limit": "PT9S"}, "allow"),
        ({"result_schema": {"type": "object"}}, "allow"),
        # Written otherwise, it is the same schema.
        ({"schema": dict(reversed(SCHEMA.items()))}, "allow"),
    ],
)
def test_a_tool_that_changes_waits_until_it_is_as_it_was(
    shop: Agent, put_in_force: Publish, change: dict[str, Any], action: str
) -> None:
    describe(shop)
    put_in_force(ALL)
    describe(shop, **change)
    assert ask(shop).action == action
    describe(shop)
    assert ask(shop).action == "allow"


def test_a_renamed_tool_is_another_one(shop: Agent, put_in_force: Publish) -> None:
    describe(shop)
    put_in_force({**ALL, "tool": "orders.*"})
    describe(shop, "orders.read")
    assert ask(shop, "orders.read").action == "require"


def test_what_one_agent_registered_is_not_known_of_another(
    cast: Cast, shop: Agent, put_in_force: Publish
) -> None:
    describe(shop)
    put_in_force(ALL)
    other = make_test_agent(cast.support, name="Other")[0]
    describe(other)
    assert (ask(shop).action, ask(other).action) == ("allow", "require")


def test_silence_is_no_yes_for_a_tool_that_changed(shop: Agent, put_in_force: Publish) -> None:
    describe(shop)
    waits = {"name": "W", "tool": "orders.get", "action": "require"}
    put_in_force({**waits, "deadline_seconds": 60, "on_timeout": "allow"})
    before = ask(shop).requirement
    describe(shop, schema={"type": "object"})
    after = ask(shop).requirement
    assert before is not None and after is not None
    assert (before.on_timeout, after.on_timeout) == ("allow", "deny")


def test_a_version_remembers_only_what_it_may_let_run(shop: Agent, put_in_force: Publish) -> None:
    for name in ("orders.get", "orders.delete", "mail.send"):
        describe(shop, name)
    version = put_in_force({**ALL, "tool": "orders.get"}, {"name": "D", "tool": "orders.*", "action": "deny"})
    assert {name for _, name, _ in known_to(version.pk)} == {"orders.get"}


def test_the_gate_of_each_tool(shop: Agent, put_in_force: Publish) -> None:
    names = ["orders.get", "orders.delete", "mail.send", "pay"]
    tools = [describe(shop, name) for name in names] + [Tool(agent=shop, name="exfiltrate")]
    put_in_force(
        {"name": "Staging", "tool": "mail.*", "action": "allow", "environment": "staging"},
        {"name": "Reads", "tool": "*.get", "action": "allow"},
        {"name": "Deletes", "tool": "*.delete", "action": "deny"},
        {"name": "Mail", "tool": "mail.*", "action": "require"},
        {"name": "Nothing unknown", "tool": "exfil*", "action": "allow"},
    )
    found = gates(shop.workspace_id, tools)
    assert [gate.words for gate in found] == ["Runs", "Denied", "Depends on the call", "Waits", "Waits"]
    assert [gate.is_gated for gate in found] == [False, True, False, True, True]
    assert [answer.rule for answer in found[2].answers] == ["Staging", "Mail"]
    describe(shop, schema={"type": "object"})
    changed = gates(shop.workspace_id, [Tool.objects.select_related("agent__team").get(name="orders.get")])[0]
    assert changed.is_gated and SINCE in changed.held_because[0]


def test_names_that_read_alike_are_told(shop: Agent) -> None:
    tools = [describe(shop, name) for name in ("refund", "r\u0435fund", "REFUND", "orders.get")]
    assert look_alikes(tools) == {tools[1].pk: "refund", tools[2].pk: "refund"}


@pytest.mark.parametrize("posing", ["fi1es.delete", "flles.delete", "files.de1ete"])
def test_a_name_that_is_easily_taken_for_a_known_tool_is_flagged_and_waits(
    shop: Agent, put_in_force: Publish, posing: str
) -> None:
    known = describe(shop, "files.delete")
    put_in_force(ALL)
    other = describe(shop, posing)
    assert look_alikes([known, other]) == {other.pk: "files.delete"}
    assert (ask(shop, "files.delete").action, ask(shop, posing).action) == ("allow", "require")


def test_names_that_nobody_takes_for_each_other_are_not_flagged(shop: Agent) -> None:
    assert (
        look_alikes([describe(shop, name) for name in ("files.get", "files.set", "mail.send", "files.gets")])
        == {}
    )
