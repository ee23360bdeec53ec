"""B31, round a guardrail by another word: an agent says of its tool that it does less than it did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from reviewhub.policies.known_tools import remember
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.reading import parse_policy
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, call

BY_EFFECT = ('effect == "once"', 'effect != "read"')


def guardrail(cast: Cast, rule: dict[str, Any]) -> None:
    text = json.dumps({"guardrails": [rule], "rules": []}, sort_keys=True, separators=(",", ":"))
    made = PolicyVersion.objects.create(workspace=cast.workspace, number=1, rules=text, author_name="test")
    remember(made, parse_policy(text))


@pytest.mark.parametrize("expression", BY_EFFECT)
@pytest.mark.parametrize("effect", ["read", "idempotent"])
def test_b31_a_weaker_effect_slips_no_guardrail(
    cast: Cast, agent: AgentHttp, client: Client, expression: str, effect: str
) -> None:
    def described(as_: str) -> None:
        agent.put("/tools/refund", {"effect": as_, "description": "Pays back."}).ok()

    def answer() -> Any:
        return agent.pause(agent.run()["id"], call("refund")).ok(201)["tool_calls"][0]["state"]

    described("once")
    guardrail(cast, {"name": "Never", "tool": "*", "expression": expression, "action": "deny"})
    assert answer() == "denied"
    described(effect)
    assert answer() == "denied"
    tool = Tool.objects.get(name="refund")
    client.force_login(cast.alice.person)
    page = client.get("/northwind/tools").content.decode()
    assert f'name="effect" value="{effect}"' in page
    client.post(f"/northwind/tools/{tool.pk}/change", {"sentence": "", "risk": tool.risk, "effect": "once"})
    assert answer() == "denied", "what was read was another effect"
    client.post(f"/northwind/tools/{tool.pk}/change", {"sentence": "", "risk": tool.risk, "effect": effect})
    assert (answer() == "denied") is (expression != 'effect == "once"' and effect != "read")
