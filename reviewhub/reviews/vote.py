"""Votes: written under the request's lock, then read and counted by the pure rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from reviewhub_agents import wire

from reviewhub.accounts.models import Member
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.policies.rules import Verdict
from reviewhub.reviews import rules
from reviewhub.reviews.kinds import RequestVoted
from reviewhub.reviews.lock import LockedRequest
from reviewhub.reviews.models import Review, ReviewRequest
from reviewhub.reviews.requirement import Stored


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Whether the vote counts, how many approvals are still missing, and the final answer if there is one."""

    counts: bool
    needed: int
    resolution: rules.Resolution | None


def vote(*, locked: LockedRequest, member: Member, body: wire.DecideBody, actor: Actor) -> Review:
    """Writes a member's vote on the current version; an earlier vote of theirs is void from now on."""
    row = locked.request
    row.reviews.filter(member=member, voided_at__isnull=True).update(
        voided_at=now(), voided_because="voted again"
    )
    return Review.objects.create(
        request=row,
        member=member,
        name=actor.name,
        verdict=body.type.value,
        version=row.version,
        digest=row.digest,
        message=body.message,
        note=body.note,
    )


def count(
    *, locked: LockedRequest, stored: Stored, verdict: str, body: wire.DecideBody, actor: Actor
) -> Counted:
    """Counts the votes of a locked request, keeps the number of approvals on it, and records the vote."""
    row = locked.request
    votes = votes_of(row)
    tally = rules.tally(stored.requirement, votes, version=row.version)
    ReviewRequest.objects.filter(pk=row.pk).update(approvals=len(tally.approvals))
    row.approvals = len(tally.approvals)
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
            tool=row.tool_name,
            verdict=verdict,
            version=row.version,
            digest=row.digest,
            message=body.message,
            note=body.note,
            approvals=row.approvals,
            needed=stored.requirement.approvals,
        ),
    )
    voters = {*tally.approvals, *tally.denials}
    return Counted(
        counts=verdict == "respond" or any(vote.member_id in voters for vote in votes[-1:]),
        needed=tally.needed,
        resolution=rules.resolve(stored.requirement, votes, version=row.version),
    )


def votes_of(row: ReviewRequest) -> list[rules.Vote]:
    """The votes that are not void, the oldest first."""
    rows = row.reviews.filter(voided_at__isnull=True).order_by("created_at", "id")
    return [
        rules.Vote(
            member_id=found.member_id,
            verdict=cast("Verdict", found.verdict),
            version=found.version,
            at=found.created_at,
        )
        for found in rows
    ]
