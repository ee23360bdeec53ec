"""Conditions against the schemas of tools: a mistake is refused with its place and the expected type."""

from __future__ import annotations

from typing import Any

import pytest
from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.policies.check_conditions import Described, check_conditions, errors_of
from reviewhub.policies.model import Rule
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.reading import parse_policy
from reviewhub.tools.models import Tool
from tests.policies.conftest import Publish

SCHEMA = {
    "type": "object",
    "properties": {
        "amount": {"type": "number"},
        "count": {"type": "integer"},
        "note": {"type": "string"},
        "fast": {"type": "boolean"},
        "customer": {"type": "object", "properties": {"country": {"enum": ["DE", "FR"]}}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "day": {"type": "string", "format": "date-time"},
    },
}
REFUND = Described("Shop", "refund", canonical.dumps(SCHEMA))
OPEN = Described("Shop", "open", canonical.dumps({"type": "object", "anyOf": [{}, {}]}))


def wrong(tools: list[Described], **fields: Any) -> list[tuple[str, str, str]]:
    rule = Rule(name="r", tool=fields.pop("tool", "*"), action="require", **fields)
    return [(error["path"], error["code"], error["message"]) for error in errors_of(rule, tools)]


def when(path: str, test: str, value: Any = None) -> dict[str, Any]:
    return {"when": ({"path": path, "test": test, "value": value},)}


@pytest.mark.parametrize(
    "fields",
    [
        when("amount", "is_over", 5), when("count", "is", 5), when("note", "contains", "x"), when("fast", "is", True),
        when("customer.country", "is_one_of", ("DE", "AT")), when("items.0.sku", "starts_with", "G"),
        when("items", "contains", "x"), when("note", "is_over", 5), when("note", "is_missing"),
        {"expression": "args.amount > 5 && args.items.exists(i, i.sku == 'x')"},
        {"expression": "timestamp(args.day) > timestamp('2026-01-01T00:00:00Z')"},
        {"expression": "args.customer.country in ['DE', 'FR'] || args.fast"},
    ],
)  # fmt: skip
def test_what_the_schema_allows(fields: dict[str, Any]) -> None:
    assert wrong([REFUND], **fields) == []


@pytest.mark.parametrize(
    ("fields", "path", "code", "said"),
    [
        (when("amout", "is_over", 5), "/when/0/path", "unknown_path", "Calls of refund have no “amout”."),
        (when("customer.land", "is", "DE"), "/when/0/path", "unknown_path", "customer.land"),
        (
            when("fast", "is_over", 5),
            "/when/0/value",
            "wrong_type",
            "fast is true or false, and “is over” needs",
        ),
        (
            when("amount", "is", "5"),
            "/when/0/value",
            "wrong_type",
            "amount is a number, and “is” needs a text.",
        ),
        (when("customer", "contains", "x"), "/when/0/value", "wrong_type", "customer is an object"),
        (
            when("customer.country", "is", "GB"),
            "/when/0/value",
            "never_holds",
            'country is one of "DE", "FR", so “customer.country is “GB”” never holds.',
        ),
        (when("customer.country", "is_one_of", ("GB", "US")), "/when/0/value", "never_holds", "never holds"),
        (when("customer.country", "starts_with", "G"), "/when/0/value", "never_holds", "never holds"),
        ({"expression": "args.amout > 5"}, "/expression", "unknown_path", "amout"),
        ({"expression": "args.note > 5"}, "/expression", "wrong_type", "Tried on"),
        ({"expression": "args.amount * 1.1 > 5.0"}, "/expression", "wrong_type", "Tried on"),
        ({"expression": "args.amount >"}, "/expression", "bad_expression", "cannot be read"),
    ],
)
def test_what_it_does_not(fields: dict[str, Any], path: str, code: str, said: str) -> None:
    ((where, what, message),) = wrong([REFUND], **fields)
    assert (where, what) == (path, code) and said in message


def test_what_one_of_several_tools_may_have_is_taken() -> None:
    assert wrong([REFUND, OPEN], **when("amout", "is_over", 5)) == []
    assert wrong([], **when("amout", "is_over", 5)) == []
    assert wrong([REFUND], tool="other.*", **when("amout", "is_over", 5)) == []
    assert wrong([REFUND], agent="Other", **when("amout", "is_over", 5)) == []


def test_a_listed_value_is_compared_as_the_rule_compares() -> None:
    """A rule that holds takes what reads like it, one that lets run the exact text only."""
    held = when("customer.country", "is", "de")
    assert wrong([REFUND], **held) == []
    rule = Rule(name="r", tool="*", action="allow", **held)
    assert [error["code"] for error in errors_of(rule, [REFUND])] == ["never_holds"]


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/amount", "amount"),
        ("/customer/country", "customer.country"),
        ("$.amount", "amount"),
        ("args.amount", "amount"),
        ("items[0].sku", "items.0.sku"),
        ("customer['country']", "customer.country"),
    ],
)
@pytest.mark.parametrize("tool", ["refund", "unknown"])
def test_a_path_as_others_write_it_is_refused_also_where_no_schema_tells(
    agent: Any, path: str, plain: str, tool: str
) -> None:
    line = {"name": "r", "tool": tool}
    tests = [{"path": path, "test": "is_there"}]
    policy = {
        "rules": [{**line, "action": "require", "locked_fields": [path], "when": tests}],
        "limits": [{**line, "sum_of": path, "most": 5, "window_seconds": 60}],
    }
    found = check_conditions(parse_policy(canonical.dumps(policy)), agent.workspace_id)
    assert [one["path"] for one in found] == [
        "/rules/0/when/0/path", "/rules/0/locked_fields/0", "/limits/0/sum_of"
    ]  # fmt: skip
    assert all(f"such as “{plain}”" in one["message"] for one in found)


