"""Every text of a policy has a limit of its own, said in the same way on every path and by the published schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from reviewhub.core.yaml_text import write_yaml
from reviewhub.policies.models import PolicyDraft, PolicyVersion
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.schema import policy_schema
from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, policy
from tests.ops.test_policy_command import run
from tests.web.test_policy import EDIT, send

RULE = {"name": "Big", "tool": "refund", "action": "require"}
LIMIT = {"name": "Few", "tool": "refund", "most": 5, "window_seconds": 60}


def when(test: str, value: Any, path: str = "to") -> dict[str, Any]:
    return {**RULE, "when": [{"path": path, "test": test, "value": value}]}


def long(length: int) -> list[tuple[str, int, dict[str, Any]]]:
    """Every place of a policy that holds a free text, its limit, and a policy with one that is over it by `length`."""
    x, y = "x" * (200 + length), "x" * (1000 + length)
    rules = [
        ("name", 200, {**RULE, "name": x}),
        ("tool", 200, {**RULE, "tool": x}),
        ("agent", 200, {**RULE, "agent": x}),
        ("agent_team", 200, {**RULE, "agent_team": x}),
        ("environment", 200, {**RULE, "environment": x}),
        ("team", 200, {**RULE, "team": x}),
        ("expression", 1000, {**RULE, "expression": f"args.to == '{y[13:]}'"}),
        ("when/0/path", 200, when("is", "a", x)),
        ("when/0/value", 1000, when("is", y)),
        ("when/0/value", 1000, when("starts_with", y)),
        ("when/0/value/1", 1000, when("is_one_of", ["a", y])),
        ("locked_fields/0", 200, {**RULE, "locked_fields": [x]}),
        ("stages/0/team", 200, {**RULE, "stages": [{"team": x}]}),
        ("escalation/0/team", 200, {**RULE, "escalation": [{"after_seconds": 5, "team": x}]}),
    ]
    caps = [
        ("limits/0/name", 200, "limits", {**LIMIT, "name": x}),
        ("limits/0/tool", 200, "limits", {**LIMIT, "tool": x}),
        ("limits/0/sum_of", 200, "limits", {**LIMIT, "sum_of": x}),
        ("limits/0/team", 200, "limits", {**LIMIT, "team": x}),
        ("waiting/0/name", 200, "waiting", {"name": x, "most": 5}),
    ]
    return [
        *((f"/rules/0/{at}", most, {"rules": [rule]}) for at, most, rule in rules),
        *((f"/guardrails/0/{at}", most, {"rules": [], "guardrails": [rule]}) for at, most, rule in rules),
        *((f"/{at}", most, {"rules": [], layer: [line]}) for at, most, layer, line in caps),
    ]


def test_each_text_that_is_too_long_is_refused_by_the_api_and_as_a_file(cast: Cast, tmp_path: Path) -> None:
    alice, path = PersonHttp(cast.alice), tmp_path / "policy.yaml"
    for at, most, text in long(1):
        said = f"Should not be longer than {most} characters."
        refused = alice.post("/policy/check", {"policy": text})
        found = [(one["path"], one["message"]) for one in refused.json["errors"]]
        assert (refused.status, found) == (422, [(f"/policy{at}", said)])
        path.write_text(write_yaml(text))
        words = run("apply", str(path), reason="x")[1]
        line = text[at.split("/")[1]][0]
        assert said in words and (line["name"] in words or at.endswith("/name")), at
    body = {"policy": long(1)[8][2], "note": "n", "base": 0}
    assert alice.post("/policy/publish", body).status == 422
    assert not PolicyVersion.objects.exists() and not PolicyDraft.objects.exists()


def test_a_text_at_its_limit_is_taken(cast: Cast) -> None:
    alice = PersonHttp(cast.alice)
    for at, _, text in long(0):
        if not at.endswith("team"):
            assert alice.post("/policy/check", {"policy": text}).status == 200, at


def test_the_page_names_rule_place_and_limit_and_keeps_what_was_typed(cast: Cast, client: Client) -> None:
    policy(cast.support, {**RULE, "when": [{"path": "to", "test": "is", "value": "a"}]})
    client.force_login(cast.alice.person)
    edited = client.get(EDIT).content.decode()
    page = send(client, edited, "publish", note="why", **{"r0-c0-value": "y" * 1001})
    assert PolicyVersion.objects.count() == 1
    told = "Rule 1 (Big), condition 1 value: Should not be longer than 1000 characters."
    assert told in page and "y" * 1001 in page
    (field,) = re.findall(r'<input[^>]*id="r0-c0-value"[^>]*>', page)
    assert 'aria-invalid="true"' in field
    page = send(client, edited, "publish", note="why", **{"r0-name": "x" * 201})
    assert "name: Should not be longer than 200 characters." in page and PolicyVersion.objects.count() == 1


def test_a_reason_that_is_too_long_is_refused_and_never_cut(cast: Cast) -> None:
    alice, body = PersonHttp(cast.alice), {"policy": {"rules": [RULE]}, "note": "n" * 401}
    answer = alice.client.put("/api/v1/policy/draft", json.dumps(body), content_type="application/json")
    assert answer.status_code == 422 and answer.json()["errors"][0]["path"] == "/note"
    assert "400" in answer.json()["errors"][0]["message"] and not PolicyDraft.objects.exists()
    assert alice.post("/policy/publish", {**body, "base": 0}).status == 422


def test_what_was_published_before_there_was_a_limit_is_still_read() -> None:
    stored = json.dumps({"rules": [when("is", "y" * 5000)]})
    assert parse_policy(policy_text(parse_policy(stored))).rules[0].when[0].value == "y" * 5000


def texts(tree: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(tree, dict):
        if tree.get("type") == "string" and not {"enum", "const"} & set(tree):
            yield at, tree
        for name, one in tree.items():
            yield from texts(one, f"{at}/{name}")
    elif isinstance(tree, list):
        for number, one in enumerate(tree):
            yield from texts(one, f"{at}/{number}")


def test_the_schema_has_a_limit_for_every_text_and_list() -> None:
    without = [at for at, one in texts(policy_schema()) if "maxLength" not in one]
    assert without == []


@pytest.mark.parametrize("length", [1000, 1001])
def test_what_is_remembered_has_the_same_limit(cast: Cast, length: int) -> None:
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    agent.put("/tools/refund", {"effect": "idempotent", "schema": {"type": "object"}}).ok()
    policy(cast.support, RULE)
    note = "y" * length
    (first,) = agent.pause(agent.run()["id"], call("refund", arguments={"to": note})).ok(201)["tool_calls"]
    bounds = {"when": [{"path": "to", "test": "is", "value": note}]}
    answer = bob.decide(first, "approve", remember={"bounds": "within", **bounds})
    assert answer.status == (200 if length == 1000 else 422), answer.json
