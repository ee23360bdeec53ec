"""What is no tool: whose names they are, and which rules are about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.policies.arguments import Arguments
from reviewhub.policies.model import Policy, Rule
from reviewhub.policies.rules import Call, evaluate, unmatched
from reviewhub.tools.acts import reads_like_an_act
from reviewhub.tools.rules import name_fault

OPEN = {"open_steps": [{"id": "pay"}]}
NONE_OPEN: dict[str, Any] = {"open_steps": []}


def call(name: str, arguments: Any = None, **fields: Any) -> Call:
    given: dict[str, Any] = {"registered": True, "known": True, "effect": "read", "agent": "a"}
    given |= {"agent_team": "Support", "environment": "production", **fields}
    return Call(tool=name, arguments=Arguments(json.dumps(arguments or {})), **given)


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("rh.plan", {}, "allow"),
        ("rh.step/pay", {}, "allow"),
        ("rh.finish", NONE_OPEN, "allow"),
        ("rh.finish", OPEN, "require"),
        ("rh.finish", {}, "require"),
        ("rh.ask", {"question": "?"}, "require"),
        ("rh.gate/pay", {}, "require"),
        ("pay", {}, "require"),
    ],
)
def test_where_no_rule_is_about_it(name: str, arguments: Any, action: str) -> None:
    assert unmatched(call(name, arguments)).action == action
    assert evaluate(Policy(), call(name, arguments)).action == action
    assert evaluate(Policy(), call(name, arguments, failed_checks=("sum",))).action == "require"


@pytest.mark.parametrize(
    ("pattern", "action", "name", "answer"),
    [
        ("*", "require", "rh.plan", "allow"),
        ("*", "deny", "rh.step/pay", "allow"),
        ("*", "deny", "rh.gate/pay", "deny"),
        ("*", "deny", "rh.ask", "deny"),
        ("*", "allow", "rh.gate/pay", "require"),
        ("rh.*", "allow", "rh.gate/pay", "allow"),
        ("rh.*", "allow", "rh.ask", "require"),
        ("rh.*", "allow", "rh.finish", "allow"),
        ("rh.plan", "require", "rh.plan", "require"),
        ("RH.Plan", "require", "rh.plan", "require"),
        ("rh.step/p*", "require", "rh.step/pay", "require"),
        ("rh.step/p*", "require", "rh.step/look", "allow"),
        ("rh.finish", "deny", "rh.finish", "deny"),
    ],
)
def test_rules_are_about_acts_only_where_they_say_so(
    pattern: str, action: Any, name: str, answer: str
) -> None:
    policy = Policy(rules=(Rule(name="one", tool=pattern, action=action),))
    assert evaluate(policy, call(name, OPEN)).action == answer


def test_steps_inside_an_approved_plan_pass_and_others_wait() -> None:
    inside = {"path": "inside_plan", "test": "is", "value": True}
    policy = Policy.model_validate(
        {
            "rules": (
                {"name": "in the plan", "tool": "rh.step/*", "action": "allow", "when": (inside,)},
                {"name": "beside it", "tool": "rh.step/*", "action": "require"},
            )
        }
    )
    answers = [evaluate(policy, call("rh.step/pay", {"inside_plan": said})).rule for said in (True, False)]
    assert answers == ["in the plan", "beside it"]


@pytest.mark.parametrize("name", ["rh.plan", "RH.plan", " rh.x", "r\u200bh.plan", "ｒｈ．plan", "rh."])
def test_names_that_agents_cannot_register(name: str) -> None:
    assert reads_like_an_act(name)


def test_names_that_are_no_acts() -> None:
    assert not any(reads_like_an_act(name) for name in ("rhino", "orh.x", "rh", "pay"))
    assert name_fault("rh.refund") == "begins with rh., which only the server's own names do"
    assert name_fault("rh.step/") is not None
    assert [name_fault(name) for name in ("rh.plan", "rh.step/x", "rh.gate/x", "rhino")] == [None] * 4