def test_a_name_that_looks_like_a_pointer_and_is_one_is_taken(agent: Any) -> None:
    schema = canonical.dumps(
        {"type": "object", "properties": {"args": {"properties": {"amount": {}}}, "/x": {}}}
    )
    Tool.objects.filter(name="refund").update(schema=schema)
    tests = [{"path": path, "test": "is_there"} for path in ("args.amount", "/x")]
    rules = [{"name": "r", "tool": "refund", "action": "deny", "when": tests}]
    assert check_conditions(parse_policy(canonical.dumps({"rules": rules})), agent.workspace_id) == []


def test_publishing_refuses_it_and_stores_nothing(agent: Any, put_in_force: Publish) -> None:
    Tool.objects.filter(name="refund").update(schema=REFUND.schema)
    bad = {"name": "Big", "tool": "refund", "action": "require"}
    with pytest.raises(Invalid) as refused:
        put_in_force({"name": "a", "tool": "*", "action": "deny"}, bad | when("amout", "is_over", 5))
    assert refused.value.errors[0]["path"] == "/rules/1/when/0/path"
    assert not PolicyVersion.objects.exists()
    put_in_force(bad | when("amount", "is_over", 5))


SIDES = [
    ("args.amount < '1000' && args.note.startsWith('DE')", "args.amount < '1000'"),
    ("args.note.startsWith('DE') && args.amount < '1000'", "args.amount < '1000'"),
    ("args.note == 'x' || args.amount < '1000'", "args.amount < '1000'"),
    ("!(args.fast || (args.fast ? args.amount > 'x' : args.note == 'a'))", "args.amount > 'x'"),
    ("(args.fast ? args.amount : args.note) > 5", "(args.fast ? args.amount : args.note) > 5"),
    ("args.fast && size([1, args.fast ? args.note : args.amount]) > 1 && args.note > 1", "args.note > 1"),
    ("args.items.exists(i, i.sku == 'a' && i.sku > 5)", "i.sku > 5"),
    ("size(args.items.filter(i, i.sku.startsWith('a') || i.sku < 3)) > 2", "i.sku < 3"),
    ("args.fast && args.amount", "args.amount"),
    ("args.fast ? args.amount > 5 : args.note", "args.note"),
    ("args.fast || args['amount'] == '5'", "args['amount'] == '5'"),
    ("args.fast || args.note in [1, 2]", "args.note in [1, 2]"),
    ("args.fast || args.amount.startsWith('x')", "args.amount.startsWith('x')"),
    ("args.fast || -args.note > 1", "-args.note > 1"),
    ("args.fast && {'a': args.note > 1}['a']", "args.note > 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "part"), SIDES)
def test_each_side_of_an_expression_is_tried_by_itself(text: str, part: str) -> None:
    """`&&` and `||` take no notice of a side that fails where the other decides: on a sample it mostly does."""
    found = wrong([REFUND], expression=text)
    assert [(path, code) for path, code, _ in found] == [("/expression", "wrong_type")]
    assert f"“{part}” fails: " in found[0][2]


@pytest.mark.parametrize(
    "text",
    [
        "args.amount == 5 || args.amount == 5.5 || args.amount == -5",
        "has(args.note) && args.note.matches('a+') && args.note.contains('&& (')",
        "args.fast == true && args.note != null && args.note in ['a', 'b']",
        "type(args.either) == int && args.either > 5 || type(args.either) == string && args.either == 'x'",
        "args.maybe != null && args.maybe > 5",
        "args.open > 5 && args.open.startsWith('x')",
        "args.fast ? args.amount > 5 : args.note < 'x'",
        "{'a': args.fast ? 1 : 2}['a'] == 1 && size([args.fast ? 1 : 2, 3]) == 2",
        "args.items.map(i, i.sku.size() > 1, i.sku + 'x') == ['x'] || plan_step == 'refund'",
    ],
)
def test_what_some_call_may_pass_is_taken(text: str) -> None:
    more = {
        "either": {"type": ["string", "integer"]},
        "maybe": {"type": ["number", "null"], "default": None},
        "open": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    }
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], **more}}  # type: ignore[dict-item]
    assert wrong([Described("Shop", "refund", canonical.dumps(schema))], expression=text) == []


