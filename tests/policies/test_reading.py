"""Policy text: strict reading, exact writing, warnings."""

import json

import pytest

from reviewhub.core.errors import Invalid
from reviewhub.policies.reading import (
    cautions,
    parse_policy,
    parse_requirement,
    policy_text,
    requirement_text,
)
from reviewhub.policies.rules import Policy, Requirement, Rule


def text(*rules: dict) -> str:
    return json.dumps({"rules": list(rules)})


def rule(**fields) -> dict:
    return {"name": "r", "tool": "*", "action": "allow", **fields}


@pytest.mark.parametrize(
    ("raw", "path", "code"),
    [
        ("", "", "invalid_json"),
        ("[]", "", "model_type"),
        ('{"rules":[],"rules":[]}', "/rules", "duplicate_key"),
        ('{"rules":null}', "/rules", "tuple_type"),
        ('{"rule":[]}', "/rule", "extra_forbidden"),
        (text({"name": "r"}), "/rules/0/tool", "missing"),
        (text(rule(action="Allow")), "/rules/0/action", "literal_error"),
        (text(rule(action=True)), "/rules/0/action", "literal_error"),
        (text(rule(tool="")), "/rules/0/tool", "string_too_short"),
        (text(rule(tool="a\nb")), "/rules/0/tool", "string_pattern_mismatch"),
        (text(rule(tool="a\n")), "/rules/0/tool", "string_pattern_mismatch"),
        (text(rule(name="x" * 201)), "/rules/0/name", "string_too_long"),
        (text(rule(where="x")), "/rules/0/where", "extra_forbidden"),
        (text(rule(action="require", approvals="2")), "/rules/0/approvals", "int_type"),
        (text(rule(action="require", approvals=0)), "/rules/0/approvals", "greater_than_equal"),
        (text(rule(action="require", approvals=1.5)), "/rules/0/approvals", "int_type"),
        (text(rule(action="require", approvals=True)), "/rules/0/approvals", "int_type"),
        (text(rule(action="require", four_eyes="no")), "/rules/0/four_eyes", "bool_type"),
        (text(rule(action="require", on_timeout="allow")), "/rules/0/deadline_seconds", "value_error"),
        (text(rule(action="require", allowed_decisions=[])), "/rules/0/allowed_decisions", "too_short"),
        (
            text(rule(action="require", allowed_decisions=["yes"])),
            "/rules/0/allowed_decisions/0",
            "literal_error",
        ),
        (text(rule(action="allow", team="Finance")), "/rules/0/team", "value_error"),
        (text(rule(), rule()), "/rules/1/name", "value_error"),
    ],
)
def test_what_is_wrong_is_named_by_path(raw, path, code):
    with pytest.raises(Invalid) as caught:
        parse_policy(raw)
    assert (caught.value.errors[0]["path"], caught.value.errors[0]["code"]) == (path, code)
    assert caught.value.errors[0]["message"]


def test_a_policy_comes_back_as_it_was_written():
    raw = text(
        rule(name="a", tool="payments.*", action="require", team="Finance", approvals=2, deadline_seconds=60),
        rule(name="b", action="deny", environment="production"),
    )
    policy = parse_policy(raw)
    assert parse_policy(policy_text(policy)) == policy
    assert json.loads(policy_text(policy)) == json.loads(raw)
    assert policy.teams() == {"Finance"}


def test_a_requirement_comes_back_with_every_field():
    requirement = Requirement(
        team="Finance", approvals=2, allowed_decisions=("approve", "reject"), four_eyes=True
    )
    stored = requirement_text(requirement)
    assert parse_requirement(stored) == requirement
    assert set(json.loads(stored)) == set(Requirement.model_fields)


def test_a_broken_requirement_is_refused():
    with pytest.raises(Invalid):
        parse_requirement('{"team":"Finance","approvals":null}')


def built(*rules: tuple[str, str] | tuple[str, str, dict]) -> Policy:
    return Policy(
        rules=tuple(
            Rule(name=f"r{position}", tool=tool, action=action, **(rest[0] if rest else {}))
            for position, (tool, action, *rest) in enumerate(rules, start=1)
        )
    )


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([("*.get", "allow"), ("*", "require")], []),
        ([("*", "require"), ("*.get", "allow")], [(2, "hidden")]),
        ([("FILES.*", "deny"), ("files.read", "allow")], [(2, "hidden")]),
        ([("files.*", "allow"), ("files.read", "observe")], [(2, "hidden")]),
        ([("files.*", "allow"), ("files.delete", "deny")], [(2, "hidden_for_known_tools")]),
        ([("FILES.*", "allow"), ("files.delete", "deny")], []),
        ([("a", "deny", {"agent": "x"}), ("a", "allow")], []),
        ([("a", "deny"), ("a", "allow", {"agent": "x"})], [(2, "hidden")]),
        ([("a", "deny", {"environment": "Prod"}), ("a", "allow", {"environment": "prod"})], [(2, "hidden")]),
        ([("検*", "allow")], [(1, "never_matches")]),
        ([("*", "allow"), ("検索", "allow")], []),
        ([("оrders", "allow")], [(1, "held")]),
    ],
)
def test_rules_that_cannot_be_meant_are_named(rules, expected):
    assert [(caution.position, caution.code) for caution in cautions(built(*rules))] == expected


def test_a_rule_that_matches_no_tool_is_named():
    policy = built(
        ("orders.*", "allow"), ("Orders.get", "allow"), ("ORDERS.GET", "deny"), ("refund", "require")
    )
    found = cautions(policy, tools=["orders.get"])
    assert [(caution.position, caution.code) for caution in found] == [
        (2, "matches_nothing"),
        (4, "matches_nothing"),
    ]


def test_a_pattern_is_told_in_words():
    tests = [{"path": "a..b", "test": "is_there"}]
    limit = {"name": "l", "tool": "*", "most": "a lot", "window_seconds": 9}
    with pytest.raises(Invalid) as caught:
        parse_policy(json.dumps({"rules": [rule(name="a\nb", when=tests)], "limits": [limit]}))
    said = " ".join(one["message"] for one in caught.value.errors)
    assert "^" not in said and all(one in said for one in ("one line", "dots between", "500 or 99.50"))
