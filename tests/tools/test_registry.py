"""The registry of tools."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Scope
from reviewhub.audit.models import Event
from reviewhub.core import clock
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.tools import queries
from reviewhub.tools.models import Tool
from reviewhub.tools.register import register
from reviewhub.tools.rules import name_fault
from reviewhub.tools.see import known, see
from reviewhub.tools.set_risk import set_risk
from reviewhub.tools.set_sentence import set_sentence
from reviewhub.tools.take_effect import take_effect
from tests.cast import ALICE, Cast, by_key, make_test_agent
from tests.racing import together

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}


def describe(agent: Agent, name: str = "refund", **body: Any) -> Tool:
    return register(
        agent=agent,
        name=name,
        body=wire.ToolRegister.from_tree(canonical.parse(canonical.dumps(body))),
        actor=by_key(agent.keys.get()),
    )


def seen(agent: Agent, names: list[str]) -> dict[str, Tool]:
    return see(agent=agent, tools=known(agent=agent, names=names))


def events(kind: str) -> list[str]:
    return [event.payload.sentence for event in Event.objects.filter(kind=kind).order_by("id")]


class TestRegister:
    def test_stores_the_description_and_says_so(self, agent: Agent) -> None:
        tool = describe(
            agent, schema=SCHEMA, effect="idempotent", time_limit="PT1M30S", description="Pays back."
        )
        stored = Tool.objects.get()
        assert (stored.effect, stored.time_limit_seconds, stored.description) == (
            "idempotent",
            90,
            "Pays back.",
        )
        assert stored.schema == canonical.dumps(SCHEMA)
        assert stored.is_registered
        assert stored.effective_risk == "medium"
        assert stored.fingerprint == tool.fingerprint != ""
        assert events("tool.registered") == ["Support agent registered the tool refund"]

    def test_without_words_a_tool_is_once_and_of_high_risk(self, agent: Agent) -> None:
        tool = describe(agent)
        assert (tool.effect, tool.effective_risk, tool.time_limit_seconds) == ("once", "high", 300)

    def test_the_same_again_is_no_event(self, agent: Agent) -> None:
        first, second = describe(agent, schema=SCHEMA), describe(agent, schema=dict(reversed(SCHEMA.items())))
        assert first == second
        assert Event.objects.filter(kind__startswith="tool.").count() == 1

    def test_a_change_is_an_event_with_what_changed(self, agent: Agent) -> None:
        before = describe(agent, schema=SCHEMA)
        after = describe(agent, schema={"type": "object"}, description="Pays back.")
        assert after.fingerprint != before.fingerprint
        assert after.registered_at == before.registered_at
        assert events("tool.changed") == ["Support agent changed the tool refund: description, schema"]

    def test_a_weaker_effect_does_not_lower_the_risk(self, agent: Agent) -> None:
        describe(agent, effect="once")
        weaker = describe(agent, effect="read")
        assert (weaker.effect, weaker.effective_risk) == ("read", "high")
        set_risk(tool=weaker, risk="low", actor=ALICE)
        assert describe(agent, effect="idempotent").effective_risk == "low"

    def test_policy_goes_by_the_stronger_effect_until_an_admin_takes_the_weaker_one(
        self, agent: Agent
    ) -> None:
        describe(agent, effect="once")
        assert describe(agent, effect="idempotent").policy_effect == "once"
        weaker = describe(agent, effect="read")
        assert (weaker.effect, weaker.policy_effect) == ("read", "once")
        assert take_effect(tool=weaker, actor=ALICE).policy_effect == "read"
        assert events("tool.effect_taken") == ["Alice took the agent's word that refund is read"]
        take_effect(tool=weaker, actor=ALICE)
        assert len(events("tool.effect_taken")) == 1
        describe(agent, effect="idempotent")
        assert describe(agent, effect="read").policy_effect == "idempotent"
        assert describe(agent, effect="once").policy_effect == "once"

    def test_of_an_agent_that_is_trusted_the_weaker_effect_is_taken(self, agent: Agent) -> None:
        describe(agent, effect="once")
        Agent.objects.update(trusted_claims=True)
        assert describe(agent, effect="read").policy_effect == "read"

    def test_first_words_on_a_seen_tool_are_taken(self, agent: Agent) -> None:
        seen(agent, ["refund"])
        assert describe(agent, effect="read").policy_effect == "read"

    def test_a_stronger_effect_raises_the_default_risk(self, agent: Agent) -> None:
        describe(agent, effect="read")
        assert describe(agent, effect="once").effective_risk == "high"

    def test_first_words_on_a_tool_seen_before_count_as_they_are(self, agent: Agent) -> None:
        seen(agent, ["refund"])
        assert describe(agent, effect="read").effective_risk == "low"

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            ({"schema": {"type": "objekt"}}, "/schema"),
            ({"schema": {"properties": {"a": {"$ref": "https://example.com/a.json"}}}}, "/schema"),
            ({"result_schema": {"type": 7}}, "/result_schema"),
            ({"time_limit": "P8D"}, "/time_limit"),
        ],
    )
    def test_refuses_by_path(self, agent: Agent, body: dict[str, Any], path: str) -> None:
        with pytest.raises(Invalid) as refused:
            describe(agent, **body)
        assert refused.value.errors[0]["path"].startswith(path)
        assert not Tool.objects.exists()

    def test_agents_do_not_share_tools(self, cast: Cast, agent: Agent) -> None:
        other = make_test_agent(cast.support, name="Another agent")[0]
        assert describe(agent).pk != describe(other).pk


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("refund", None),
        ("оrders.get", None),
        ("a b", None),
        ("возврат", None),
        ("n" * 200, None),
        ("n" * 201, "201 characters; the limit is 200"),
        ("", "is empty"),
        ("a\x00b", "U+0000 at position 1"),
        ("a\nb", "U+000A"),
        ("\x7f", "U+007F"),
        ("\ud800", "U+D800"),
    ],
)
def test_names(name: str, fault: str | None) -> None:
    found = name_fault(name)
    assert found is None if fault is None else fault in str(found)


class TestSee:
    def test_makes_rows_for_what_was_never_heard_of(self, agent: Agent) -> None:
        describe(agent, effect="read")
        found = seen(agent, ["refund", "exfiltrate_data", "refund"])
        assert {name: tool.is_registered for name, tool in found.items()} == {
            "refund": True,
            "exfiltrate_data": False,
        }
        new = Tool.objects.get(name="exfiltrate_data")
        assert (new.effect, new.effective_risk, new.workspace_id) == ("once", "high", agent.workspace_id)
        assert new.last_seen_at is not None

    def test_notes_the_time_at_most_once_a_minute(self, agent: Agent) -> None:
        seen(agent, ["refund"])
        for age, moves in ((30, False), (61, True)):
            then = clock.now() - timedelta(seconds=age)
            Tool.objects.update(last_seen_at=then)
            seen(agent, ["refund"])
            assert (Tool.objects.get().last_seen_at != then) is moves

    def test_a_registered_tool_that_was_not_called_is_seen_then(self, agent: Agent) -> None:
        assert describe(agent).last_seen_at is None
        assert seen(agent, ["refund"])["refund"].last_seen_at is not None

    def test_refuses_names_that_cannot_be_shown(self, agent: Agent) -> None:
        with pytest.raises(Invalid):
            seen(agent, ["refund", "a\x00"])
        assert not Tool.objects.exists()


class TestAdminsWords:
    def test_the_sentence(self, agent: Agent) -> None:
        tool = set_sentence(tool=describe(agent), sentence=" Refund order {order_id} ", actor=ALICE)
        assert Tool.objects.get().sentence == tool.sentence == "Refund order {order_id}"
        set_sentence(tool=tool, sentence=tool.sentence, actor=ALICE)
        assert events("tool.sentence_set") == ["Alice set the sentence of refund"]
        describe(agent, effect="read", description="other")
        assert Tool.objects.get().sentence == "Refund order {order_id}"

    @pytest.mark.parametrize("sentence", ["Refund {order_id", "Refund {a:loud}", "n" * 301])
    def test_a_sentence_that_cannot_be_used(self, agent: Agent, sentence: str) -> None:
        with pytest.raises(Invalid) as refused:
            set_sentence(tool=describe(agent), sentence=sentence, actor=ALICE)
        assert refused.value.errors[0]["path"] == "/sentence"
        assert Tool.objects.get().sentence == ""

    @pytest.mark.parametrize(
        ("sentence", "refused"),
        [
            ("Refund {amount:money} to {customer.name}, {lines.0.sku}, {lines:count}", ""),
            ("Refund {anything.at.all} of {free.form}", "anything.at.all"),
            ("Refund {customer.nme}", "customer.nme"),
            ("Refund {amount.cents}", "amount.cents"),
            ("Refund {free.form} and {open.end} {{nobody}}", ""),
            ("Refund {nobody}", "nobody"),
        ],
    )
    def test_a_sentence_names_what_the_schema_has(self, agent: Agent, sentence: str, refused: str) -> None:
        named = {"type": "object", "properties": {"name": {"type": "string"}}}
        line = {"type": "object", "properties": {"sku": {"type": "string"}}}
        members = {
            "amount": {"type": "string"},
            "customer": named,
            "lines": {"type": "array", "items": line},
            "free": {"type": "object"},
            "open": {"anyOf": [named, {"type": "null"}]},
        }
        tool = describe(agent, schema={"type": "object", "properties": members})
        if not refused:
            assert set_sentence(tool=tool, sentence=sentence, actor=ALICE).sentence == sentence
            return
        with pytest.raises(Invalid, match=f"no “{refused}”") as found:
            set_sentence(tool=tool, sentence=sentence, actor=ALICE)
        assert found.value.errors[0]["path"] == "/sentence"

    def test_the_risk(self, agent: Agent) -> None:
        tool = set_risk(tool=describe(agent, effect="read"), risk="critical", actor=ALICE)
        assert Tool.objects.get().effective_risk == "critical"
        set_risk(tool=tool, risk="", actor=ALICE)
        assert Tool.objects.get().effective_risk == "low"
        assert len(events("tool.risk_set")) == 2
        with pytest.raises(Invalid):
            set_risk(tool=tool, risk="none", actor=ALICE)


def test_coverage_lists_what_nobody_described_first_and_odd_names(cast: Cast, agent: Agent) -> None:
    describe(agent, "orders.get")
    seen(agent, ["orders.gеt"])
    rows = queries.coverage(Scope(workspace_id=agent.workspace_id))
    assert [row.needs_description for row in rows] == [True, False]
    assert rows[0].oddities != []
    assert rows[1].oddities == []
    assert queries.coverage(Scope(workspace_id=cast.other.id)) == []
    one = Scope(workspace_id=agent.workspace_id, agent_id=agent.pk)
    assert [row.tool.name for row in queries.coverage(one, search="ORDERS.GET")] == ["orders.get"]
    for teams, count in (({agent.team_id}, 2), ({cast.finance.pk}, 0), (set(), 0)):
        scope = Scope(workspace_id=agent.workspace_id, team_ids=frozenset(teams))
        assert len(queries.coverage(scope)) == count
    assert queries.tool_in(agent.workspace_id, rows[0].tool.id) == rows[0].tool
    with pytest.raises(NotFound):
        queries.tool_in(cast.other.id, rows[0].tool.id)


@pytest.mark.django_db(transaction=True)
def test_agents_that_see_and_register_at_once_get_one_row(agent: Agent) -> None:
    for round_ in range(10):
        names = [f"{letter}{round_}" for letter in "abc"]
        acts = [lambda names=names: seen(agent, names)] * 3
        acts += [lambda names=names: describe(agent, names[1], effect="read")]
        results = together(*acts)
        assert not [result for result in results if isinstance(result, Exception)]
        assert Tool.objects.filter(name__in=names).count() == 3
