"""Review requests, votes, decisions and questions as the API shows them: reads only.

People get what the pages show them: secrets masked. Agents get their own calls as they sent them; what both may read
takes a `Reading` that says which of the two it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.core.display import masking, secrets
from reviewhub.core.rows import one_or_none
from reviewhub.reviews.assurance import word_needed
from reviewhub.reviews.mail import address_of
from reviewhub.reviews.models import Comment, Question, Review, ReviewRequest
from reviewhub.reviews.present_requirement import requirement_of
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import FIRST_VERSION
from reviewhub.reviews.states import RequestState
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.tools.models import Tool


@dataclass(frozen=True)
class Reading:
    """How a reader gets what is stored: JSON texts as values, and words."""

    value: Callable[[str], canonical.Tree]
    words: Callable[[str], str]


AS_SENT = Reading(value=canonical.parse, words=str)


def for_people(schema: str = "") -> Reading:
    """Without secrets; `schema` is the JSON Schema of the call's arguments."""
    return Reading(value=partial(masking.masked, schema_text=schema), words=secrets.masked)


def schema_of(row: ReviewRequest) -> str:
    """The JSON Schema of the arguments, empty when the tool has none."""
    tools = Tool.objects.filter(agent_id=row.agent_id, name=row.tool_name)
    return tools.values_list("schema", flat=True).first() or ""


def request_row(row: ReviewRequest) -> wire.RequestRow:
    """A request as the queue shows it."""
    return wire.RequestRow(**_row(row))


def request_detail(row: ReviewRequest) -> wire.RequestDetail:
    """Everything that a decision rests on, without secrets."""
    call = row.tool_call
    tool = one_or_none(Tool.objects.filter(agent_id=row.agent_id, name=row.tool_name))
    read = for_people(tool.schema if tool else "")
    versions = dict(CallVersion.objects.filter(tool_call=call).values_list("version", "arguments"))
    stored = Stored.model_validate_json(row.requirement)
    fields = _row(row) | _claims(call) | _asked(row, stored)
    fields |= {
        "effect": call.effect,
        "call_id": call.call_id,
        "arguments": read.value(versions[call.version]),
        "branch": row.branch_id,
        "votes": [
            vote_out(vote) for vote in row.reviews.filter(voided_at__isnull=True).order_by("created_at")
        ],
        "comments": [comment_out(one) for one in row.comments.order_by("created_at")],
        "questions": [question_out(one, call, read) for one in row.questions.order_by("created_at")],
    }
    if call.version > 1:
        fields["original_arguments"] = read.value(versions[1])
    if call.checkpoint_id:
        fields["checkpoint"] = call.checkpoint_id
    if row.again_of_id:
        fields["again_of"] = row.again_of_id
    if call.partial is not None:
        fields["partial"] = masking.masked(call.partial, tool.result_schema if tool else "")
    if tool is not None and tool.schema:
        fields["parameters"] = canonical.reread(tool.schema)
    decision = one_or_none(Decision.objects.filter(request_id=row.pk))
    if decision is not None:
        fields["decision"] = decision_out(decision, versions, read, edited_by=row.edited_by_name)
    return wire.RequestDetail(**fields)


def _row(row: ReviewRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": row.pk,
        "number": row.number,
        "kind": row.kind,
        "state": row.state,
        "version": row.version,
        "digest": row.digest,
        "tool": row.tool_name,
        "agent": row.agent_name,
        "environment": row.environment,
        "risk": row.risk,
        "sentence": row.plain_sentence,
        "run": row.run_id,
        "tool_call": row.tool_call_id,
        "url": address_of(row),
        "approvals": row.approvals,
        "approvals_needed": row.approvals_needed,
        "waits_for": row.waits_for if row.state == RequestState.PENDING else "",
        "failed_checks": row.failed_checks,
        "created_at": row.created_at,
    }
    if row.deadline_at:
        fields["deadline_at"] = row.deadline_at
    if row.claimed_by and row.claimed_until:
        fields |= {"claimed_by": row.claimed_by.person.name, "claimed_until": row.claimed_until}
    if row.decided_at:
        fields |= {"decided_at": row.decided_at, "decided_by": row.decided_by_name}
    if row.edited_by_name:
        fields["edited_by"] = row.edited_by_name
    return fields


