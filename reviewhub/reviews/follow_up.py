"""What follows a flag: people are told, a guardrail is suggested, somebody else takes it over, or a branch goes on from
before (`gates.look_back`)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet
from reviewhub_agents import canonical

from reviewhub.accounts.acting import NotAnyMore
from reviewhub.accounts.models import Member, Role
from reviewhub.accounts.permissions import Action, MemberCaller, allowed
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.transitions import move
from reviewhub.deliveries.queue_email import queue_email
from reviewhub.policies.model import Rule
from reviewhub.reviews.errors import NotFlagged
from reviewhub.reviews.kinds import PostReviewFollowedUp
from reviewhub.reviews.lock import LockedPostReview, check_not_erased
from reviewhub.reviews.mail import flagged_mail
from reviewhub.reviews.models import FollowUp, PostReview
from reviewhub.reviews.states import (
    FOLLOW_UP_EDGES,
    SEVERITIES,
    FollowUpKind,
    FollowUpState,
    PostReviewState,
)
from reviewhub.reviews.targets import post_review_target
from reviewhub.runs.models import Branch

MOST_NAMES = 400


@dataclass(frozen=True)
class Following:
    """One follow-up: whom it is handed on to, the branch that was made, and a note."""

    kind: str
    to: uuid.UUID | None = None
    branch: Branch | None = None
    note: str = ""


@dataclass
class _Made:
    """What is kept of it beside its kind."""

    to: Member | None = None
    to_names: str = ""
    rule: str = ""
    mail_to: list[str] = field(default_factory=list)
    why: str = ""


def follow_up(*, locked: LockedPostReview, following: Following, actor: Actor) -> FollowUp:
    """Writes one follow-up of a flag, in the caller's transaction, and the e-mails that belong to it.

    Handing it on takes it from whoever it was handed on to before. A guardrail that is suggested already is that one.

    Raises:
        NotFlagged: it is not flagged.
        Invalid: nobody of this name could look at it.
        RunErased: what the run held was erased.
    """
    row = locked.row
    check_not_erased(row)
    if row.state != PostReviewState.FLAGGED:
        raise NotFlagged
    open_ = row.follow_ups.filter(kind=following.kind, state=FollowUpState.OPEN).first()
    if open_ is not None and following.kind == FollowUpKind.DRAFT_RULE:
        return open_
    made = _made(row, following)
    if open_ is not None:
        _hand_over(open_, made, actor)
    done = following.kind in (FollowUpKind.NOTIFY, FollowUpKind.FORK)
    kept = FollowUp.objects.create(
        workspace_id=row.workspace_id,
        post_review=row,
        kind=following.kind,
        state=FollowUpState.DONE if done else FollowUpState.OPEN,
        member_id=_person(actor),
        name=actor.name[:200],
        to=made.to,
        to_names=made.to_names,
        branch=following.branch,
        rank=SEVERITIES.index(row.severity),
        rule=made.rule,
        note=following.note,
        done_at=clock.now() if done else None,
        done_by_name=actor.name[:200] if done else "",
    )
    if made.mail_to:
        subject, body = flagged_mail(row, by=actor.name, why=made.why)
        queue_email(workspace=row.workspace, to=made.mail_to, subject=subject, body=body)
    record(
        "post_review.followed_up",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        agent_id=row.agent_id,
        subject_id=row.tool_call_id,
        data=PostReviewFollowedUp(
            tool=row.tool_name,
            follow_up=following.kind,
            to=made.to_names,
            branch=following.branch.name if following.branch else "",
            rule=guardrail(row).name if made.rule else "",
            note=following.note,
        ),
    )
    return kept


def may_take_over(row: PostReview) -> QuerySet[Member]:
    """The people to whom it can be handed on: managers, admins, and reviewers of the agent's team."""
    active = Member.objects.filter(
        workspace_id=row.workspace_id, is_active=True, person__is_active=True
    ).select_related("person")
    anywhere = Q(role__in=[Role.MANAGER, Role.ADMIN])
    own = Q(role=Role.REVIEWER, teams=row.agent.team_id)
    return active.filter(anywhere | own).distinct().order_by("person__name", "pk")


def guardrail(row: PostReview) -> Rule:
    """The tighter rule that a flag suggests: such calls need an approval. A guardrail can never loosen anything."""
    name = f"After a flag: {row.tool_name} of {row.agent_name} in {row.environment}"
    return Rule(
        name=name[:200],
        tool=row.tool_name,
        agent=row.agent_name,
        environment=row.environment,
        action="require",
    )


def _made(row: PostReview, following: Following) -> _Made:
    if following.kind == FollowUpKind.ESCALATE:
        to = may_take_over(row).filter(pk=following.to).first() if following.to else None
        if to is None or not allowed(MemberCaller(to), Action.POST_REVIEW_GRADE, post_review_target(row)):
            raise Invalid.at("/to", "is nobody who may look at this; managers and the agent's team may")
        name = to.person.name[:MOST_NAMES]
        return _Made(to=to, to_names=name, mail_to=[to.person.email], why="It was handed on to you:")
    if following.kind == FollowUpKind.NOTIFY:
        people = list(_concerned(row))
        names = ", ".join(one.person.name for one in people)[:MOST_NAMES]
        mail_to = sorted({one.person.email for one in people})
        return _Made(to_names=names, mail_to=mail_to, why="You look after this agent:")
    if following.kind == FollowUpKind.DRAFT_RULE:
        return _Made(rule=canonical.dumps(guardrail(row).model_dump(mode="json", exclude_unset=True)))
    return _Made()


def _concerned(row: PostReview) -> QuerySet[Member]:
    """The active people of the agent's team, and its owner."""
    active = Member.objects.filter(workspace_id=row.workspace_id, is_active=True, person__is_active=True)
    either = Q(teams=row.agent.team_id) | Q(pk=row.agent.owner_id)
    return active.filter(either).select_related("person").distinct().order_by("person__name", "pk")


def _hand_over(before: FollowUp, made: _Made, actor: Actor) -> None:
    move(
        before,
        to=FollowUpState.DONE,
        table=FOLLOW_UP_EDGES,
        done_at=clock.now(),
        done_by_name=actor.name[:200],
        done_note=f"Handed on to {made.to_names}",
    )


def _person(actor: Actor) -> uuid.UUID:
    if actor.kind != "person" or actor.id is None:
        raise NotAnyMore
    return actor.id
