"""Requests that wait, made row by row: the pages are tested without the verbs below them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from reviewhub_agents import canonical

from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.core.clock import now
from reviewhub.core.display.masking import masked
from reviewhub.core.display.sentence import pack, plain, sentence
from reviewhub.policies.rules import Requirement
from reviewhub.reviews.follow_up import guardrail
from reviewhub.reviews.models import FollowUp, PostReview, ReviewRequest
from reviewhub.reviews.share import share
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.note import note_calls
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import CallVersion, Pause, ToolCall
from reviewhub.toolcalls.words import call_words
from reviewhub.tools.models import Tool

RISKS = {"low": 0, "medium": 1, "high": 2, "critical": 3}


def agent_of(team: Team, name: str = "support-triage") -> Agent:
    return Agent.objects.get_or_create(workspace=team.workspace, team=team, name=name)[0]


def waiting(
    team: Team,
    *,
    tool: str = "payments.refund_order",
    arguments: str = '{"amount":"1240.00","order_id":"8812"}',
    template: str = "",
    risk: str = "high",
    effect: str = "idempotent",
    seconds: int | None = 3600,
    schema: str = "",
    approvals: int = 1,
    claims: dict[str, Any] | None = None,
    agent: str = "support-triage",
    kind: str = "approval",
) -> ReviewRequest:
    """One pending request of `team`, with everything above it."""
    workspace = team.workspace
    who = agent_of(team, agent)
    Tool.objects.get_or_create(
        workspace=workspace,
        agent=who,
        name=tool,
        defaults={
            "effect": effect,
            "schema": schema,
            "registered_at": now(),
            "schema_fingerprint": "sha256:0",
        },
    )
    run = Run.objects.create(workspace=workspace, agent=who, environment="production", title="Ticket 55098")
    branch = Branch.objects.create(workspace=workspace, run=run, name="main", state="paused")
    pause = Pause.objects.create(workspace=workspace, run=run, branch=branch, state="waiting", open_calls=1)
    text = canonical.canonical(arguments)
    digest = canonical.digest(tool=tool, arguments_text=text)
    call = ToolCall.objects.create(
        workspace=workspace, agent=who, run=run, branch=branch, pause=pause, tool_name=tool, effect=effect,
        state="waiting", digest=digest, claims=json.dumps(claims or {}), idempotency_key="k",
    )  # fmt: skip
    CallVersion.objects.create(
        tool_call=call, version=1, arguments=text, digest=digest, author_kind="agent", author_name=who.name
    )
    words = call_words(tool=tool, agent=who.name, template=template, masked=masked(text, schema))
    note_calls(run, {call.pk: words})
    parts = sentence(tool=tool, arguments_text=text, template=template)
    number = (ReviewRequest.objects.filter(workspace=workspace).order_by("-number").values_list("number", flat=True)
              .first() or 4000) + 1  # fmt: skip
    checks = (claims or {}).get("checks", [])
    needed = Requirement(
        team=team.name, approvals=approvals, deadline_seconds=seconds if seconds and seconds > 0 else None
    )
    stored = {
        "requirement": needed.model_dump(mode="json"),
        "teams": [str(team.pk)],
        "policy_version": 1,
        "rule": "Large refunds",
        "text": f"{approvals} approvals from {team.name} when amount is over 1000",
    }
    row = ReviewRequest.objects.create(
        workspace=workspace, number=number, kind=kind, tool_call=call, run=run, branch=branch, agent=who, digest=digest,
        tool_name=tool, agent_name=who.name, environment="production", risk=risk, risk_rank=RISKS[risk],
        sentence=pack(parts), plain_sentence=plain(parts), requirement=json.dumps(stored),
        approvals_needed=approvals, failed_checks=sum(one["status"] == "failed" for one in checks),
        deadline_at=now() + timedelta(seconds=seconds) if seconds is not None else None, asks=f" {team.pk} ",
    )  # fmt: skip
    share(row, [team.pk])
    return row


def standing_approval(row: ReviewRequest, owner: Member, **fields: Any) -> StandingApproval:
    """The approval of one request, standing for exactly the same call."""
    given = {
        "workspace": row.workspace,
        "agent": row.agent,
        "environment": row.environment,
        "tool_name": row.tool_name,
        "schema_fingerprint": "sha256:0",
        "digest": row.digest,
        "owner": owner,
        "owner_name": owner.person.name,
        "team": row.teams.get(),
        "tool_call": row.tool_call,
        "request_number": row.number,
        "until": now() + timedelta(days=30),
    }
    return StandingApproval.objects.create(**given | fields)


def drawn(call: ToolCall, *, state: str = "drawn", **fields: Any) -> PostReview:
    """A call that is to be looked at afterwards, or was."""
    said = sentence(tool=call.tool_name, arguments_text="{}", template="", schema="")
    looked = {} if state == "drawn" else {"reviewed_at": now(), "member_name": "Carol"}
    severity = {"severity": "low"} if state == "flagged" else {}
    given: dict[str, Any] = {
        "sentence": pack(said),
        "plain_sentence": plain(said),
        "risk": "low",
        "rank": 0,
        "drawn_because": "Rule Glance lets it run.",
        **looked,
        **severity,
        **fields,
    }
    return PostReview.objects.create(
        workspace_id=call.workspace_id, tool_call=call, run=call.run, agent=call.agent, tool_name=call.tool_name,
        agent_name=call.agent.name, environment="production", state=state, **given,
    )  # fmt: skip


def suggested_rule(row: PostReview, by: Member) -> FollowUp:
    """A guardrail that a flag suggests."""
    rule = canonical.dumps(guardrail(row).model_dump(mode="json", exclude_unset=True))
    return FollowUp.objects.create(
        workspace_id=row.workspace_id, post_review=row, kind="draft_rule", state="open", member=by, name="Carol",
        rule=rule,
    )  # fmt: skip
