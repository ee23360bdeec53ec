"""Decided thirty days later, after every sweep looked at it and with a newer version of the agent: it goes on."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db.models import DateTimeField, F, Model
from reviewhub_agents import canonical

from reviewhub.accounts.models import AgentKey, Delegation
from reviewhub.audit.testing import unguarded
from reviewhub.celery import SWEEPS
from reviewhub.checkpoints.load import load_state
from reviewhub.checkpoints.models import Leftover, StoreState
from reviewhub.checkpoints.queries import head_of
from reviewhub.core.models import IdempotencyKey
from reviewhub.deliveries.models import Email
from reviewhub.hosting.models import Shift
from reviewhub.limits.models import Reservation
from reviewhub.resumptions.models import Resumption
from reviewhub.retention.models import Progress
from reviewhub.reviews.models import ReviewRequest, Snooze
from reviewhub.runs.models import Branch, Halt, Run
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import Grant, Pause, ToolCall
from reviewhub.tools.models import Tool
from reviewhub.verdicts.models import Verdict
from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, policy
from tests.hosting.conftest import Hosted

KEPT = {
    "Backtest",
    "Agent",
    "Attempt",
    "CallVersion",
    "Checkpoint",
    "Child",
    "Comment",
    "Decision",
    "Event",
    "EventPayload",
    "Failure",
    "Hold",
    "Member",
    "Alarm",
    "Export",
    "Hour",
    "Look",
    "Opening",
    "RolledDay",
    "SavedView",
    "Person",
    "Pin",
    "PlanVersion",
    "PolicyDraft",
    "PolicyVersion",
    "FollowUp",
    "PostReview",
    "Question",
    "Record",
    "Removal",
    "RetentionRule",
    "Review",
    "Seal",
    "SealKey",
    "ShadowAnswer",
    "SignInFailure",
    "StandingUse",
    "StateSchema",
    "StepMark",
    "Team",
    "Workspace",
}
"""Written once and never compared with the clock on the way to a resumption."""
MONTH = timedelta(days=30)
MOVED = (
    AgentKey,
    Branch,
    Delegation,
    Email,
    Grant,
    Halt,
    IdempotencyKey,
    Leftover,
    Pause,
    Progress,
    Reservation,
    Resumption,
    ReviewRequest,
    Run,
    Shift,
    Snooze,
    StandingApproval,
    StoreState,
    Tool,
    ToolCall,
    Verdict,
)


def a_month_passes() -> None:
    """Every time that is compared with the clock lies thirty days further back, and every sweep has run since."""
    with unguarded():  # no time of a grant that was used changes, but by going by
        for model in MOVED:
            for field in times(model):
                model.objects.filter(**{f"{field}__isnull": False}).update(**{field: F(field) - MONTH})
    Session.objects.all().delete()
    for name in SWEEPS:
        module, _, task = name.rpartition(".")
        getattr(import_module(module), task)()


def times(model: type[Model]) -> list[str]:
    return [field.name for field in model._meta.get_fields() if isinstance(field, DateTimeField)]


def test_no_table_with_times_that_change_is_forgotten() -> None:
    ours = {
        model for model in apps.get_models() if model.__module__.startswith("reviewhub.") and times(model)
    }
    unmoved = {model.__name__ for model in ours - set(MOVED)}
    assert unmoved == KEPT


@pytest.mark.django_db(transaction=True)
def test_a_hosted_run_goes_on_with_a_newer_state(hosted: Hosted, settings: Any) -> None:
    run = hosted.start()
    hosted.work()
    a_month_passes()
    settings.HOSTED_GRAPHS = {"payer": "tests.hosting.graphs:newer_payer"}
    assert Branch.objects.get(run=run).state == "paused"
    hosted.decide("approve")
    hosted.work("a worker of another month")
    assert hosted.world.done == [("read", "8812"), ("pay", "10.00"), ("mail", "paid")]
    run.refresh_from_db()
    assert run.state == "succeeded"
    state = canonical.parse(load_state(head_of(Branch.objects.get(run=run))).text)
    assert isinstance(state, dict)
    assert (state["currency"], state["paid"]) == ("EUR", "done")


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_polls_finds_its_answer(cast: Cast) -> None:
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    agent = agent_of(cast.support)
    run = agent.run()
    paused = agent.pause(run["id"], call(), key="monday").ok(201)
    a_month_passes()
    again = agent.pause(run["id"], call(), key="monday").ok(200)
    assert again["id"] == paused["id"]
    (waiting,) = again["tool_calls"]
    PersonHttp(cast.bob).decide(waiting, "approve").ok()
    (allowed,) = agent.get(f"/pauses/{paused['id']}").ok()["tool_calls"]
    assert allowed["state"] == "allowed"
    granted = agent.consume(allowed).ok()
    assert granted["attempt"] == 1
    agent.outcome(allowed, result={"refunded": True}).ok()
    assert agent.get("/resumptions").ok()["items"] == []
