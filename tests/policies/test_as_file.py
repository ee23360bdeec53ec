"""A policy as a file: everything that a policy says comes back, and errors say where they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from reviewhub_agents import canonical

from reviewhub.core.errors import Invalid
from reviewhub.policies.as_file import File, policy_file
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.schema import policy_schema, schema_text

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = re.findall(r"```json\n(.*?)```", (DOCS / "policy.md").read_text(), re.S)
HELD = "rules:\n- name: A\n  tool: x\n  action: require\n"
ODD = {
    "guardrails": [
        {"name": "no", "tool": "1e3", "action": "deny", "when": [{"path": "a", "test": "is", "value": "yes"}]}
    ],
    "rules": [
        {"name": "A: #1 “x” \u202e", "tool": "*", "action": "require", "place": 7, "expression": "args.a == 'b'"},
        {"name": "Ж", "tool": "x", "action": "allow", "place": 2,
         "when": [{"path": "a", "test": "is_one_of", "value": [1, 0.5, True, "1", "~"]},
                  {"path": "b", "test": "is_over", "value": 9007199254740991}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", [*EXAMPLES, json.dumps(ODD)], ids=lambda text: str(len(text)))
def test_a_policy_comes_back_from_its_file(text: str) -> None:
    policy = parse_policy(text)
    written = policy_file(policy, schema="https://example.com/schema")
    assert written.isprintable() or not set(written) & set("\u202e\u200b")
    assert policy_text(File(written).policy) == policy_text(policy)
    assert policy_file(File(written).policy, schema="https://example.com/schema") == written
    tree = canonical.to_python(canonical.parse(policy_text(policy)))
    assert not list(Draft202012Validator(policy_schema()).iter_errors(tree))


def test_a_file_reads_like_the_reference_orders_it() -> None:
    when = '[{"value":5,"test":"is_over","path":"amount"}]'
    text = f'{{"rules":[{{"team":"Finance","when":{when},"action":"require","tool":"pay","name":"Big"}}]}}'
    assert policy_file(parse_policy(text)) == (
        "rules:\n- name: Big\n  tool: pay\n  when:\n  - path: amount\n    test: is_over\n    value: 5\n"
        "  action: require\n  team: Finance\n"
    )
    assert policy_file(parse_policy('{"rules":[]}')) == "rules: []\n"


@pytest.mark.parametrize(
    ("text", "line", "place", "words"),
    [
        (f"{HELD}  approvals: two\n", 5, "Rule 1 (A), approvals: ", "a whole number"),
        (f"{HELD}  four_eyes: yes\n", 5, "Rule 1 (A), four eyes: ", "true or false"),
        ("rules:\n- name: A\n  action: deny\n", 2, "Rule 1 (A), tool: ", "required"),
        ("guardrails:\n- name: A\n  tool: x\n  action: deny\n  teem: B\n", 5, "Guardrail 1 (A), teem: ", "not known"),
        ("rules:\n- name: A\n  tool: x\n  action: deny\n  when:\n  - path: a\n    test: is_over\n    value: big\n",
         8, "Rule 1 (A), condition 1 value: ", "a number"),
        ("rules:\n- name: 12\n  tool: x\n  action: deny\n", 2, "Rule 1 (12), name: ", "a text"),
        ("- a\n", 1, "", "an object"),
        ("", 1, "", "an object"),
        ("rules: 5\n", 1, "", "a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_line_rule_field_and_type(text: str, line: int, place: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        File(text)
    error = refused.value.errors[0]
    assert (error["line"], error["place"]) == (str(line), place), error
    assert words in error["message"]


def test_faults_found_in_the_order_of_places_are_shown_in_that_of_the_file() -> None:
    file = File(
        "rules:\n- {name: B, tool: x, action: deny, place: 2}\n- {name: A, tool: y, action: deny, place: 1}\n"
    )
    found = file.located(Invalid("", errors=[{"path": "/rules/0/tool", "code": "c", "message": "m"}]))
    assert (found.errors[0]["line"], found.errors[0]["place"]) == ("3", "Rule 2 (A), tool: ")


def test_the_schema_in_the_documentation_is_that_of_the_code() -> None:
    stored = (DOCS / "policy.schema.json").read_text()
    assert stored == schema_text(), "manage.py policy schema > docs/policy.schema.json"
    Draft202012Validator.check_schema(policy_schema())
