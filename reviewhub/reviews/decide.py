"""A person answers a request. The one way for pages, API and bulk.

Outside the transaction the arguments are read and masked, and an edit is checked against the tool's schema and put to
policy. Inside, under the locks
branch, pause, call, request, member: may this person still decide it, is it still open, still what was shown, still in
time? Then the vote is written, the votes are counted by a pure rule, and a final answer concludes the request.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import Action
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.clock import DbNow
from reviewhub.core.errors import Invalid, StaleState
from reviewhub.core.idempotency import answered, claim
from reviewhub.core.text import check_text
from reviewhub.policies.rules import Verdict
from reviewhub.reviews import edit as edits
from reviewhub.reviews.assurance import APPROVING, check_answer, check_before, lets_run
from reviewhub.reviews.conclude import CALL_STATE, conclude
from reviewhub.reviews.denied_now import check_not_denied
from reviewhub.reviews.errors import Expired, NotAllowedHere, NotEligible, NotYours
from reviewhub.reviews.holder import holder
from reviewhub.reviews.involved import involved
from reviewhub.reviews.lock import LockedRequest, check_open, check_shown, final_facts, lock_request
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.prepared import Prepared, prepare
from reviewhub.reviews.present import decision_out, schema_of
from reviewhub.reviews.reasons import with_reason
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.rules import Resolution, free_seats, may_let_run_again, may_vote, tally
from reviewhub.reviews.seating import Seating, said_for, seating
from reviewhub.reviews.targets import request_target
from reviewhub.reviews.vote import Place, as_votes, count, vote, votes_on
from reviewhub.standing.remember import remember
from reviewhub.toolcalls.models import CallVersion, Decision
from reviewhub.toolcalls.settle import Answer

# An edit is prepared outside the transaction; when policy is published meanwhile, it is prepared once more.
PREPARATIONS = 3


def decide(
    *,
    request_id: uuid.UUID,
    member: Member,
    body: wire.DecideBody,
    body_digest: str,
    key: str,
    actor: Actor,
    is_together: bool = False,
) -> wire.DecideOut:
    """Takes one person's answer to one request.

    Args:
        member: who answers, the same as `actor`.
        body: the answer, with the version and digest that were shown.
        body_digest: of the canonical body, for the idempotency key.
        key: the idempotency key; the same key and body answer the same again.
        is_together: the answer is one of a list, in which nothing dangerous is let run.

    Raises:
        Changed, AlreadyDecided, Expired: somebody or something was first, and nothing happened.
        NotAnyMore: the person was disabled, or is in no team of the request any more.
        DeniedByNow: an approval of what policy denies by now.
        NotYours: somebody else has claimed the request.
        NotEligible: four-eyes bars this person, or their team is not asked, or not yet.
        SignInAgain: the requirement wants the password once more.
        OneByOne: what this lets run is decided by itself.
        AlreadyVoted: they have said the same of this version; another answer is a change of mind and counts.
        Invalid: this answer is not possible here (its kind, its changes, policy denies the edited call, or an approval
            that is to be remembered cannot be), or lacks what it has to bring (`reviews.assurance.check_answer`).
    """
    _check_texts(body)
    body = with_reason(body, workspace_id=member.workspace_id)
    scope = f"decide:{member.pk}:{request_id}"
    before = answered(scope=scope, key=key, body_digest=body_digest)
    if before is not None:
        return _given_before(before)
    for _ in range(PREPARATIONS):
        prepared = prepare(request_id=request_id, body=body)
        try:
            return _in_transaction(request_id, member, body, body_digest, key, actor, prepared, is_together)
        except edits.PolicyMoved:
            continue
    raise edits.PolicyMoved


def _check_texts(body: wire.DecideBody) -> None:
    for name in ("message", "note"):
        check_text(getattr(body, name), path=f"/{name}")
    if body.was_given("value"):
        try:
            canonical.dumps(body.value)
        except canonical.BadJson as error:
            first = error.errors[0]
            raise Invalid.at(f"/value{first['path']}", first["message"], first["code"]) from error


def _in_transaction(
    request_id: uuid.UUID,
    member: Member,
    body: wire.DecideBody,
    body_digest: str,
    key: str,
    actor: Actor,
    prepared: Prepared,
    is_together: bool,
) -> wire.DecideOut:
    with transaction.atomic(durable=True):
        kept = claim(scope=f"decide:{member.pk}:{request_id}", key=key, body_digest=body_digest)
        if kept.answer is not None:
            return _given_before(kept.answer)
        out = _decide(lock_request(request_id), member, body, prepared, actor, is_together)
        kept.keep(status=200, answer=out.to_text())
        faults.point("decide.before_commit")
    faults.point("decide.after_commit")
    return out


def _given_before(answer: str) -> wire.DecideOut:
    """An answer of ours, read back: it is larger and deeper than the body whose arguments it repeats."""
    return wire.DecideOut.from_tree(canonical.reread(answer))


def _decide(
    locked: LockedRequest,
    member: Member,
    body: wire.DecideBody,
    prepared: Prepared,
    actor: Actor,
    is_together: bool,
) -> wire.DecideOut:
    row = locked.request
    still_may(actor, Action.REQUEST_DECIDE, request_target(row))
    check_open(row)
    check_shown(row, version=body.version, digest=body.digest)
    stored = Stored.model_validate_json(row.requirement)
    _check_type(row, stored, body)
    _check_claim(row, member)
    if row.kind == ReviewRequest.Kind.UNKNOWN:
        _check_runs_again(row, stored, member, body)
        check_answer(row, stored.requirement, body, actor, is_together=is_together)
        return _say_what_happened(locked, body, prepared, actor)
    so_far, sits = votes_on(row), seating(stored=stored, member=member)
    turn = tally(stored.requirement, as_votes(so_far), version=row.version).turn
    _check_voter(locked, stored, member, body, turn, sits)
    if prepared.edit is not None:
        check_before(row, stored.requirement, body, actor, is_together=is_together)
        stored, turn = edits.apply(locked=locked, edit=prepared.edit, member=member, actor=actor), 0
        so_far, sits = [], seating(stored=stored, member=member)
    if body.type in APPROVING:
        check_not_denied(
            locked.call, prepared.ahead if prepared.edit is None else prepared.edit.ahead(locked.call)
        )
    check_answer(row, stored.requirement, body, actor, is_together=is_together)
    place = _place(locked, stored, sits)
    voted = vote(locked=locked, member=member, body=body, place=place, so_far=so_far, actor=actor)
    counted = count(
        locked=locked,
        stored=stored,
        member=member,
        body=body,
        place=place,
        turn=turn,
        voted=voted,
        actor=actor,
    )
    decision = None
    if counted.resolution is not None:
        decision = _conclude(locked, stored, counted.resolution, voted.votes, body, actor)
    asked = body.remember
    standing = _remember(locked, decision, member, asked, actor, prepared) if asked else None
    return _out(
        locked, prepared, counted=counted.counts, needed=counted.needed, decision=decision, standing=standing
    )


def _remember(
    locked: LockedRequest,
    decision: Decision | None,
    member: Member,
    asked: wire.Remember,
    actor: Actor,
    prepared: Prepared,
) -> uuid.UUID:
    """Lets the approval stand. Refused, nothing of the vote happened either."""
    if decision is None or decision.type != "approve":
        raise Invalid.at("/remember", "This cannot be remembered: it needs more than this approval.")
    row = locked.request
    made = remember(
        call=locked.call,
        request_number=row.number,
        member=member,
        asked=asked,
        actor=actor,
        ahead=prepared.ahead,
    )
    return made.pk


def _check_type(row: ReviewRequest, stored: Stored, body: wire.DecideBody) -> None:
    allowed = stored.decisions(row.kind)
    # To approve what a colleague edited is part of editing, so approve stays possible on a later version.
    if body.type.value not in allowed and not (
        body.type.value == "approve" and row.version > 1 and "edit" in allowed
    ):
        message = f"{body.type.value} is not possible here; possible: {', '.join(allowed)}"
        raise NotAllowedHere(message, errors=[{"path": "/type", "code": "invalid", "message": message}])


def _check_claim(row: ReviewRequest, member: Member) -> None:
    """What somebody else has claimed is theirs for a while; who wants it takes the claim over first."""
    held_by = holder(row)
    if held_by is not None and held_by.pk != member.pk:
        name = held_by.person.name
        raise NotYours(f"{name} has claimed this request; take it over to decide it.", by=name)


def _check_voter(
    locked: LockedRequest, stored: Stored, member: Member, body: wire.DecideBody, turn: int, sits: Seating
) -> None:
    verdict = cast("Verdict", body.type.value)  # `_check_type` let through what people answer to an approval
    barred = may_vote(
        stored.requirement,
        member_id=member.pk,
        verdict=verdict,
        version=locked.request.version,
        involved=involved(locked.request, stored.requirement),
        seats=sits.seats,
        turn=turn,
    )
    if barred is not None:
        raise NotEligible(barred.text, reason=barred.code)


def _check_runs_again(row: ReviewRequest, stored: Stored, member: Member, body: wire.DecideBody) -> None:
    """That a call did not happen lets it run once more: four eyes look at that, too."""
    if not lets_run(body.type):
        return
    needed = stored.requirement
    barred = may_let_run_again(needed, member_id=member.pk, involved=involved(row, needed))
    if barred is not None:
        raise NotEligible(barred.text, reason=barred.code)


def _place(locked: LockedRequest, stored: Stored, sits: Seating) -> Place:
    """What the vote of whoever sits there may count for, by the requirement that holds now."""
    seats = free_seats(stored.requirement, sits.seats, involved(locked.request, stored.requirement))
    lenders = dict.fromkeys(sits.lenders[seat.of] for seat in seats if seat.of is not None)
    return Place(seats=seats, for_teams=said_for(stored, seats), in_place_of=" and ".join(lenders))


def _say_what_happened(
    locked: LockedRequest, body: wire.DecideBody, prepared: Prepared, actor: Actor
) -> wire.DecideOut:
    """One person answers whether a call happened; the result they give becomes the call's."""
    fields: dict[str, Any] = {}
    if body.type is wire.Verdict.HAPPENED:
        fields["result"] = canonical.dumps(body.value) if body.was_given("value") else "null"
    answer = _answer(locked, body.type.value, body, actor, 0)
    decision = conclude(locked=locked, request=locked.request, answer=answer, **fields)
    return _out(locked, prepared, counted=True, needed=0, decision=decision)


