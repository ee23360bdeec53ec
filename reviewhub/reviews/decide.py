"""A person answers a request. The one way for pages, API and bulk.

Outside the transaction: read, check the edit against the tool's schema, ask policy about it. Inside, under the locks
branch → pause → call → request: is it still open, still what was shown, in time, and still the policy that was asked? Then the vote
is written, the votes are counted by a pure rule, and a final answer concludes the request.
"""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub_agents import wire

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.errors import StaleState
from reviewhub.core.idempotency import claim
from reviewhub.reviews import edit as edits
from reviewhub.reviews.conclude import CALL_STATE, conclude
from reviewhub.reviews.errors import AlreadyDecided, Expired, NotAllowedHere, NotEligible
from reviewhub.reviews.kinds import RequestVoted
from reviewhub.reviews.lock import IN_TIME, LockedRequest, check_open, check_shown, final_facts, lock_request
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import UNKNOWN, Stored
from reviewhub.reviews.rules import Facts, Vote, may_vote, resolve
from reviewhub.toolcalls.settle import Answer
from reviewhub.toolcalls.models import ToolCall


def decide(
    *,
    request_id: uuid.UUID,
    member: Member,
    body: wire.DecideBody,
    body_digest: str,
    key: str,
    actor: Actor,
) -> wire.DecideOut:
    """Takes one person's answer to one request.

    Args:
        member: who answers; that they may see and decide this request was checked by the caller.
        body: the answer with the version and digest that were shown.
        body_digest: of the request's canonical body, for the idempotency key.
        key: the idempotency key; the same key and body answer the same again.

    Raises:
        Changed, AlreadyDecided, Expired, Superseded: somebody or something was first; nothing happened.
        NotEligible: four-eyes bars this person.
        Invalid: this answer is not possible here (its kind, its changes, or policy denies the edited call).
    """
    edit = edits.prepare(request_id=request_id, body=body) if body.type == "edit" else None
    with transaction.atomic(durable=True):
        kept = claim(scope=f"decide:{member.pk}:{request_id}", key=key, body_digest=body_digest)
        if kept.answer is not None:
            return wire.DecideOut.model_validate_json(kept.answer)
        locked = lock_request(request_id)
        out = _answer(locked=locked, member=member, body=body, edit=edit, actor=actor)
        kept.keep(status=200, answer=out.model_dump_json(exclude_none=True))
        faults.point("decide.before_commit")
    faults.point("decide.after_commit")
    return out


def _answer(
    *, locked: LockedRequest, member: Member, body: wire.DecideBody, edit: edits.Edit | None, actor: Actor
) -> wire.DecideOut:
    row = locked.request
    check_open(row)
    check_shown(row, version=body.version, digest=body.digest)
    stored = Stored.model_validate_json(row.requirement)
    _check_kind(row, stored, body)
    _check_voter(row, stored, member)
    if row.kind == ReviewRequest.Kind.UNKNOWN:
        return _outcome_known(locked, body, actor)
    if edit is not None:
        stored = edits.apply(locked=locked, edit=edit, member=member, actor=actor)
    _vote(locked, member=member, body=body, stored=stored, actor=actor)
    return _count(locked, body=body, stored=stored, actor=actor)


def _check_kind(row: ReviewRequest, stored: Stored, body: wire.DecideBody) -> None:
    """The answer's kind must be one of this request's, and carry what its kind carries."""
    if not stored.allows(body.type):
        allowed = ", ".join(stored.allowed_decisions)
        raise NotAllowedHere.at("/type", f"{body.type} is not allowed here; allowed: {allowed}")
    if (row.kind == ReviewRequest.Kind.UNKNOWN) != (body.type in UNKNOWN):
        raise NotAllowedHere.at("/type", f"{body.type} is no answer to this kind of request")
    if body.has_value and body.type not in ("respond", "happened"):
        raise NotAllowedHere.at("/value", f"{body.type} carries no value")
    if body.type == "respond" and not body.has_value:
        raise NotAllowedHere.at("/value", "respond needs a value (false, 0, an empty text and null are values)")
    if body.changes is not None and body.type != "edit":
        raise NotAllowedHere.at("/changes", f"{body.type} carries no changes")
    if body.type == "edit" and not body.changes:
        raise NotAllowedHere.at("/changes", "edit needs at least one change")


