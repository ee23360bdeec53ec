"""The editor leads to what is wrong, says when nothing is, keeps what it does not know, and keeps the focus."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.core.errors import Invalid
from reviewhub.policies.models import PolicyVersion
from reviewhub.web.policy_faults import at_field, faults
from reviewhub.web.policy_form import Draft, LimitForm, RuleForm, focus_after
from tests.cast import Cast
from tests.driver import policy
from tests.web.make import agent_of
from tests.web.test_pages import rule_fields
from tests.web.test_policy import ALL, EDIT, REFUNDS, get, send

As = Callable[[Member], Client]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/rules/2/tool", "r2-tool"),
        ("/rules/2", "rule-2"),
        ("/guardrails/0/when/1/path", "g0-c1-path"),
        ("/guardrails/0/when/1/value/0", "g0-c1-value"),
        ("/guardrails/0/when/1", "g0-c1-value"),
        ("/rules/0/stages/0/approvals", "r0-approvals"),
        ("/rules/0/stages/0/team", "r0-team"),
        ("/rules/0/stages/2/team", "r0-s1-team"),
        ("/rules/0/escalation/1/after_seconds", "r0-e1-after"),
        ("/rules/0/escalation/1/team", "r0-e1-to"),
        ("/rules/0/deadline_seconds", "r0-deadline"),
        ("/rules/0/locked_fields/3", "r0-locked"),
        ("/limits/1/window_seconds", "l1-window"),
        ("/waiting/0/most", "w0-most"),
        ("/r0-c1-path", "r0-c1-path"),
        ("/note", "note"),
        ("", ""),
        ("/rules", ""),
    ],
)
def test_each_fault_leads_to_its_field(path: str, field: str) -> None:
    (found,) = faults(Invalid.at(path, "No."), lambda layer, at: "")
    assert found.field == field
    assert at_field([found]) == ({field: "No."} if field else {})


@pytest.mark.parametrize(
    ("button", "focus"),
    [
        ("up-1", "rule-0-down"),
        ("up-2", "rule-1-up"),
        ("down-0", "rule-1-down"),
        ("down-1", "rule-2-up"),
        ("remove-2", "rule-2-fold"),
        ("remove-3", "rule-2-fold"),
        ("gremove-0", "add-guardrail"),
        ("lremove-0", "limit-0-fold"),
        ("ladd", "l0-name"),
        ("wremove-0", "add-waiting"),
        ("check", "checked"),
        ("try", "trial"),
        ("add", ""),
        ("up-x", ""),
    ],
)
def test_the_focus_goes_to_what_was_done(button: str, focus: str) -> None:
    after = Draft([], [RuleForm(name=f"R{at}") for at in range(3)], [LimitForm()])
    assert focus_after(after, button) == focus


def test_a_fault_is_marked_at_its_field_and_linked(cast: Cast, as_: As) -> None:
    policy(cast.support, REFUNDS, ALL)
    client = as_(cast.alice)
    page = send(client, get(client, EDIT), "publish", note="why", **{"r1-approvals": "many"})
    assert '<a href="#r1-approvals">' in page
    assert "Rule 2 (All the rest), approvals: Write a whole number." in page
    (field,) = re.findall(r'<input[^>]*id="r1-approvals"[^>]*>', page)
    assert 'aria-invalid="true" aria-describedby="r1-approvals-e"' in field and 'id="r1-approvals-e"' in page
    assert page.count("aria-invalid") == 1
    shut, opened = (page.split(f'id="rule-{at}-fold"')[0].rpartition("<details")[2] for at in (0, 1))
    assert " open" in opened and " open" not in shut, "only what is wrong is unfolded"
    page = send(client, get(client, EDIT), "check", **{"r1-name": "Refunds"})
    assert "Rule 2 (Refunds), name: two rules are called 'Refunds': number 1 and 2" in page


def test_all_that_is_wrong_comes_in_the_first_answer(cast: Cast, as_: As) -> None:
    policy(cast.support, REFUNDS, ALL)
    client = as_(cast.alice)
    wrong = {
        "r0-name": "", "r1-approvals": "many", "r1-deny_threshold": "", "r1-deadline": "soon", "r1-team": "Nobody",
        "r1-expression": "args.amount >", "lcount": "1", "l0-name": "Often", "l0-tool": "*", "l0-most": "lots",
        "l0-window": "ages", "l0-per": "agent", "l0-then": "deny",
    }  # fmt: skip
    page = unescape(send(client, get(client, EDIT), "publish", note="why", **wrong))
    for told in (
        "Rule 1, name: Should not be empty.", "Rule 2 (All the rest), approvals: Write a whole number.",
        "Rule 2 (All the rest), deadline: Write a time such as", "Rule 2 (All the rest), team: There is no team",
        "Rule 2 (All the rest), expression: ", "Limit 1 (Often), most: Write a number such as",
        "Limit 1 (Often), window: Write a time such as",
    ):  # fmt: skip
        assert page.count(f">{told}") == 1, told


def test_checking_says_that_nothing_is_wrong_and_what_changes(cast: Cast, as_: As) -> None:
    policy(cast.support, ALL)
    client = as_(cast.alice)
    page = send(client, get(client, EDIT), "check")
    assert "Nothing is wrong with it." in page and "It says what v1 says." in page
    assert 'id="checked" tabindex="-1" autofocus' in page
    added = send(client, get(client, EDIT), "add")
    page = send(client, added, "check", **{"r0-name": "Wires", "r0-tool": "wire", "r0-team": "Finance"})
    assert "What it changes against v1: 1 line" in page and "wire: 1 from Finance" in page
    page = send(client, added, "check", **{"r0-name": "Wires", "r0-tool": "wire", "r0-team": "Fnance"})
    assert "There is no team 'Fnance'." in page, "what publishing refuses, checking refuses"


def test_a_draft_keeps_the_team_and_the_agent_that_are_not_there(cast: Cast, as_: As) -> None:
    """A menu without the name would choose another entry, and widen the rule unseen."""
    made = agent_of(cast.support)
    policy(cast.support, {**ALL, "agent": made.name}, {**REFUNDS, "agent": "not-yet"})
    page = get(as_(cast.alice), EDIT)
    fields = rule_fields(page)
    assert (fields["r0-agent"], fields["r1-agent"]) == (made.name, "not-yet")
    assert "not-yet (is not there)" in page and f"{made.name} (is not there)" not in page


def test_a_version_that_came_between_is_shown_and_may_be_replaced(cast: Cast, as_: As) -> None:
    policy(cast.support, ALL)
    client = as_(cast.alice)
    mine = rule_fields(get(client, EDIT)) | {"r0-approvals": "2", "note": "mine", "do": "publish"}
    policy(cast.support, ALL, REFUNDS)
    refused = client.post("/northwind/policy/publish", mine)
    page = unescape(refused.content.decode())
    assert refused.status_code == 409 and "published v2 meanwhile" in page
    assert '<a href="/northwind/policy/2?against=1">' in page and "refund: let it run" in page
    assert 'name="on_top" value="2"' in page
    assert client.post("/northwind/policy/publish", {**mine, "on_top": "2"}).status_code == 302
    assert list(PolicyVersion.objects.values_list("number", flat=True)) == [1, 2, 3]


def test_a_refused_draft_or_version_leads_into_the_editor(cast: Cast, as_: As) -> None:
    policy(cast.support, {**ALL, "team": "Finance"})
    policy(cast.support, ALL)
    cast.finance.name = "Money"
    cast.finance.save(update_fields=["name"])
    client = as_(cast.alice)
    refused = client.post("/northwind/policy/roll-back", {"number": "1", "base": "2", "note": "back"})
    page = unescape(refused.content.decode())
    where = "/northwind/policy/edit?from=1&check=yes"
    assert f'<a href="{where}#r0-team">' in page and "Rule 1 (All the rest), team: There is no team" in page
    mended: Any = get(client, where)
    assert 'aria-describedby="r0-team-e"' in mended and rule_fields(mended)["r0-team"] == "Finance"