def _conclude(
    locked: LockedRequest,
    stored: Stored,
    found: Resolution,
    votes: Sequence[Review],
    body: wire.DecideBody,
    actor: Actor,
) -> Decision:
    """The vote that completed it is in time by the database's clock at this write, or nothing of it happened."""
    row = locked.request
    answer = replace(
        _answer(locked, found.type, body, actor, stored.policy_version), message=_told(votes, found)
    )
    in_time = {"deadline_at__gt": DbNow()} if row.deadline_at else None
    try:
        return conclude(locked=locked, request=row, answer=answer, where=in_time)
    except StaleState:
        raise Expired(**final_facts(row)) from None


def _told(votes: Sequence[Review], found: Resolution) -> str:
    """The words of everybody whose vote it rests on, for the agent; with names unless they are the last one's alone."""
    said = {vote.member_id: vote for vote in votes if vote.message and vote.member_id in found.counted}
    if said.keys() <= {found.by}:
        return "".join(vote.message for vote in said.values())
    return "\n".join(f"{said[who].name}: {said[who].message}" for who in found.counted if who in said)


def _answer(
    locked: LockedRequest, type_: str, body: wire.DecideBody, actor: Actor, policy_version: int
) -> Answer:
    return Answer(
        type=type_,
        to=CALL_STATE[type_],
        by=actor,
        message=body.message,
        note=body.note,
        value=canonical.dumps(body.value) if body.was_given("value") else None,
        request_id=locked.request.pk,
        policy_version=policy_version,
    )


def _out(
    locked: LockedRequest,
    prepared: Prepared,
    *,
    counted: bool,
    needed: int,
    decision: Decision | None,
    standing: uuid.UUID | None = None,
) -> wire.DecideOut:
    row = locked.request
    state = wire.RequestState(row.state)
    if decision is None:
        return wire.DecideOut(state=state, counted=counted, needed=needed, version=row.version)
    versions = dict(CallVersion.objects.filter(tool_call=locked.call).values_list("version", "arguments"))
    told = decision_out(decision, versions, prepared.reading(schema_of(row)), edited_by=row.edited_by_name)
    fields: dict[str, Any] = {"decision": told}
    if standing is not None:
        fields["standing"] = standing
    return wire.DecideOut(state=state, counted=counted, needed=needed, version=row.version, **fields)
