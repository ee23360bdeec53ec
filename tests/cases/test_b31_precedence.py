"""B31: the order of answers is written down and the same whatever was written first; once covers one call."""

from __future__ import annotations

import itertools
import json

import pytest

from reviewhub.core.errors import Invalid
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Call, evaluate, explain
from tests.cases.conftest import Exec
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call, policy

DEFAULT = {"name": "Default", "tool": "*", "action": "require", "place": 40}
FREE = {"name": "X may delete", "tool": "delete_*", "agent": "X", "action": "allow", "place": 30}
TWO = {"name": "Users need two", "tool": "delete_user", "action": "require", "approvals": 2, "place": 20}
NEVER = {"name": "Not this team", "tool": "delete_*", "agent_team": "Interns", "action": "deny", "place": 10}
RULES = (DEFAULT, FREE, TWO, NEVER)
TABLE = [
    # tool, agent, its team, action, rule
    ("delete_file", "X", "Support", "allow", "X may delete"),
    ("delete_file", "Y", "Support", "require", "Default"),
    ("delete_user", "X", "Support", "require", "Users need two"),
    ("delete_file", "X", "Interns", "deny", "Not this team"),
    ("delete_user", "X", "Interns", "deny", "Not this team"),
    ("mail.send", "X", "Interns", "require", "Default"),
]


def asked(tool: str, agent: str, team: str) -> Call:
    return Call(
        tool=tool, registered=True, known=True, effect="once", agent=agent, agent_team=team,
        environment="production",
    )  # fmt: skip


@pytest.mark.parametrize(("tool", "agent", "team", "action", "rule"), TABLE)
def test_b31_the_same_answer_in_every_order_of_writing(
    tool: str, agent: str, team: str, action: str, rule: str
) -> None:
    for order in itertools.permutations(RULES):
        read = parse_policy(json.dumps({"rules": order}))
        found = explain(read, asked(tool, agent, team))
        assert (found.answer.action, found.answer.rule) == (action, rule)
        assert [step.rule for step in found.steps if step.answers] == [rule]


def test_b31_two_rules_at_one_place_are_refused() -> None:
    for order in itertools.permutations([FREE, {**TWO, "place": 30}, DEFAULT]):
        with pytest.raises(Invalid, match="both at place 30"):
            parse_policy(json.dumps({"rules": order}))


@pytest.mark.parametrize("action", ["allow", "observe", "require", "deny"])
def test_b31_no_rule_loosens_a_guardrail(action: str) -> None:
    two = {"name": "Two", "tool": "delete_*", "action": "require", "approvals": 2}
    never = {"name": "Never", "tool": "delete_*", "action": "deny"}
    rule = {"name": "Rule", "tool": "delete_user", "agent": "X", "action": action}
    for guardrails in itertools.permutations([two, never]):
        answer = evaluate(
            parse_policy(json.dumps({"guardrails": guardrails, "rules": [rule]})),
            asked("delete_user", "X", "S"),
        )
        assert (answer.action, answer.layer, answer.rule) == ("deny", "guardrail", "Never")
    answer = evaluate(
        parse_policy(json.dumps({"guardrails": [two], "rules": [rule]})), asked("delete_user", "X", "S")
    )
    if action == "deny":
        assert (answer.action, answer.layer) == ("deny", "rule")
    else:
        assert answer.requirement is not None and answer.requirement.approvals == 2


def test_b31_an_approval_covers_one_call_and_a_rejected_one_does_not_run(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    agent.put("/tools/delete_user", {"effect": "idempotent", "schema": {}}).ok()
    policy(cast.support, {"name": "Ask", "tool": "delete_user", "action": "require"})
    first, second, third = agent.pause(agent.run()["id"], *[call("delete_user", name) for name in "abc"]).ok(
        201
    )["tool_calls"]
    reviewer.decide(first, "approve").ok()
    reviewer.decide(second, "reject", message="Not this one.").ok()
    # Policy frees the tool now: the rejection of this one call still stands.
    policy(cast.support, {"name": "Free", "tool": "delete_user", "action": "allow"})
    assert not tool.attempt(second)
    assert tool.attempt(first)
    assert not tool.attempt(third), "what waits keeps the version that held it"


def test_b31_explaining_names_the_rule(cast: Cast, agent: AgentHttp) -> None:
    agent.put("/tools/delete_user", {"effect": "once", "schema": {}}).ok()
    policy(
        cast.support,
        {
            "name": "Big",
            "tool": "*",
            "action": "deny",
            "when": [{"path": "n", "test": "is_over", "value": 5}],
        },
        {"name": "Users", "tool": "delete_user", "action": "require"},
        {"name": "Rest", "tool": "*", "action": "allow"},
    )
    body = {"tool": "delete_user", "arguments": {"n": 3}}
    found = agent.post("/policy/explain", body).ok()
    assert (found["outcome"], found["because"]["rule"]) == ("require", "Users")
    assert [(step["rule"], step["matched"], step["answers"]) for step in found["steps"]] == [
        ("Big", False, False), ("Users", True, True), ("Rest", True, False),
    ]  # fmt: skip
    (failed,) = [part for part in found["steps"][0]["parts"] if not part["holds"]]
    assert failed == {"what": "condition", "holds": False, "why": "not: n is over 5"}
    open_ = agent.post("/policy/explain", {"tool": "delete_user", "arguments": {}}).ok()
    assert "matched" not in open_["steps"][0] or open_["steps"][0]["matched"] is None
    assert "rule Big cannot be decided: n is missing" in open_["because"]["text"]


def test_b31_a_recorded_call_says_why_it_was_held(cast: Cast, agent: AgentHttp, admin: PersonHttp) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    policy(
        cast.support,
        {
            "name": "Small",
            "tool": "refund",
            "action": "allow",
            "when": [{"path": "amount", "test": "is", "value": "1.00"}],
        },
    )
    (held,) = agent.pause(agent.run()["id"], call("refund")).ok(201)["tool_calls"]
    policy(cast.support, {"name": "Free", "tool": "*", "action": "allow"})
    found = agent.get(f"/tool-calls/{held['id']}/policy").ok()
    assert (found["outcome"], found["policy_version"]) == ("require", 1)
    assert [(step["rule"], step["why"]) for step in found["steps"]] == [("Small", "not: amount is “1.00”")]
