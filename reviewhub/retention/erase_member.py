"""Erases who a former member was. That somebody acted stays, under an invented name; the record's chain holds.

The database lets names be taken from votes, decisions and versions of calls only when `member.erased` names whose.
"""

from __future__ import annotations

import uuid
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from reviewhub.accounts.admins import lock_member
from reviewhub.accounts.models import Member, SavedView, SignInFailure
from reviewhub.accounts.new_password import BelongsElsewhere
from reviewhub.audit.erase import erase as erase_events
from reviewhub.audit.models import Event
from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Hold, Pin
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.models import IdempotencyKey
from reviewhub.deliveries import folder
from reviewhub.deliveries.models import Email
from reviewhub.insights.models import Backtest
from reviewhub.policies.models import PolicyDraft
from reviewhub.retention.erase import StillOpen
from reviewhub.retention.kinds import MemberErased
from reviewhub.retention.mentions import KEPT, mentions, wanted
from reviewhub.retention.reasons import check_reason
from reviewhub.retention.scrub import scrub
from reviewhub.reviews.follow_up import MOST_NAMES
from reviewhub.reviews.models import Comment, FollowUp, Look, PostReview, Question, Review, ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Halt, RetentionRule
from reviewhub.standing.models import StandingApproval
from reviewhub.toolcalls.models import CallVersion, Decision
from reviewhub.verdicts.models import Verdict

NAMED: Final[tuple[tuple[type[Model], str, str], ...]] = (
    (Review, "member", "name"),
    (Comment, "member", "name"),
    (Question, "member", "name"),
    (PostReview, "member", "member_name"),
    (FollowUp, "member", "name"),
    (StandingApproval, "owner", "owner_name"),
)
"""Tables with somebody's name beside their id: table, column of the member, column of the name."""
BY_NAME: Final[tuple[tuple[type[Model], str, str], ...]] = (
    (Halt, "by_name", "workspace"),
    (RetentionRule, "author_name", "workspace"),
    (Pin, "by_name", "run__workspace"),
    (PolicyDraft, "author_name", "workspace"),
    (Backtest, "by_name", "workspace"),
    (StandingApproval, "revoked_by_name", "workspace"),
    (FollowUp, "done_by_name", "workspace"),
    (Verdict, "by_name", "workspace"),
)
"""Tables with somebody's name and no id: table, column of the name, way to the workspace."""


def invented(member: Member) -> str:
    """What somebody is called afterwards: the same everywhere, and nobody else's."""
    return f"Erased person {member.pk.hex[-8:]}"


def erase_member(*, member: Member, reason: str, actor: Actor) -> int:
    """Erases name, e-mail address and what the record says of a member who may not act any more.

    In transactions of at most RETENTION_BATCH_ROWS events; killed in the middle, the same call goes on.

    Args:
        reason: kept for ever; it must not repeat what is erased.

    Returns:
        Of how many events the words are gone now.

    Raises:
        Invalid: no reason is given.
        StillOpen: they may still act, or did something in a run that is under hold; `extra` has `runs`.
        BelongsElsewhere: they are in other workspaces too, which their name and address belong to as well.
        NotAnyMore: who acts may not do this any more.
    """
    check_reason(reason)
    _begin(member, reason, actor)
    count = 0
    while done := _events(member, reason, actor):
        count += done
        faults.point("erase.after_commit")
    _end(member, actor)
    return count


@transaction.atomic
def _begin(member: Member, reason: str, actor: Actor) -> None:
    row = lock_member(member, actor)
    if row.is_active:
        raise StillOpen(f"{row.person.name} may still act here: disable them first. Nothing was erased.")
    if row.person.memberships.exclude(pk=row.pk).exists():
        raise BelongsElsewhere("This person belongs to other workspaces too, which know them by this name.")
    _check_holds(row, "Nothing was erased.")
    if not Event.objects.filter(kind="member.erased", subject_id=row.pk).exists():
        record(
            "member.erased",
            workspace_id=row.workspace_id,
            actor=actor,
            subject_id=row.pk,
            data=MemberErased(who=invented(row), reason=reason),
        )