def _claims(call: ToolCall) -> dict[str, Any]:
    """What the agent said, each part as it was checked when it came in, without secrets."""
    tree = masking.masked(call.claims)
    if not isinstance(tree, dict):
        return {}
    found: dict[str, Any] = {name: tree[name] for name in ("reason", "facts", "labels") if name in tree}
    if "evidence" in tree:
        found["evidence"] = [wire.Evidence.from_tree(one) for one in _items(tree["evidence"])]
    if "checks" in tree:
        found["checks"] = [wire.Check.from_tree(one) for one in _items(tree["checks"])]
    return found


def _items(tree: canonical.Tree) -> list[canonical.Tree]:
    return tree if isinstance(tree, list) else []


def _asked(row: ReviewRequest, stored: Stored) -> dict[str, Any]:
    """Who is asked, for what, and why."""
    needed = stored.requirement
    because: dict[str, Any] = {
        "kind": "rule" if stored.rule else row.kind,
        "text": stored.text,
        "policy_version": stored.policy_version,
    }
    if stored.rule:
        because["rule"] = stored.rule
    fields: dict[str, Any] = {
        "allowed_decisions": list(stored.decisions(row.kind)),
        "on_timeout": row.on_timeout,
        "because": wire.Because(**because),
        "requirement": requirement_of(row, stored),
    }
    if word := word_needed(row, needed, sentence=row.sentence, risk=row.risk):
        fields["confirm_with"] = word
    return fields


def vote_out(vote: Review) -> wire.VoteOut:
    """One vote."""
    return wire.VoteOut(
        name=vote.name,
        type=wire.Verdict(vote.verdict),
        version=vote.version,
        at=vote.created_at,
        for_teams=vote.for_teams,
        in_place_of=vote.in_place_of,
    )


def comment_out(comment: Comment) -> wire.CommentOut:
    """One comment, for people."""
    return wire.CommentOut(
        id=comment.pk, name=comment.name, text=secrets.masked(comment.text), at=comment.created_at
    )


def decision_out(
    decision: Decision, versions: Mapping[int, str], read: Reading = AS_SENT, *, edited_by: str = ""
) -> wire.DecisionOut:
    """A decision; an allowing one, and one about a version that a person made, carries the arguments that it is about,
    for the agent the exact ones.

    Args:
        versions: the arguments of all versions of the call.
        edited_by: who made the version that was decided on, where a person did.
    """
    fields: dict[str, Any] = {
        "type": decision.type,
        "by": wire.By(
            kind=wire.ByKind(decision.by_kind), name="" if decision.by_kind == "timeout" else decision.by_name
        ),
        "decided_at": decision.decided_at,
        "edited": decision.version > 1,
        "message": read.words(decision.message),
        "policy_version": decision.policy_version,
    }
    if decision.type in ("approve", "edit") or decision.version > FIRST_VERSION:
        fields["arguments"] = read.value(versions[decision.version])
    if edited_by:
        fields["edited_by"] = edited_by
    if decision.value is not None:
        fields["value"] = read.value(decision.value)
    return wire.DecisionOut(**fields)


def question_out(question: Question, call: ToolCall, read: Reading = AS_SENT) -> wire.QuestionOut:
    """What a reviewer asked, and what was answered."""
    fields: dict[str, Any] = {
        "id": question.pk,
        "text": read.words(question.text),
        "asked_by": question.name,
        "asked_at": question.created_at,
        "request": question.request_id,
        "tool_call": call.pk,
        "run": call.run_id,
    }
    if question.answer is not None:
        fields |= {"answer": read.words(question.answer), "answered_at": question.answered_at}
    return wire.QuestionOut(**fields)