def _check_voter(row: ReviewRequest, stored: Stored, member: Member) -> None:
    """Four-eyes, where the requirement asks for it."""
    run = row.run
    agent = row.agent
    facts = Facts(
        started_by=run.started_by_id,
        agent_owner=agent.owner_id,
        key_made_by=run.key.made_by_id if run.key else None,
        on_behalf_of=run.on_behalf_of,
        editors=frozenset(
            row.reviews.filter(verdict="edit").values_list("member_id", flat=True)
        ),
    )
    reason = may_vote(
        member_id=member.pk, member_email=member.person.email, facts=facts, four_eyes=stored.four_eyes
    )
    if reason:
        raise NotEligible(reason)


def _outcome_known(locked: LockedRequest, body: wire.DecideBody, actor: Actor) -> wire.DecideOut:
    """A person says whether a call of unknown outcome happened."""
    answer = _final(locked, type_=body.type, body=body, actor=actor)
    fields: dict[str, object] = {}
    if body.type == "happened":
        fields = {"result": body.value_text if body.has_value else "null"}
    _conclude(locked, answer, **fields)
    return _out(locked, counted=1)


def _vote(
    locked: LockedRequest, *, member: Member, body: wire.DecideBody, stored: Stored, actor: Actor
) -> None:
    """Writes this person's vote; an earlier one of theirs on this request is void from now on."""
    row = locked.request
    row.reviews.filter(member=member, voided_at__isnull=True).update(
        voided_at=locked.now, voided_because="voted again"
    )
    Review.objects.create(
        request=row,
        member=member,
        name=actor.name,
        verdict=body.type,
        version=row.version,
        digest=row.digest,
        message=body.message or "",
        note=body.note or "",
    )


def _count(locked: LockedRequest, *, body: wire.DecideBody, stored: Stored, actor: Actor) -> wire.DecideOut:
    """Counts the votes, and concludes when they are enough."""
    row = locked.request
    votes = [
        Vote(member_id=vote.member_id, verdict=vote.verdict, version=vote.version, at=vote.created_at)
        for vote in row.reviews.filter(voided_at__isnull=True).order_by("created_at", "id")
    ]
    found = resolve(
        approvals=stored.approvals,
        deny_threshold=stored.deny_threshold,
        version=row.version,
        votes=votes,
    )
    counted = sum(vote.verdict in ("approve", "edit") and vote.version == row.version for vote in votes)
    ReviewRequest.objects.filter(pk=row.pk).update(approvals=counted)
    row.approvals = counted
    record(
        "request.voted",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        pause_id=locked.call.pause_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=RequestVoted(
            number=row.number,
            verdict=body.type,
            version=row.version,
            digest=row.digest,
            message=body.message or "",
            note=body.note or "",
            approvals=counted,
            needed=stored.approvals,
        ),
    )
    if found is not None:
        _conclude(locked, _final(locked, type_=found.type, body=body, actor=actor, stored=stored))
    return _out(locked, counted=counted)


def _final(
    locked: LockedRequest, *, type_: str, body: wire.DecideBody, actor: Actor, stored: Stored | None = None
) -> Answer:
    return Answer(
        type=type_,
        to=CALL_STATE[type_],
        by=actor,
        message=_messages(locked.request, type_) or body.message or "",
        note=body.note or "",
        value=body.value_text if body.has_value else None,
        request_id=locked.request.pk,
        policy_version=stored.policy_version if stored else 0,
    )
