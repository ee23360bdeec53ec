"""Pauses and tool calls as the API shows them: reads only, a fixed number of queries for any number of calls."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.queries import hash_of
from reviewhub.core.rows import one_or_none
from reviewhub.gates.fresh import Fresh
from reviewhub.gates.observe import Observed
from reviewhub.gates.present_runs import checkpoint_ref
from reviewhub.reviews.deciders import deciders
from reviewhub.reviews.held_now import because_of, held_now
from reviewhub.reviews.mail import address_of
from reviewhub.reviews.models import Question, Review, ReviewRequest
from reviewhub.reviews.present import decision_out, question_out, vote_out
from reviewhub.runs.fence import continue_from
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import CallVersion, Decision, Grant, Pause, ToolCall
from reviewhub.toolcalls.modeltext import model_text
from reviewhub.toolcalls.states import CallState, GrantState


@dataclass
class Around:
    """Everything that is shown with some calls, by call id."""

    versions: dict[uuid.UUID, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    editors: dict[uuid.UUID, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    decisions: dict[uuid.UUID, Decision] = field(default_factory=dict)
    grants: dict[uuid.UUID, Grant] = field(default_factory=dict)
    requests: dict[uuid.UUID, ReviewRequest] = field(default_factory=dict)
    votes: dict[uuid.UUID, list[Review]] = field(default_factory=lambda: defaultdict(list))
    questions: dict[uuid.UUID, list[Question]] = field(default_factory=lambda: defaultdict(list))


def pause_out(pause: Pause, fresh: Fresh | None = None) -> wire.PauseOut:
    """One pause with its calls in the order in which the agent gave them; of a `fresh` one nothing is read."""
    if fresh is not None:
        around = _around_fresh(fresh)
        made = [_call(call, around) for call in fresh.calls]
        return _pause(pause, fresh.branch, fresh.checkpoint, made)
    branch = Branch.objects.get(pk=pause.branch_id)
    calls = calls_out(list(ToolCall.objects.filter(pause=pause).order_by("position")))
    checkpoint = (
        one_or_none(Checkpoint.objects.defer("content").filter(pk=pause.checkpoint_id))
        if pause.checkpoint_id
        else None
    )
    return _pause(pause, branch, checkpoint, calls)


def _pause(
    pause: Pause, branch: Branch, checkpoint: Checkpoint | None, calls: list[wire.ToolCallOut]
) -> wire.PauseOut:
    fields: dict[str, Any] = {
        "id": pause.pk,
        "run": pause.run_id,
        "branch": branch.name,
        "branch_id": branch.pk,
        "state": pause.state,
        "version": pause.version,
        "tool_calls": calls,
        "created_at": pause.created_at,
    }
    if pause.settled_at:
        fields["settled_at"] = pause.settled_at
    if checkpoint is not None:
        fields["checkpoint"] = checkpoint_ref(checkpoint)
    elif pause.checkpoint_id and (known := hash_of(pause.checkpoint_id)):
        fields["checkpoint"] = wire.CheckpointRef(id=pause.checkpoint_id, hash=known)
    return wire.PauseOut(**fields | _where_to_go_on(branch))


def observation_out(run: Run, observed: Observed) -> wire.ObservationOut:
    """Observed calls as recorded."""
    fields: dict[str, Any] = {
        "run": run.pk,
        "branch": observed.branch.name,
        "tool_calls": calls_out(observed.calls),
    }
    if observed.checkpoint is not None:
        saved = observed.checkpoint
        fields["checkpoint"] = checkpoint_ref(saved)
    return wire.ObservationOut(**fields)


def outcome_out(call: ToolCall, branch: Branch, saved: Checkpoint | None) -> wire.OutcomeOut:
    """What the ledger says after an outcome."""
    fields: dict[str, Any] = {"id": call.pk, "state": call.state}
    if saved is not None:
        fields["checkpoint"] = checkpoint_ref(saved)
    request = (
        ReviewRequest.objects.filter(tool_call=call).select_related("workspace").order_by("-number").first()
    )
    if request is not None:
        fields["request"] = _request(request)
    return wire.OutcomeOut(**fields | _where_to_go_on(branch))


def call_out(call: ToolCall) -> wire.ToolCallOut:
    """One call."""
    return calls_out([call])[0]


def calls_out(calls: Sequence[ToolCall]) -> list[wire.ToolCallOut]:
    """Several calls, in their order, with what surrounds them."""
    around = _around([call.pk for call in calls])
    return [_call(call, around) for call in calls]


def _around(ids: Sequence[uuid.UUID]) -> Around:
    found = Around()
    for version in CallVersion.objects.filter(tool_call_id__in=ids):
        found.versions[version.tool_call_id][version.version] = version.arguments
        if version.author_kind == "person":
            found.editors[version.tool_call_id][version.version] = version.author_name
    for decision in Decision.objects.filter(tool_call_id__in=ids).order_by("decided_at", "id"):
        found.decisions[decision.tool_call_id] = decision
    for grant in Grant.objects.filter(tool_call_id__in=ids, state=GrantState.OPEN):
        found.grants[grant.tool_call_id] = grant
    requests = (
        ReviewRequest.objects.filter(tool_call_id__in=ids).select_related("workspace").order_by("number")
    )
    for request in requests:
        found.requests[request.tool_call_id] = request
    by_request = {request.pk: call_id for call_id, request in found.requests.items()}
    for vote in Review.objects.filter(request_id__in=by_request, voided_at__isnull=True).order_by(
        "created_at"
    ):
        found.votes[by_request[vote.request_id]].append(vote)
    for question in Question.objects.filter(request_id__in=by_request).order_by("created_at"):
        found.questions[by_request[question.request_id]].append(question)
    return found


def _around_fresh(fresh: Fresh) -> Around:
    """The same for calls that were just proposed: they have one version, and nobody has voted or asked."""
    found, written = Around(), fresh.written
    for call, text in zip(fresh.calls, fresh.arguments, strict=True):
        found.versions[call.pk][call.version] = text
    found.decisions = {one.tool_call_id: one for one in written.decisions}
    found.grants = {one.tool_call_id: one for one in written.grants}
    found.requests = {one.tool_call_id: one for one in written.requests}
    return found


def _call(call: ToolCall, around: Around) -> wire.ToolCallOut:
    fields: dict[str, Any] = {
        "id": call.pk,
        "tool": call.tool_name,
        "state": call.state,
        "digest": call.digest,
        "call_id": call.call_id,
        "version": call.version,
        "effect": call.effect,
        "attempt": call.attempt,
        "because": wire.Because.from_tree(_without_action(call.because)),
        "ran_without_approval": call.ran_without_approval,
    }
    versions = around.versions[call.pk]
    decision = around.decisions.get(call.pk)
    request = around.requests.get(call.pk)
    if request is not None:
        if stored := held_now(call, request):
            fields["because"] = wire.Because(**because_of(stored))
        fields["request"] = _request(request)
        fields["votes"] = [vote_out(vote) for vote in around.votes[call.pk]]
        fields["questions"] = [question_out(question, call) for question in around.questions[call.pk]]
    # A call that is asked again has an older decision, which is history and no answer.
    if decision is not None and call.state not in (CallState.WAITING, CallState.UNKNOWN):
        editor = around.editors[call.pk].get(decision.version, "")
        fields["decision"] = decision_out(decision, versions, edited_by=editor)
        fields["model_text"] = model_text(
            type=decision.type,
            tool=call.tool_name,
            by_kind=decision.by_kind,
            by_names=deciders(decision, around.votes[call.pk]),
            edited_by=editor,
            message=decision.message,
            arguments=versions[decision.version],
            original=versions[1],
            value=decision.value,
            allowed=call.state not in (CallState.DENIED, CallState.SKIPPED),
            has_votes=any(
                (vote.request_id, vote.version) == (decision.request_id, decision.version)
                for vote in around.votes[call.pk]
            ),
        )
        if call.state == CallState.DENIED:
            fields["message"] = decision.message
    grant = around.grants.get(call.pk)
    if grant is not None:
        fields["grant"] = _grant(grant)
    if call.result is not None:
        fields["result"] = canonical.reread(call.result)
    if call.error is not None:
        fields["error"] = call.error
    if call.partial is not None:
        fields["partial"] = canonical.reread(call.partial)
    return wire.ToolCallOut(**fields)


def is_final(pause: Pause, calls: Iterable[wire.ToolCallOut]) -> bool:
    """Whether somebody who waits for this pause has something to do: it settled, or a reviewer asks something."""
    return pause.state != "waiting" or any(
        question.answer is None for call in calls for question in call.questions
    )


def _without_action(because: str) -> dict[str, canonical.Tree]:
    tree = canonical.reread(because)
    if not isinstance(tree, dict) or not tree:
        return {"kind": "default", "text": ""}
    return {name: value for name, value in tree.items() if name not in ("action", "then")}


def _request(request: ReviewRequest) -> wire.RequestOut:
    fields: dict[str, Any] = {
        "id": request.pk,
        "number": request.number,
        "url": address_of(request),
        "kind": request.kind,
        "state": request.state,
    }
    if request.deadline_at:
        fields["deadline_at"] = request.deadline_at
    return wire.RequestOut(**fields)


def _grant(grant: Grant) -> wire.GrantOut:
    fields: dict[str, Any] = {"id": grant.pk, "digest": grant.digest}
    if grant.expires_at:
        fields["expires_at"] = grant.expires_at
    return wire.GrantOut(**fields)


def _where_to_go_on(branch: Branch) -> dict[str, Any]:
    found = continue_from(branch)
    return {"continue_from": wire.ContinueFrom.from_tree(found)} if found else {}
