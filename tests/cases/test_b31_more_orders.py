"""B31, further inputs: who wins where agent, team, environment, limits, standing approvals and guardrails disagree."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current_number
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import evaluate
from tests.cases.conftest import Exec
from tests.cases.test_b31_precedence import asked
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, call

ASK = {"name": "Ask", "tool": "refund", "action": "require"}
FREE = {"name": "Free", "tool": "refund", "action": "allow"}
NO = {"name": "No", "tool": "REFUND", "action": "deny"}
FOR_X = {"name": "X", "tool": "re*", "agent": "X", "action": "allow"}
FOR_TEAM = {"name": "Team", "tool": "*", "agent_team": "Support", "action": "deny"}
STAGING = {"name": "Staging", "tool": "*", "environment": "staging", "action": "allow"}
LATER = {"name": "Later", "tool": "refund", "action": "observe", "sample_percent": 1}
TIMEOUT = {
    "name": "Silence", "tool": "refund", "action": "require", "deadline_seconds": 60, "on_timeout": "allow"
}  # fmt: skip
TWO = {"name": "Two", "tool": "*", "action": "require", "approvals": 2}
FINANCE = {"name": "Money", "tool": "refund", "action": "require", "team": "Finance"}
# Guardrails, rules in the order of their places; then the action, the approvals, and what silence means.
TABLE: list[tuple[list[Any], list[Any], str, int, str]] = [
    ([], [FOR_X, FOR_TEAM], "allow", 0, ""),
    ([], [FOR_TEAM, FOR_X], "deny", 0, ""),
    ([], [STAGING, ASK, FREE], "require", 1, "deny"),
    ([TWO], [FREE], "require", 2, "deny"),
    ([TWO], [LATER], "require", 2, "deny"),
    ([TWO, FINANCE], [TIMEOUT], "require", 2, "deny"),
    ([FINANCE], [NO], "deny", 0, ""),
    ([NO, TWO], [TIMEOUT], "deny", 0, ""),
    ([], [TIMEOUT, NO], "require", 1, "allow"),
    ([FINANCE], [{**TWO, "team": "Legal"}], "require", 3, "deny"),
]


@pytest.mark.parametrize(("guardrails", "rules", "action", "approvals", "silence"), TABLE)
def test_b31_who_wins_is_the_same_in_every_order_of_writing(
    guardrails: list[Any], rules: list[Any], action: str, approvals: int, silence: str
) -> None:
    placed = [{**rule, "place": (at + 1) * 10} for at, rule in enumerate(rules)]
    for above, below in itertools.product(itertools.permutations(guardrails), itertools.permutations(placed)):
        read = parse_policy(json.dumps({"guardrails": above, "rules": below}))
        found = evaluate(read, asked("refund", "X", "Support"))
        needed = found.requirement
        said = (needed.approvals, needed.on_timeout) if needed else (0, "")
        assert (found.action, *said) == (action, approvals, silence)


def put(cast: Cast, **layers: Any) -> None:
    publish(
        workspace=cast.workspace,
        rules_text=json.dumps({"rules": [ASK], **layers}),
        note="why",
        base=current_number(cast.workspace.pk),
        actor=ALICE,
    )


def refund(agent: AgentHttp, amount: Any = "10.00") -> Any:
    arguments = {"order": "8812", "amount": amount}
    return agent.pause(agent.run()["id"], call(arguments=arguments)).ok(201)["tool_calls"][0]


def test_b31_always_approve_is_beaten_by_everything_above_it(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, tool: Exec
) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    put(cast)
    reviewer.decide(refund(agent), "approve", remember={"scope": "agent", "bounds": "any"}).ok()
    stands = refund(agent, "11.00")
    assert (stands["state"], stands["because"]["kind"]) == ("allowed", "standing")
    for layers, state, kind in (
        ({"limits": [{"name": "L", "tool": "refund", "most": 0, "window_seconds": 60}]}, "waiting", "limit"),
        ({"guardrails": [{**TWO, "approvals": 1}]}, "waiting", "guardrail"),
        ({"guardrails": [NO]}, "denied", "guardrail"),
        ({"rules": [NO]}, "denied", "rule"),
        ({"rules": [{**ASK, "approvals": 2}]}, "waiting", "rule"),
        ({"rules": [{**ASK, "four_eyes": True}]}, "waiting", "rule"),
        ({"rules": [FINANCE]}, "waiting", "rule"),
    ):
        put(cast, **layers)
        found = refund(agent)
        assert (found["state"], found["because"]["kind"]) == (state, kind), layers
    # What it let run and did not start yet is asked about once more.
    assert not tool.attempt(stands)


@pytest.mark.parametrize(("said", "again"), [("10.00", "10"), ("10", "10.0"), (10, 1e1), ("-0", "0")])
def test_b31_rejecting_exactly_one_call_beats_always_approve_however_it_is_spelled(
    cast: Cast, agent: AgentHttp, reviewer: PersonHttp, said: Any, again: Any
) -> None:
    agent.put("/tools/refund", {"effect": "once", "schema": {}}).ok()
    put(cast)
    first, second = refund(agent, said), refund(agent, "99")
    reviewer.decide(first, "reject", message="Not this one.").ok()
    reviewer.decide(second, "approve", remember={"scope": "agent", "bounds": "any"}).ok()
    assert refund(agent, "98")["state"] == "allowed"
    assert refund(agent, again)["state"] == "waiting"