@transaction.atomic
def _events(member: Member, reason: str, actor: Actor) -> int:
    """Erases what some events say; how many."""
    row = lock_member(member, actor)
    _check_holds(row, "What was erased until then stays so; the same call goes on.")
    most = settings.RETENTION_BATCH_ROWS
    some = list(_theirs(row).order_by("id").values_list("id", flat=True)[:most]) or _mentions(row, most)
    return erase_events(workspace_id=row.workspace_id, event_ids=some, actor=actor, because=reason)


def _check_holds(member: Member, done: str) -> None:
    """Raises StillOpen when they acted in a run that is under hold; `done` says what was erased till now."""
    held = set(
        Hold.objects.filter(run_id__in=_theirs(member).values("run_id")).values_list("run_id", flat=True)
    )
    if held:
        runs = f"{len(held)} run{'s' * (len(held) > 1)}"
        raise StillOpen(
            f"They acted in {runs} under hold, {min(map(str, held))} among them. {done}",
            runs={str(run): "it is under hold" for run in held},
        )


def _theirs(member: Member) -> QuerySet[Event]:
    """Events that still say something of what they did, or of what was done to them."""
    rows = Event.objects.filter(workspace_id=member.workspace_id, payload__erased_at__isnull=True)
    return rows.filter(Q(actor_id=member.pk) | Q(subject_id=member.pk)).exclude(kind__in=KEPT)


def _mentions(member: Member, most: int) -> list[int]:
    """Entries of others that name them, unless the name is somebody else's as well."""
    person = member.person
    others = Member.objects.filter(workspace_id=member.workspace_id).exclude(pk=member.pk)
    one = wanted(
        name="" if _is_shared(member) else person.name,
        address=person.email,
        shared=others.values_list("person__name", flat=True),
    )
    return mentions(Event.objects.filter(workspace_id=member.workspace_id), one, most=most)


def _is_shared(member: Member) -> bool:
    """Whether somebody else of the workspace has this name: where it stands alone it may be theirs."""
    others = Member.objects.filter(workspace_id=member.workspace_id, person__name=member.person.name)
    return others.exclude(pk=member.pk).exists()


@transaction.atomic
def _end(member: Member, actor: Actor) -> None:
    """Takes the name from all rows that have it with its id, and from the account."""
    row = lock_member(member, actor)
    person, name = row.person, invented(row)
    decided = Decision.objects.filter(by_kind="person", by_id=row.pk)
    requests = decided.filter(request_id__isnull=False).values("request_id")
    ReviewRequest.objects.filter(pk__in=requests).update(decided_by_name=name)
    made = CallVersion.objects.filter(
        author_kind="person", author_id=row.pk, tool_call=OuterRef("tool_call"), version=OuterRef("version")
    )
    ReviewRequest.objects.filter(Exists(made), state=RequestState.EDITED).update(edited_by_name=name)
    decided.exclude(by_name=name).update(by_name=name)
    CallVersion.objects.filter(author_kind="person", author_id=row.pk).exclude(author_name=name).update(
        author_name=name
    )
    for model, whose, called in NAMED:
        model._default_manager.filter(**{whose: row}).exclude(**{called: name}).update(**{called: name})
    if not _is_shared(row):
        _take_away(row.workspace_id, person.name, name)
    Look.objects.filter(member=row).delete()
    SavedView.objects.filter(member=row).delete()
    Email.objects.filter(to=person.email).delete()
    SignInFailure.objects.filter(account=person.email).delete()
    answers = IdempotencyKey.objects.filter(scope__startswith=f"decide:{row.pk}:", answer__isnull=False)
    answers.update(answer=None)
    address = person.email
    person.name, person.email, person.is_active = name, f"{uuid.uuid4().hex}@erased.invalid", False
    person.set_unusable_password()
    person.save()
    transaction.on_commit(lambda: folder.forget(lambda words: address in words), robust=True)
    transaction.on_commit(scrub, robust=True)


def _take_away(workspace_id: uuid.UUID, name: str, instead: str) -> None:
    """Takes a name from where it stands without an id."""
    for model, called, workspace in BY_NAME:
        named = model._default_manager.filter(**{workspace: workspace_id, called: name[:200]})
        named.update(**{called: instead})
    told = FollowUp.objects.filter(workspace_id=workspace_id, to_names__contains=name)
    for pk, names in told.values_list("pk", "to_names"):
        known = [instead if one == name else one for one in names.split(", ")]
        FollowUp.objects.filter(pk=pk).update(to_names=", ".join(known)[:MOST_NAMES])