def test_a_part_is_looked_at_for_the_tools_that_have_what_it_names() -> None:
    mail = Described(
        "Shop", "mail", canonical.dumps({"type": "object", "properties": {"to": {"type": "string"}}})
    )
    both = "tool == 'refund' && args.amount > 5 || tool == 'mail' && args.to == 'x'"
    assert wrong([REFUND, mail], expression=both) == []
    ((_, _, said),) = wrong([REFUND, mail], expression=both.replace("> 5", "> '5'"))
    assert "“args.amount > '5'” fails: “>” cannot take a whole number and a text." in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("args.amount >", "The expression cannot be read at character 14: it ends there."),
        ("(args.amount > 1", "cannot be read at character 17: it ends there, and ) is missing."),
        ("args.fast and args.fast", "at character 11: “and” was found; it is written &&."),
        ("args.amount = 5", "has “=” at character 13, which is not taken; the same is written ==."),
        ("amount > 5", "names “amount” at character 1, which it does not know; an argument is args.NAME."),
        ("'a' < 1", "is wrong at character 5: “<” cannot take a text and a whole number."),
        ("args.amount 5", "cannot be read at character 13: “5” was found."),
    ],
)
def test_a_fault_of_writing_says_where_it_is_and_what_was_found(text: str, said: str) -> None:
    ((_, code, message),) = wrong([REFUND], expression=text)
    assert code == "bad_expression" and message.endswith(said) and "expecting" not in message


def test_all_faults_come_in_one_answer(agent: Any, put_in_force: Publish) -> None:
    """Of all rules, and of one: form, values, paths, expressions and teams."""
    Tool.objects.filter(name="refund").update(schema=REFUND.schema)
    bad = {
        "name": "Bad", "tool": "refund", "action": "require", "approvals": 99, "deadline_seconds": "soon",
        "team": "None",
        "when": [{"path": "amout", "test": "is_over", "value": "much"}], "expression": "args.note > 5",
    }  # fmt: skip
    with pytest.raises(Invalid) as refused:
        put_in_force(
            bad, {"name": "Next", "tool": "refund", "action": "deny", "expression": "args.nothing == 1"}
        )
    assert sorted(error["path"] for error in refused.value.errors) == [
        "/rules/0/approvals", "/rules/0/deadline_seconds", "/rules/0/expression", "/rules/0/team",
        "/rules/0/when/0/path", "/rules/0/when/0/value", "/rules/1/expression",
    ]  # fmt: skip
    said = {error["path"]: error["message"] for error in refused.value.errors}
    assert said["/rules/0/when/0/value"] == "“is over” needs a number, and not “much”."
