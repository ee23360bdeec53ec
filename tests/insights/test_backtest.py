"""Backtests: what they count, and that no death of a worker makes them count otherwise."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent
from reviewhub.audit.models import Event
from reviewhub.audit.testing import unguarded
from reviewhub.core.clock import now
from reviewhub.core.errors import IllegalTransition, Invalid, NotFound
from reviewhub.insights import sweep as sweeping
from reviewhub.insights import work_off as working
from reviewhub.insights.cancel_backtest import cancel_backtest
from reviewhub.insights.minutes import ASSUMED_SECONDS, pace
from reviewhub.insights.models import Backtest, Opening
from reviewhub.insights.queries import report
from reviewhub.insights.rules import Tally
from reviewhub.insights.start_backtest import AlreadyRunning, start_backtest
from reviewhub.insights.work_off import work_off
from reviewhub.policies import rules
from reviewhub.policies.publish import publish
from reviewhub.reviews.models import Review
from reviewhub.toolcalls.models import ToolCall
from reviewhub.tools.models import Tool
from tests.cast import ALICE, Cast, make_test_agent
from tests.driver import PersonHttp
from tests.insights.make import draft_of, known_tools, recorded
from tests.shared import shared
from tests.web.make import waiting

IN_FORCE = {
    "rules": [
        {"name": "Mail", "tool": "mail", "action": "allow"},
        {"name": "Wire", "tool": "wire", "action": "require", "team": "Support"},
    ]
}
DRAFT = {
    "rules": [
        {"name": "Small", "tool": "refund", "action": "allow",
         "when": [{"path": "amount", "test": "is_under", "value": 50}]},
        {"name": "Big mail", "tool": "mail", "action": "require", "team": "Finance", "approvals": 2,
         "when": [{"path": "amount", "test": "is_over", "value": 10}]},
        {"name": "Mail", "tool": "mail", "action": "allow"},
        {"name": "Wire", "tool": "wire", "action": "require", "team": "Finance"},
        {"name": "Drop", "tool": "drop", "action": "deny"},
    ]
}  # fmt: skip


@shared
def agent(cast: Cast) -> Agent:
    made = make_test_agent(cast.support)[0]
    known_tools(made, "refund", "mail", "wire", "drop")
    recorded(made, "refund", 10, 20, 49.99, decided="approve")
    recorded(made, "refund", 40, decided="reject")
    recorded(made, "refund", 50, 900, decided="edit")
    recorded(made, "mail", 5, 11, 12)
    recorded(made, "wire", 1, 2, 3, 4, 5, decided="approve")
    recorded(made, "drop", 1)
    recorded(made, "drop", 1, days_ago=40)
    publish(workspace=cast.workspace, rules_text=json.dumps(IN_FORCE), note="why", base=0, actor=ALICE)
    return made


def begin(cast: Cast, days: int = 30) -> Backtest:
    draft = draft_of(cast, json.dumps(DRAFT))
    return start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=days, actor=ALICE)


def test_what_a_draft_would_have_done_is_counted(cast: Cast, agent: Agent) -> None:
    test = begin(cast)
    for days in (0, 400):
        with pytest.raises(Invalid):
            start_backtest(workspace_id=cast.workspace.pk, draft_id=test.draft_id, days=days, actor=ALICE)
    with pytest.raises(AlreadyRunning):
        start_backtest(workspace_id=cast.workspace.pk, draft_id=test.draft_id, days=30, actor=ALICE)
    assert test.total == 15 and work_off(test.pk) is False
    found = report(test.draft)
    assert found is not None and found.backtest.state == "done" and found.percent == 100
    counts = {group.heading: group.count for group in found.groups}
    assert counts == {"rejected": 1, "held": 2, "freed": 4, "denied": 1, "rerouted": 5}
    (rejected,) = found.groups[0].calls
    assert (rejected.tool_call.tool_name, rejected.rule, rejected.asks) == ("refund", "Small", "")
    assert (found.tally.waits_now, found.tally.waits_then) == (6 + 5 + 1, 2 + 2 + 5)
    loads = {load.team: (load.now * 30, load.then * 30) for load in found.teams}
    assert loads == {"Support": (12, 2), "Finance": (0, 9)}
    assert found.teams[0].minutes == pytest.approx(9 * ASSUMED_SECONDS / 60 / 30)
    assert {load.measured for load in found.teams} == {"assumed"} and found.undecided == []
    assert [(one.tool, one.approved, one.held) for one in found.always_approved] == [("wire", 5, 5)]
    told = Event.objects.filter(kind__startswith="backtest.").order_by("id")
    assert [event.payload.sentence for event in told] == [
        "Alice started a backtest of a draft of policy v2, 15 calls of 30 days",
        "A backtest looked at 15 calls: 2 more would wait, 4 would run, 1 would be denied, 5 would wait for others",
    ]
    assert work_off(test.pk) is False and Backtest.objects.get().looked_at == 15


def test_a_worker_that_dies_costs_a_batch_and_no_call_is_counted_twice(
    cast: Cast, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = begin(cast)
    work_off(whole.pk)
    monkeypatch.setattr(working, "BATCH", 2)
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=whole.draft_id, days=30, actor=ALICE)
    keep, kept = working._keep, []

    class Killed(BaseException):
        """As a signal would."""

    def dies_at_the_third(*given: Any) -> bool:
        if len(kept) == 2:
            raise Killed
        kept.append(given)
        return keep(*given)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(working, "_keep", dies_at_the_third)
        work_off(test.pk)
    assert Backtest.objects.get(pk=test.pk).looked_at == 4
    assert work_off(test.pk) is False, "somebody may still have it"
    assert sweeping.sweep() == 0
    Backtest.objects.filter(pk=test.pk).update(beat_at=now() - timedelta(seconds=31))
    assert sweeping.sweep() == 1
    monkeypatch.setattr(working, "SLICE_SECONDS", 0.0)
    stale = Backtest.objects.get(pk=test.pk)
    assert work_off(test.pk) is True, "a slice of no time leaves it to the next"
    assert not working._mine(stale).exists(), "who had it before writes nothing any more"
    monkeypatch.setattr(working, "SLICE_SECONDS", 60.0)
    work_off(test.pk)
    test.refresh_from_db()
    whole.refresh_from_db()
    assert (test.state, test.figures) == ("done", whole.figures)
    assert sorted(test.calls.values_list("tool_call_id", "heading")) == sorted(
        whole.calls.values_list("tool_call_id", "heading")
    )


def test_one_is_cancelled_and_one_that_fails_for_good_is_given_up(
    cast: Cast, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = begin(cast)
    monkeypatch.setattr(working, "BATCH", 2)
    keep = working._keep

    def cancelled_meanwhile(*given: Any) -> bool:
        cancel_backtest(workspace_id=cast.workspace.pk, backtest_id=test.pk, actor=ALICE)
        return keep(*given)

    with monkeypatch.context() as patched:
        patched.setattr(working, "_keep", cancelled_meanwhile)
        assert work_off(test.pk) is False
    test.refresh_from_db()
    assert (test.state, test.looked_at) == ("cancelled", 0)
    ids = {"workspace_id": cast.workspace.pk, "actor": ALICE}
    with pytest.raises(IllegalTransition):
        cancel_backtest(backtest_id=test.pk, **ids)
    with pytest.raises(NotFound):
        cancel_backtest(backtest_id=test.pk, workspace_id=cast.other.pk, actor=ALICE)
    again = start_backtest(draft_id=test.draft_id, days=30, **ids)
    monkeypatch.setattr(working, "_slice", lambda _: 1 / 0)
    for _ in range(working.MOST_FAILURES):
        assert Backtest.objects.get(pk=again.pk).state == "open"
        work_off(again.pk)
        Backtest.objects.filter(pk=again.pk).update(beat_at=None)
    again.refresh_from_db()
    assert again.state == "failed"


def test_a_draft_that_fails_is_counted_as_failing(
    cast: Cast, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, real = begin(cast), rules.evaluate

    def breaks(policy: rules.Policy, call: rules.Call) -> rules.Answer:
        if len(policy.rules) == len(DRAFT["rules"]) and call.tool == "mail":
            raise RuntimeError
        return real(policy, call)

    monkeypatch.setattr(rules, "evaluate", breaks)
    work_off(test.pk)
    found = Tally.loads(Backtest.objects.get(pk=test.pk).figures)
    assert found.changes["failed"] == 3 and "held" not in found.changes


def test_figures_a_day_are_of_the_days_on_record(cast: Cast) -> None:
    made = make_test_agent(cast.support)[0]
    known_tools(made, "refund", "mail")
    recorded(made, "refund", 900, 901, 902, 903, days_ago=2)
    test = begin(cast)
    work_off(test.pk)
    found = report(test.draft)
    assert found is not None and found.days == pytest.approx(2, abs=0.01)
    assert [round(load.then, 1) for load in found.teams] == [2.0]
    recorded(made, "refund", 900, days_ago=0.1)
    ToolCall.objects.update(created_at=now() - timedelta(hours=2))
    assert report(test.draft).days == 1.0, "an hour says nothing of a day"
    recorded(made, "refund", 900, days_ago=31)
    assert report(test.draft).days == 30.0


def test_rules_that_cannot_be_decided_are_named(cast: Cast, agent: Agent, client: Client) -> None:
    known_tools(agent, "letter")
    Tool.objects.filter(name="letter").update(schema="{}")
    recorded(agent, "letter", 11, 12)
    rule = {"name": "Long letters", "tool": "letter", "action": "deny",
            "when": [{"path": "amount", "test": "is_over", "value": 10},
                     {"path": "pages", "test": "is_over", "value": 10}]}  # fmt: skip
    draft = draft_of(cast, json.dumps({"rules": [rule]}))
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=30, actor=ALICE)
    work_off(test.pk)
    found = report(test.draft)
    assert found is not None
    assert found.undecided == [("rule Long letters cannot be decided: pages is missing", 2)]
    client.force_login(cast.alice.person)
    page = unescape(client.get("/northwind/policy/draft").content.decode())
    assert "Rule Long letters cannot be decided: pages is missing" in page and "2 calls" in page
    (group,) = (one for one in found.groups if one.heading == "undecided")
    assert group.count == 2 and {one.asks for one in group.calls} == {found.undecided[0][0]}
    assert all(f"/runs/{one.tool_call.run_id}" in page for one in group.calls), "each is linked"
    said = PersonHttp(cast.alice).get("/policy/draft/backtest").ok()
    assert said["undecided"] == 2
    assert said["undecided_rules"] == [
        {"says": "rule Long letters cannot be decided: pages is missing", "calls": 2}
    ]


def test_a_draft_whose_calls_are_undecided_but_wait_as_before_is_not_said_to_change_nothing(
    cast: Cast, agent: Agent, client: Client
) -> None:
    known_tools(agent, "letter")
    Tool.objects.filter(name="letter").update(schema="{}")
    recorded(agent, "letter", 11)
    rules = [{"name": f"L{at}", "tool": "letter", "action": "deny",
              "when": [{"path": f"missing_{at}", "test": "is_over", "value": 10}]} for at in range(12)]  # fmt: skip
    draft = draft_of(cast, json.dumps({"rules": rules}))
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=30, actor=ALICE)
    work_off(test.pk)
    client.force_login(cast.alice.person)
    page = unescape(client.get("/northwind/policy/draft").content.decode())
    assert "answers every one of these calls" not in page
    assert "and 2 more" in page, "what is not listed is counted"


def test_a_rule_that_breaks_the_draft_is_named(
    cast: Cast, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_tools(agent, "letter")
    recorded(agent, "letter", 11)
    draft = draft_of(cast, json.dumps({"rules": [{"name": "Sound", "tool": "letter", "action": "require"},
                                                 {"name": "Bad", "tool": "letter", "action": "deny"}]}))  # fmt: skip
    real = rules.matched

    def breaks(rule: rules.Rule, asked: rules.Call) -> rules.Part:
        if rule.name == "Sound":
            raise RuntimeError("a fault of the rule")
        return real(rule, asked)

    monkeypatch.setattr(rules, "matched", breaks)
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=30, actor=ALICE)
    work_off(test.pk)
    found = report(test.draft)
    assert found is not None
    (group,) = (one for one in found.groups if one.heading == "failed")
    assert (group.count, group.calls[0].rule) == (1, "Sound")


def voted(cast: Cast, tool: str, at: datetime, opened: datetime | None) -> None:
    """Bob approves a request."""
    row = waiting(cast.support, tool=tool)
    if opened is not None:
        Opening.objects.create(request=row, member=cast.bob, version=1, at=opened)
    vote = Review.objects.create(
        request=row, member=cast.bob, name="Bob", verdict="approve", version=1, digest=row.digest
    )
    with unguarded():
        Review.objects.filter(pk=vote.pk).update(created_at=at)


def test_votes_by_programs_say_nothing_of_how_long_a_decision_takes(cast: Cast) -> None:
    start = now() - timedelta(hours=5)
    for at in range(9):
        voted(cast, f"t{at}", start + timedelta(milliseconds=at), None)
    found = pace(cast.workspace.pk)
    assert found.is_assumed and (found.of("Support"), found.source("Support")) == (ASSUMED_SECONDS, "assumed")
    for at in range(5):
        when = start + timedelta(hours=1, minutes=at)
        voted(cast, f"u{at}", when, when - timedelta(seconds=9))
    found = pace(cast.workspace.pk)
    assert (found.of("Support"), found.source("Support"), found.source("Finance")) == (9.0, "team", "all")


def test_what_a_decision_takes_is_measured_between_votes(cast: Cast) -> None:
    start = now() - timedelta(hours=5)
    assert pace(cast.workspace.pk).of("Support") == ASSUMED_SECONDS
    for at, seconds in enumerate((0, 30, 70, 130, 140, 3 * 3600, 3 * 3600 + 20)):
        voted(cast, f"t{at}", start + timedelta(seconds=seconds), start - timedelta(hours=1))
    found = pace(cast.workspace.pk)
    assert not found.is_assumed and found.of("Support") == found.of("Finance") == 30.0
