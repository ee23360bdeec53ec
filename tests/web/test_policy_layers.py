"""The policy pages with guardrails and conditions, without script."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client
from reviewhub_agents import canonical

from reviewhub.accounts.models import Member
from reviewhub.policies.model import Condition
from reviewhub.policies.models import PolicyVersion
from reviewhub.web.policy_conditions import ConditionForm, read
from tests.cast import Cast
from tests.web.make import agent_of, waiting
from tests.web.test_pages import rule_fields
from tests.web.test_policy import EDIT, get, send

As = Callable[[Member], Client]


@pytest.mark.parametrize(
    ("test", "value", "written"),
    [
        ("is_over", 500, "500"), ("is", "500", '"500"'), ("is", True, "true"), ("is", "true", '"true"'),
        ("is", "prod", "prod"), ("contains", "500", "500"), ("is_one_of", ("DE", 5), "DE, 5"), ("is_there", None, ""),
        ("is_at_most", 0.1, "0.1"), ("is", "", '""'),
    ],
)  # fmt: skip
def test_a_condition_comes_back_from_its_fields(test: str, value: object, written: str) -> None:
    made = Condition(path="a.b", test=test, value=value)
    form = ConditionForm.of(made)
    assert form.value == written
    (again,) = read({"r0-c3-path": "a.b", "r0-c3-test": test, "r0-c3-value": form.value}, "r0-")
    assert Condition.model_validate_json(canonical.dumps(again.tree())) == made


def test_guardrails_and_conditions_are_written_and_shown(cast: Cast, as_: As) -> None:
    client = as_(cast.alice)
    page = send(client, send(client, get(client, EDIT), "gadd"), "add")
    more = {
        "g0-name": "Big", "g0-tool": "refund", "g0-team": "Finance", "g0-approvals": "2", "g0-c0-path": "amount",
        "g0-c0-test": "is_over", "g0-c0-value": "500", "r0-name": "Small", "r0-tool": "refund", "r0-action": "allow",
        "r0-agent_team": "Support", "r0-expression": "args.amount < 10", "r0-c0-path": "note", "r0-c0-test": "is_there",
    }  # fmt: skip
    page = send(client, page, "check", **more)
    fields = rule_fields(page)
    assert (fields["g0-c0-path"], fields["g0-c0-value"], fields["g0-c1-path"]) == ("amount", "500", "")
    send(client, page, "publish", note="why", **more)
    stored = json.loads(PolicyVersion.objects.get().rules)
    assert stored["guardrails"][0]["when"] == [{"path": "amount", "test": "is_over", "value": 500}]
    assert stored["rules"][0]["expression"] == "args.amount < 10"
    assert stored["rules"][0]["when"] == [{"path": "note", "test": "is_there"}]
    shown = get(client, "/northwind/policy")
    assert "amount is over 500" in shown and "args.amount < 10" in shown and 'id="guardrail-1"' in shown
    assert rule_fields(get(client, EDIT))["r0-agent_team"] == "Support"
    page = send(client, get(client, EDIT), "gremove-0")
    assert "g0-name" not in rule_fields(page) and rule_fields(page)["r0-name"] == "Small"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"r0-c0-path": "amout", "r0-c0-test": "is_over", "r0-c0-value": "5"},
            "Rule 1 (R), condition 1 path: Call",
        ),
        (
            {"r0-c0-path": "amount", "r0-c0-test": "is_over", "r0-c0-value": "five"},
            "“is over” needs a number, and not “five”.",
        ),
        (
            {"r0-expression": "args.amount >"},
            "Rule 1 (R), expression: The expression cannot be read at character 14",
        ),
        ({"r0-expression": "args.l.all(x, args.l.all(y, x == y))"}, "one macro is the limit"),
    ],
)
@pytest.mark.parametrize("button", ["check", "publish"])
def test_a_wrong_condition_is_named_and_nothing_saved(
    cast: Cast, as_: As, changed: dict[str, str], said: str, button: str
) -> None:
    waiting(
        cast.support,
        tool="refund",
        schema='{"properties":{"amount":{"type":"number"},"l":{}},"type":"object"}',
    )
    client = as_(cast.alice)
    page = send(client, get(client, EDIT), "add")
    shown = send(client, page, button, note="why", **{"r0-name": "R", "r0-tool": "refund", **changed})
    assert said in shown
    assert not PolicyVersion.objects.exists()


def test_trying_a_draft_says_what_each_rule_said(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    client = as_(cast.alice)
    page = send(client, send(client, get(client, EDIT), "gadd"), "add")
    more = {
        "g0-name": "Big", "g0-tool": "refund", "g0-c0-path": "amount", "g0-c0-test": "is_over", "g0-c0-value": "500",
        "r0-name": "Other", "r0-tool": "mail.send", "try-agent": agent.name, "try-tool": "refund",
        "try-arguments": '{"amount":"x"}',
    }  # fmt: skip
    shown = send(client, page, "try", **more)
    assert "amount is a text, and a number is expected" in shown
    assert "the tool does not read like mail.send" in shown
    assert ">answers</span>" in shown


def test_a_call_is_tried_inside_of_a_step_of_a_plan(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    client = as_(cast.alice)
    page = send(client, get(client, EDIT), "add")
    more = {
        "r0-name": "In the plan", "r0-tool": "pay", "r0-expression": "plan_step == 'pay'", "try-agent": agent.name,
        "try-tool": "pay", "try-arguments": "{}",
    }  # fmt: skip
    outside = send(client, page, "try", **more)
    assert 'name="try-step"' in outside and "the expression does not hold" in outside
    inside = send(client, page, "try", **more, **{"try-step": "pay"})
    assert "the expression does not hold" not in inside and '<span class="tag">answers</span>' in inside
    assert 'name="try-step"' not in get(client, EDIT), "nothing asks for it"
