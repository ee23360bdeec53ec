"""What takes time of the arguments is done before their call is locked, and holds only while nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from reviewhub_agents import canonical

from reviewhub.policies import facts
from reviewhub.toolcalls.ahead import Ahead, read_ahead
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.today import today
from reviewhub.tools.models import Tool
from tests.cast import Cast
from tests.driver import AgentHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db
SCHEMA = {"type": "object", "properties": {"amount": {"type": "number", "maximum": 100}}}


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    found = agent_of(cast.support)
    found.put("/tools/refund", {"effect": "once", "schema": SCHEMA}).ok()
    policy(cast.support, {"name": "Small", "tool": "refund", "action": "allow",
                          "when": [{"path": "amount", "test": "is_under", "value": 50}]})  # fmt: skip
    return found


def test_a_consume_reads_and_checks_before_it_locks(
    agent: AgentHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused = agent.pause(agent.run()["id"], call("refund", arguments={"amount": 5})).ok(201)
    outside, found = len(connection.savepoint_ids), []
    check, read = facts.validate_tree, canonical.reread

    def noted(work: Any) -> Any:
        def does(*given: Any) -> Any:
            found.append((work.__name__, len(connection.savepoint_ids) - outside))
            return work(*given)

        return does

    monkeypatch.setattr(facts, "validate_tree", noted(check))
    monkeypatch.setattr(canonical, "reread", noted(read))
    agent.consume(paused["tool_calls"][0]).ok()
    assert {depth for name, depth in found if name == check.__name__} == {0}
    assert [name for name, _ in found].count(check.__name__) == 1


def ahead_of(row: ToolCall) -> Ahead:
    found = read_ahead(row.pk)
    assert found is not None
    return found


def test_what_was_read_of_another_version_or_schema_counts_for_nothing(agent: AgentHttp) -> None:
    agent.pause(agent.run()["id"], call("refund", arguments={"amount": 5})).ok(201)
    row = ToolCall.objects.select_related("agent__team", "run", "branch").get()
    ahead = ahead_of(row)
    assert today(row, ahead).answer.action == "allow"
    text = '{"amount":99}'
    other = replace(ahead, version=row.version + 1, arguments=text, tree=canonical.reread(text))
    assert today(row, other).arguments == '{"amount":5}' and today(row, other).answer.action == "allow"
    Tool.objects.update(
        schema=canonical.dumps(canonical.parse('{"properties":{"amount":{"maximum":3}}}', max_bytes=99))
    )
    assert today(row, ahead).facts.schema_problem == today(row).facts.schema_problem != ""
