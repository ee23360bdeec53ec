"""What history suggests: only what was approved without exception, and nothing that nobody has seen."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.test import Client
from reviewhub_agents import canonical

from reviewhub.insights.bounds import Decided, bounds, numbers_of, texts_of
from reviewhub.insights.suggest import suggestions
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.publish import publish
from reviewhub.policies.reading import parse_policy
from tests.cast import ALICE, Cast, make_test_agent
from tests.insights.make import known_tools, recorded


def decided(*amounts: str, approved: bool = True, path: str = "amount") -> list[Decided]:
    return [Decided(approved, {path: Decimal(one)}) for one in amounts]


TWENTY = [str(one) for one in range(1, 21)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], None),
        (decided(*TWENTY[:19]), None),
        (decided(*TWENTY), (20, ["amount is at least 1", "amount is at most 20"])),
        (decided(*TWENTY) + decided("50.5", approved=False), (20, ["amount is at least 1", "amount is under 50.5"])),
        (decided(*TWENTY, "90") + decided("50", approved=False), (20, ["amount is at least 1", "amount is under 50"])),
        (decided(*TWENTY) + decided("20", approved=False), None),
        (decided(*TWENTY) + decided("0", approved=False), None),
        ([Decided(True, {})] * 20, (20, [])),
        ([Decided(True, {})] * 20 + [Decided(False, {})], None),
        (decided(*TWENTY) + [Decided(True, {})], (21, [])),
        (decided(*TWENTY) + [Decided(False, {})], None),
    ],
)  # fmt: skip
def test_bounds_hold_what_was_approved_and_nothing_else(
    given: list[Decided], said: tuple[int, list[str]] | None
) -> None:
    found = bounds(given)
    assert (found and (found.count, [str(one) for one in found.when])) == said


def told(approved: bool = True, many: int = 20, **texts: str | bool) -> list[Decided]:
    return [Decided(approved, {"amount": Decimal(at + 1)}, texts) for at in range(many)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (told(currency="EUR"), (20, ["amount is at least 1", "amount is at most 20", "currency is “EUR”"])),
        (told(currency="EUR", many=17) + told(currency="USD", many=3),
         (20, ["amount is at least 1", "amount is at most 17", "currency is one of “EUR”, “USD”"])),
        (told(currency="EUR", many=18) + told(currency="USD", many=2),
         (20, ["amount is at least 1", "amount is at most 18"])),
        # Where sizes tell nothing, another argument may.
        (told(kind="spare", fast=True, many=20) + told(False, kind="gift", fast=True, many=9),
         (20, ["kind is “spare”", "fast is true"])),
        (told(kind="spare", many=19) + told(False, kind="gift", many=9), None),
        (told(kind="spare", many=20) + told(False, kind="spare", many=1), None),
    ],
)  # fmt: skip
def test_texts_that_people_know_are_bounds_too(
    given: list[Decided], said: tuple[int, list[str]] | None
) -> None:
    found = bounds(given)
    assert (found and (found.count, [str(one) for one in found.when])) == said


def test_a_name_that_is_written_in_digits_is_no_size() -> None:
    given = canonical.parse(
        '{"order_id":8812,"orderId":9,"ref":"12.5","count":3,"order":"8812","price":"9.50","valid":2}'
    )
    assert numbers_of(given) == {"count": Decimal(3), "price": Decimal("9.50"), "valid": Decimal(2)}
    assert texts_of(given) == {"ref": "12.5", "order": "8812"}


def test_numbers_are_found_where_conditions_find_them() -> None:
    found = numbers_of(
        {
            "a": {"b": "5.50", "c.d": "1"},
            "e": ["1"],
            "f": True,
            "g": "x",
            "h": None,
            "i": "0.12345678901234567890",
        }
    )
    assert found == {"a.b": Decimal("5.50")}


def test_a_suggestion_becomes_a_rule_that_answers_such_calls(cast: Cast) -> None:
    agent = make_test_agent(cast.support)[0]
    known_tools(agent, "refund", "mail", "wire", "drop")
    recorded(agent, "refund", *range(1, 26), decided="approve")
    recorded(agent, "refund", 50, decided="reject")
    recorded(agent, "mail", *range(1, 26), decided="edit")
    recorded(agent, "wire", *range(1, 26), decided="approve")
    recorded(agent, "drop", *range(1, 26), decided="approve")
    text = {
        "guardrails": [{"name": "Wires", "tool": "wire", "action": "require"}],
        "rules": [
            {"name": "Drop", "tool": "drop", "action": "allow"},
            {"name": "All", "tool": "*", "action": "require"},
        ],
    }
    publish(workspace=cast.workspace, rules_text=json.dumps(text), note="why", base=0, actor=ALICE)
    (one,) = suggestions(cast.workspace.pk)
    assert (one.bounds.count, one.rule.name) == (25, "refund with amount under 50")
    client = Client()
    client.force_login(cast.alice.person)
    page = client.get("/northwind/policy/suggestions").content.decode()
    assert "25 of 25 approved" in page and "Open a draft" in page
    assert client.post("/northwind/policy/suggestions/take-up", {"key": "x"}).status_code == 404
    for names in (
        ["Drop", "refund with amount under 50", "All"],
        ["Drop", "refund with amount under 50 (2)", "refund with amount under 50", "All"],
    ):
        sent = client.post("/northwind/policy/suggestions/take-up", {"key": one.key})
        assert sent.headers["Location"] == "/northwind/policy/draft"
        draft = open_draft(cast.workspace.pk)
        assert draft is not None and draft.note == "25 of 25 approved in 60 days"
        policy = parse_policy(draft.rules)
        assert sorted(rule.name for rule in policy.rules) == sorted(names)
        assert len(policy.guardrails) == 1
    assert policy.rules[-1].name == "All" and policy.rules[1].agent == "Support agent"
    publish(workspace=cast.workspace, rules_text=draft.rules, note="why", base=1, actor=ALICE)
    assert suggestions(cast.workspace.pk) == []
