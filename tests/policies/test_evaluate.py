"""What policy says, and that it fails closed."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from reviewhub.accounts.models import Agent, Team
from reviewhub.core.errors import Invalid
from reviewhub.policies import evaluate as evaluating
from reviewhub.policies import rules
from reviewhub.policies.evaluate import CallFacts, Resolved, evaluate
from reviewhub.policies.explain import explain
from reviewhub.policies.models import PolicyVersion
from tests.cast import Cast
from tests.policies.conftest import Publish

MARK = "sha256:0"
READ = CallFacts(tool="orders.get", registered=True, effect="read", schema_fingerprint=MARK)
ALLOW_READS = {"name": "Reads", "tool": "orders.get", "action": "allow"}


def ask(agent: Agent, *calls: CallFacts, environment: str = "production") -> list[Resolved]:
    return evaluate(
        workspace_id=agent.workspace_id, agent=agent, environment=environment, calls=calls or [READ]
    )


def needs_approval(answer: Resolved, agent: Agent) -> bool:
    return (answer.action, answer.team_ids) == ("require", (agent.team_id,))


def test_each_call_is_answered_in_order_by_one_version(agent: Agent, put_in_force: Publish) -> None:
    put_in_force(ALLOW_READS, {"name": "No deletes", "tool": "*.delete", "action": "deny"})
    delete = CallFacts(tool="orders.delete", registered=True, effect="once")
    refund = CallFacts(tool="refund", registered=True, effect="once")
    answers = ask(agent, delete, READ, refund)
    assert [answer.action for answer in answers] == ["deny", "allow", "require"]
    assert [answer.rule for answer in answers] == ["No deletes", "Reads", None]
    assert {answer.policy_version for answer in answers} == {1}
    assert [answer.team_ids for answer in answers] == [(), (), (agent.team_id,)]


def test_the_rule_names_the_team(cast: Cast, agent: Agent, put_in_force: Publish) -> None:
    put_in_force(
        {"name": "Refunds", "tool": "refund", "action": "require", "team": "Finance", "approvals": 2}
    )
    (answer,) = ask(agent, CallFacts(tool="refund", registered=True, effect="once"))
    assert answer.team_ids == (cast.finance.id,)
    assert answer.requirement is not None
    assert answer.requirement.approvals == 2


def test_a_team_that_is_gone_leaves_it_to_the_agents_team_and_silence_denies(
    cast: Cast, agent: Agent, put_in_force: Publish
) -> None:
    extra = {"team": "Finance", "deadline_seconds": 60, "on_timeout": "allow"}
    put_in_force({"name": "Refunds", "tool": "orders.get", "action": "require", **extra})
    Team.objects.filter(pk=cast.finance.pk).update(name="Treasury")
    (answer,) = ask(agent)
    assert needs_approval(answer, agent)
    assert answer.requirement is not None
    assert (answer.requirement.team, answer.requirement.on_timeout) == ("Support", "deny")
    assert "there is no team Finance any more" in answer.text


def test_the_environment_is_the_keys(agent: Agent, put_in_force: Publish) -> None:
    put_in_force({**ALLOW_READS, "environment": "staging"})
    assert ask(agent, environment="staging")[0].action == "allow"
    assert ask(agent, environment="production")[0].action == "require"


class TestB28:
    """Whatever is unknown, missing or broken needs approval."""

    def test_b28_no_policy_at_all(self, agent: Agent) -> None:
        for call in (READ, CallFacts(tool="exfiltrate_data", registered=False, effect=None)):
            (answer,) = ask(agent, call)
            assert needs_approval(answer, agent)
            assert answer.policy_version == 0
            assert "no policy is published" in answer.text

    def test_b28_an_unknown_tool_under_a_policy_that_allows_everything(
        self, agent: Agent, put_in_force: Publish
    ) -> None:
        put_in_force({"name": "All", "tool": "*", "action": "allow"})
        assert ask(agent)[0].action == "allow"
        assert needs_approval(
            ask(agent, CallFacts(tool="exfiltrate_data", registered=False, effect=None))[0], agent
        )

    @pytest.mark.parametrize(
        "text", ["", "null", "{", '{"rules":[{"tool":"*","action":"allow"}]}', '{"rules":"allow"}']
    )
    def test_b28_stored_rules_that_cannot_be_read(
        self, cast: Cast, agent: Agent, text: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        PolicyVersion.objects.create(workspace=cast.workspace, number=1, rules=text, author_name="x")
        (answer,) = ask(agent)
        assert needs_approval(answer, agent)
        assert "the policy could not be read" in answer.text
        assert [record.levelno for record in caplog.records] == [logging.ERROR]

    def test_b28_a_rule_that_raises_while_it_is_evaluated(
        self,
        agent: Agent,
        put_in_force: Publish,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        put_in_force(ALLOW_READS)

        def broken(*args: Any) -> Any:
            raise RecursionError

        monkeypatch.setattr(rules, "evaluate", broken)
        assert needs_approval(ask(agent)[0], agent)
        assert "failed on a call" in caplog.text

    def test_b28_a_database_that_times_out_keeps_the_callers_transaction(
        self, agent: Agent, put_in_force: Publish, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put_in_force(ALLOW_READS)

        def timed_out(workspace_id: Any) -> Any:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 FROM no_such_table")
            raise OperationalError

        with transaction.atomic():
            monkeypatch.setattr(evaluating, "newest", timed_out)
            assert needs_approval(ask(agent)[0], agent)
            assert Team.objects.count() > 0

    def test_b28_a_changed_rule_holds_for_the_next_check(self, agent: Agent, put_in_force: Publish) -> None:
        put_in_force(ALLOW_READS)
        assert ask(agent)[0].action == "allow"
        put_in_force({**ALLOW_READS, "action": "deny"})
        assert ask(agent)[0].action == "deny"
        put_in_force()
        assert needs_approval(ask(agent)[0], agent)

    def test_b28_what_the_agent_says_of_itself_lets_nothing_through(
        self, agent: Agent, put_in_force: Publish
    ) -> None:
        put_in_force(ALLOW_READS)
        facts = {"tool": "orders.get", "registered": True, "effect": "read", "schema_fingerprint": MARK}
        held = [
            CallFacts(**facts, failed_checks=("amount",)),
            CallFacts(**facts, schema_problem="/order is missing"),
            CallFacts(**{**facts, "tool": "orders.gеt"}),
        ]
        assert all(needs_approval(answer, agent) for answer in ask(agent, *held))


class TestExplain:
    def test_says_what_evaluate_would_say_and_why(self, agent: Agent, put_in_force: Publish) -> None:
        put_in_force({"name": "No deletes", "tool": "*.delete", "action": "deny"}, ALLOW_READS)
        found = explain(workspace_id=agent.workspace_id, agent=agent, environment="production", call=READ)
        # What was known is written down with an answer that counts, and not with an explanation.
        assert found.answer == replace(ask(agent)[0], then=None)
        assert [(step.rule, step.matched) for step in found.steps] == [("No deletes", False), ("Reads", True)]

    def test_tries_a_draft_without_publishing_it(self, agent: Agent, put_in_force: Publish) -> None:
        put_in_force(ALLOW_READS)
        draft = '{"rules":[{"name":"None","tool":"*","action":"deny"}]}'
        case = {"workspace_id": agent.workspace_id, "agent": agent, "environment": "production", "call": READ}
        found = explain(**case, rules_text=draft)
        assert (found.answer.action, found.answer.policy_version) == ("deny", 0)
        assert ask(agent)[0].action == "allow"
        with pytest.raises(Invalid):
            explain(**case, rules_text="{}x")

    def test_without_a_policy(self, agent: Agent) -> None:
        found = explain(workspace_id=agent.workspace_id, agent=agent, environment="production", call=READ)
        assert (found.answer.action, found.steps) == ("require", ())
