"""What a call takes of a limit: exact decimals, and approval for whatever cannot be counted. No database."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.core.errors import Invalid
from reviewhub.limits.rules import UNITS, about, said, weighed
from reviewhub.policies.arguments import Arguments
from reviewhub.policies.limit import Limit
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Call

SUM = {"name": "Money", "tool": "pay.*", "window_seconds": 3600, "sum_of": "amount", "most": 500}


def limit(**fields: Any) -> Limit:
    return parse_policy(json.dumps({"limits": [{**SUM, **fields}]})).limits[0]


def asked(arguments: str = "{}", tool: str = "pay.refund", **fields: Any) -> Call:
    given = {"agent": "A", "agent_team": "Support", "environment": "production", **fields}
    return Call(
        tool=tool, registered=True, known=True, effect="once", arguments=Arguments(arguments), **given
    )


WEIGHED = [
    # arguments, taken before, what is wrong
    ('{"amount": 100}', "400", ""),
    ('{"amount": 100.000001}', "400", "400 of 500 amount are taken, and this takes 100.000001"),
    ('{"amount": "100.01"}', "400", "this takes 100.01"),
    ('{"amount": "0.1"}', "499.9", ""),
    ('{"amount": 1e2}', "400", ""),
    ('{"amount": 501}', "0", "this takes 501"),
    ('{"amount": 0}', "500", ""),
    ("{}", "0", "amount is missing"),
    ('{"amount": null}', "0", "amount is null"),
    ('{"amount": true}', "0", "amount is true or false"),
    ('{"amount": [1]}', "0", "amount is a list"),
    ('{"amount": "many"}', "0", "amount is a text"),
    ('{"amount": -400}', "400", "amount is less than nothing"),
    ('{"amount": 0.0000001}', "0", "more than 6 decimals"),
    ('{"amount": "1.00000000000000000000000000001"}', "0", "more than 6 decimals"),
    ('{"amount": 1000000000001}', "0", "more than 1000000000000"),
    ('{"amount": 0.30000000000000004441}', "0", "more digits than 64 bits hold exactly"),
]


@pytest.mark.parametrize(("arguments", "used", "wrong"), WEIGHED)
def test_what_a_call_takes(arguments: str, used: str, wrong: str) -> None:
    whole, _, rest = used.partition(".")
    before = int(whole) * UNITS + int(rest.ljust(6, "0"))
    found = weighed(limit(), asked(arguments), used=before)
    assert wrong in found.why
    assert bool(found.why) == bool(wrong)
    assert found.is_countable == (not wrong or "this takes" in wrong)


def test_calls_are_counted_where_nothing_is_added_up() -> None:
    few = limit(sum_of=None, most=2)
    assert [bool(weighed(few, asked(), used=taken * UNITS).why) for taken in (0, 1, 2, 3)] == [0, 0, 1, 1]
    assert said(2 * UNITS) == "2"
    assert said(1) == "0.000001"


ABOUT = [
    ({}, {}, True),
    ({}, {"tool": "PAY.refund"}, True),
    ({}, {"tool": "mail.send"}, False),
    ({"agent": "A"}, {"agent": "B"}, False),
    ({"agent_team": "Support"}, {}, True),
    ({"environment": "Production"}, {}, True),
    ({"environment": "staging"}, {}, False),
]


@pytest.mark.parametrize(("fields", "given", "counts"), ABOUT)
def test_which_calls_count(fields: dict[str, Any], given: dict[str, Any], counts: bool) -> None:
    assert bool(about([limit(**fields)], asked(**given))) == counts


REFUSED = [
    ({"most": 1.5}, "/limits/0/most"),
    ({"most": "1e3"}, "/limits/0/most"),
    ({"most": "1.1234567"}, "/limits/0/most"),
    ({"most": -1}, "less than nothing"),
    ({"most": 10**12 + 1}, "more than can be counted"),
    ({"sum_of": None, "most": "2.5"}, "most is a whole number"),
    ({"then": "deny", "team": "Finance"}, "team belongs to then require"),
    ({"window_seconds": 0}, "/limits/0/window_seconds"),
    ({"on_timeout": "allow"}, "/limits/0/on_timeout"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_what_is_no_limit(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        limit(**fields)
    assert words in f"{refused.value.message} {refused.value.errors}"


def test_the_text_of_a_policy_keeps_them() -> None:
    text = (
        '{"limits":[{"most":"0.50","name":"a","sum_of":"x","tool":"*","window_seconds":1}],'
        '"waiting":[{"most":3,"name":"w"}]}'
    )
    assert policy_text(parse_policy(text)) == text
    with pytest.raises(Invalid, match="two limits are called 'Money'"):
        parse_policy(json.dumps({"limits": [SUM, SUM]}))
