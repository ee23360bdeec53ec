"""The examples of `docs/policy.md` are policies, and the tests and fields it names are those that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from reviewhub.policies.arguments import Arguments
from reviewhub.policies.limit import Limit, WaitingLimit
from reviewhub.policies.model import Rule, Test
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Call, evaluate

TEXT = (Path(__file__).parents[2] / "docs/policy.md").read_text()


def test_each_example_can_be_read() -> None:
    examples = re.findall(r"```json\n(.*?)```", TEXT, re.S)
    assert len(examples) == 14
    for example in examples:
        parse_policy(example)


def test_every_test_and_every_field_is_named() -> None:
    for name in (*get_args(Test), *Rule.model_fields, *Limit.model_fields, *WaitingLimit.model_fields):
        assert f"`{name}`" in TEXT, name


def call(tool: str, arguments: str = "{}", **fields: Any) -> Call:
    given = {
        "tool": tool, "registered": True, "known": True, "effect": "once", "agent": "Shop", "agent_team": "Support",
        "environment": "production", "arguments": Arguments(arguments),
    }  # fmt: skip
    return Call(**(given | fields))


SUPPORT, REMINDER = "1 approval from Support", call("mail.remind")
WORKED = [
    # the example, a call, and what its text says happens: whom it asks, or that it runs or never does
    (1, call("orders.get"), "allow"),
    (1, call("orders.get", registered=False, known=False), SUPPORT),
    (1, call("orders.get", known=False), SUPPORT),
    (2, call("payments.refund", '{"amount":50}'), "allow"),
    (2, call("payments.refund", '{"amount":"50.01"}'), SUPPORT),
    (2, call("payments.refund", '{"amount":501}'), "2 approvals from Finance"),
    (3, call("db.DROP_table"), "deny"),
    (3, call("db.drop_table", environment="staging"), SUPPORT),
    (4, call("payments.refund"), "1 approval from Finance, four eyes"),
    (5, call("x", environment="staging"), "allow"),
    (5, call("x"), SUPPORT),
    (6, call("mail.send", '{"to":"a@example.com"}'), "allow"),
    (6, call("mail.send", '{"to":"a@example.com.evil"}'), SUPPORT),
    (7, call("orders.update"), "allow"),
    (7, call("orders.update", '{"discount":20}'), "allow"),
    (7, call("orders.update", '{"discount":21}'), SUPPORT),
    (8, call("orders.place", '{"items":[{"sku":"A"},{"sku":"GIFT-50"}]}'), "1 approval from Support"),
    (9, call("tickets.reply"), "observe"),
    (9, call("tickets.reply", agent_team="Sales"), "1 approval from Sales"),
    (10, REMINDER, "1 approval from Support, silence: allow"),
]


@pytest.mark.parametrize(("example", "asked", "said"), WORKED)
def test_each_worked_example_does_what_it_says(example: int, asked: Call, said: str) -> None:
    worked = TEXT.split("## Worked examples")[1].split("\n## ")[0]
    texts = re.findall(r"\*\*(\d+)\. .*?```json\n(.*?)```", worked, re.S)
    assert [int(number) for number, _ in texts] == list(range(1, 11))
    answer = evaluate(parse_policy(dict(texts)[str(example)]), asked)
    needed = answer.requirement
    words = answer.action if needed is None else str(needed)
    if needed is not None and needed.four_eyes:
        words += ", four eyes"
    if needed is not None and needed.on_timeout == "allow":
        words += ", silence: allow"
    assert words == said


def test_the_stages_of_the_second_example_ask_both_teams() -> None:
    found = re.search(r'`"stages": (\[.*?\])`\.', TEXT.split("## Worked examples")[1])
    assert found is not None
    rule = {"name": "Big", "tool": "payments.refund", "action": "require", "stages": json.loads(found[1])}
    needed = evaluate(parse_policy(json.dumps({"rules": [rule]})), call("payments.refund")).requirement
    assert str(needed) == "1 approval from Support, then 2 approvals from Finance"
