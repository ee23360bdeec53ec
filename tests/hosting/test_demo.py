"""The demo of a fresh installation: one refund waits, everything else has happened."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from reviewhub_agents import canonical, wire
from reviewhub_agents.demos import outreach_book, support_shop, triage_desk

from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.core.actors import SYSTEM
from reviewhub.core.clock import now
from reviewhub.gates.look_back import look_back
from reviewhub.hosting.demo import DEMOS, OUTREACH, RULES, Demo, start_demo
from reviewhub.hosting.graphs import graph_of
from reviewhub.hosting.resume import resume
from reviewhub.plans.models import PlanVersion
from reviewhub.policies.defaults import first_policy
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy
from reviewhub.resumptions.queries import claimable
from reviewhub.reviews.models import PostReview, ReviewRequest
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.verdicts.models import Verdict
from tests.cast import Cast
from tests.hosting.conftest import Hosted
from tests.hosting.graphs import World
from tests.web.make import drawn


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(support_shop.FOLDER, str(tmp_path))


def test_the_refund_waits_and_the_order_was_read(cast: Cast) -> None:
    publish(workspace=cast.workspace, rules_text=first_policy(), note="first", base=0, actor=SYSTEM)
    run = start_demo(team=cast.support, owner=cast.alice)
    for pk in claimable().values_list("pk", flat=True):
        resume(resumption_id=pk, owner="worker")
    request = ReviewRequest.objects.get()
    assert request.plain_sentence == "Refund $1,240.00 to order 8812"
    assert request.tool_name == "shop.refund"
    assert Run.objects.get().state == "paused"
    assert support_shop.refunds() == []
    assert run.title == "Crushed corner, order 8812"


def test_a_second_demo_adds_no_agent_and_no_policy(cast: Cast) -> None:
    publish(workspace=cast.workspace, rules_text=first_policy(), note="first", base=0, actor=SYSTEM)
    for _ in range(2):
        start_demo(team=cast.support, owner=None)
    assert cast.support.agents.count() == 1
    assert PolicyVersion.objects.count() == 2
    latest = current(cast.workspace.pk)
    assert latest is not None
    assert [rule.name for rule in parse_policy(latest.rules).rules] == [
        *(rule.name for rule in RULES),
        "One approval within a day",
    ]


@pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS.keys())
def test_what_passes_is_what_can_be_done_again(demo: Demo) -> None:
    tools = graph_of(demo.graph).every_tool()
    passing = {rule.tool for rule in demo.rules if rule.lets_run}
    assert passing <= set(tools)
    assert all(tools[name].effect in {"read", "idempotent"} for name in passing)


def test_the_migration_agent_waits_with_its_sql_and_the_trial(cast: Cast) -> None:
    start_demo(team=cast.support, owner=None)
    said = io.StringIO()
    call_command("demo_run", "migration", stdout=said)
    assert "no key is needed" in said.getvalue()
    for pk in claimable().values_list("pk", flat=True):
        resume(resumption_id=pk, owner="worker")
    request = ReviewRequest.objects.get(tool_name="db.migrate")
    assert request.state == "pending"
    assert "Every row is kept" in ToolCall.objects.get(pk=request.tool_call_id).claims
    states = dict(ToolCall.objects.filter(run=request.run).values_list("tool_name", "state"))
    assert states == {"db.schema": "succeeded", "db.try": "succeeded", "db.migrate": "waiting"}


def test_the_command_makes_another_request(cast: Cast) -> None:
    with pytest.raises(CommandError, match="no demo agent"):
        call_command("demo_run")
    start_demo(team=cast.support, owner=None)
    version = PolicyVersion.objects.count()
    call_command("demo_run", stdout=io.StringIO())
    for pk in claimable().values_list("pk", flat=True):
        resume(resumption_id=pk, owner="worker")
    assert ReviewRequest.objects.filter(tool_name="shop.refund", state="pending").count() == 2
    assert PolicyVersion.objects.count() == version
    Agent.objects.update(stopped_at=now())
    with pytest.raises(CommandError, match="stopped"):
        call_command("demo_run")


def test_the_command_starts_any_hosted_agent_and_registers_it_first(cast: Cast) -> None:
    with pytest.raises(CommandError, match="which team"):
        call_command("start_run", "support")
    said = io.StringIO()
    call_command("start_run", "support", team="Support", workspace="northwind", title="By hand", stdout=said)
    call_command("start_run", "support", input='{"wish": "again"}', stdout=said)
    assert [run.title for run in Run.objects.order_by("created_at")] == ["By hand", ""]
    assert said.getvalue().split()[0].endswith(f"/northwind/runs/{Run.objects.earliest('created_at').pk}")
    assert Agent.objects.filter(graph="support").count() == 1
    for refused, why in (("[1]", "should be an object"), ("{", "no JSON")):
        with pytest.raises(CommandError, match=why):
            call_command("start_run", "support", input=refused)
    with pytest.raises(CommandError, match="no such graph"):
        call_command("start_run", "nobody")


def test_the_claims_agent_plans_anew_and_the_plan_is_approved(cast: Cast) -> None:
    run = start_demo(team=cast.support, owner=None, demo=DEMOS["claims"])
    hosted = Hosted(agent=run.agent, person=cast.bob, world=World())
    Run.objects.update(input='{"documents":21,"speed":1e9}')
    hosted.work()
    request = hosted.request()
    assert (request.tool_name, request.plain_sentence) == ("rh.plan", "Approve plan v2: 3 steps")
    failed = Verdict.objects.filter(status="failed").values_list("name", "detail", "contradicts")
    assert list(failed) == [("Few are unclear", "7 of 20", "few")]
    hosted.decide("approve")
    hosted.work()
    assert [plan.why_kind for plan in PlanVersion.objects.order_by("number")] == ["first", "contradicted"]
    request = hosted.request()
    assert (request.tool_name, request.failed_checks) == ("claims.pay", 0)
    assert "same sum" in request.tool_call.claims
    hosted.decide("approve")
    hosted.work()
    assert Run.objects.get(pk=run.pk).state == "succeeded"


def test_the_outreach_agent_waits_for_nobody_and_a_flag_makes_it_write_anew(cast: Cast) -> None:
    run = start_demo(team=cast.support, owner=None, demo=OUTREACH)
    hosted = Hosted(agent=run.agent, person=cast.bob, world=World())
    hosted.work()
    assert Run.objects.get().state == "succeeded" and not ReviewRequest.objects.exists()
    before, calls = (
        outreach_book.drafts(),
        ToolCall.objects.filter(tool_name="mail.draft").order_by("created_at"),
    )
    assert len(before) == calls.count() == outreach_book.CUSTOMERS
    assert set(PostReview.objects.values_list("tool_name", flat=True)) <= {"mail.draft"}
    main = list(calls.values_list("pk", flat=True))
    assert any("50 % off" in text for text in before.values())
    row = PostReview.objects.order_by("id").first() or drawn(calls[3])
    flag = {
        "verdict": "flagged",
        "severity": "high",
        "note": "There is no such discount.",
        "follow_up": "fork",
    }
    changes = [{"op": "set", "path": "/discount", "value": canonical.Number("0")}]
    body = wire.GradeBody.from_tree({**flag, "changes": changes})
    by = actor_for(MemberCaller(cast.bob), source="page")
    look_back(call_id=row.tool_call_id, body=body, body_digest="d", key="k", actor=by)
    hosted.work()
    # From the flagged one on, and over the drafts of before.
    redone = calls.filter(branch__name="fork-1").count()
    assert redone == outreach_book.CUSTOMERS - main.index(row.tool_call_id)
    after = outreach_book.drafts()
    assert after.keys() == before.keys() and Run.objects.get().state == "succeeded"
    anew = range(main.index(row.tool_call_id) + 1, outreach_book.CUSTOMERS + 1)
    assert not any("off" in after[str(outreach_book.customer(number)["mail"])] for number in anew)


@pytest.mark.parametrize("said", ["approve", "reject"])
def test_the_triage_agent_waits_in_one_child_and_reports_about_all(cast: Cast, said: str) -> None:
    run = start_demo(team=cast.support, owner=None, demo=DEMOS["triage"])
    hosted = Hosted(agent=run.agent, person=cast.bob, world=World())
    while hosted.work():
        pass
    states = dict(Run.objects.filter(parent=run).values_list("title", "state"))
    assert [title for title, state in states.items() if state == "paused"] == ["Message 3"]
    assert list(states.values()).count("succeeded") == 5
    # Nobody holds the desk meanwhile, and the answers to the others are filed.
    assert [number for number, _ in triage_desk.answers()] == [1, 2, 4, 5, 6]
    assert run.branches.get().lease_until is None and triage_desk.credited() == []
    request = hosted.request()
    assert request.plain_sentence == "Credit $18.00 to the sender of message 3"
    hosted.decide(said, message="Send new glasses instead of money." if said == "reject" else "")
    while hosted.work():
        pass
    run.refresh_from_db()
    assert run.state == "succeeded"
    done = "18.00 credited" if said == "approve" else "nothing credited"
    assert f"3. complaint of Kiri: {done}" in json.loads(run.result).splitlines()
    assert triage_desk.reports() == [json.loads(run.result)]
    assert len(triage_desk.credited()) == (said == "approve")
