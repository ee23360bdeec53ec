"""A member keeps what they narrowed a page down to."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.delegate import lock_members
from reviewhub.accounts.kinds import ViewSaved
from reviewhub.accounts.models import Member, SavedView
from reviewhub.accounts.permissions import Action, Target
from reviewhub.accounts.rules import clean_name, fold_name
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid

READS: Final = {SavedView.Page.QUEUE: Action.QUEUE_READ, SavedView.Page.AUDIT: Action.AUDIT_READ}
"""What somebody must be allowed to do to keep views of a page: to read it."""

MOST: Final = 30
LONGEST: Final = 4000


@transaction.atomic
def save_view(*, member: Member, page: SavedView.Page, name: str, query: str, actor: Actor) -> SavedView:
    """The view of `member` called `name`; one that is called so already shows this from now on.

    Args:
        query: the page's parameters as its address has them, in characters at most LONGEST.

    Raises:
        Invalid: the name cannot be taken, nothing is narrowed, or there are MOST views of this page.
        NotAnyMore: the member may not read the page any more.
    """
    clean = clean_name(name)
    if not query:
        raise Invalid.at("/query", "Narrow the list down first: a view keeps what it is narrowed to.")
    if len(query) > LONGEST:
        raise Invalid.at("/query", f"These filters take {len(query)} characters; the limit is {LONGEST}.")
    lock_members(member.pk)
    still_may(actor, READS[page], Target(workspace_id=member.workspace_id))
    own = SavedView.objects.filter(member=member, page=page)
    if own.exclude(folded=fold_name(clean)).count() >= MOST:
        raise Invalid.at("/name", f"There can be {MOST} views of a page. Remove one first.", "too_many")
    row, _ = own.update_or_create(
        folded=fold_name(clean),
        defaults={"name": clean, "query": query},
        create_defaults={
            "workspace_id": member.workspace_id,
            "member": member,
            "page": page,
            "name": clean,
            "query": query,
        },
    )
    record(
        "view.saved",
        workspace_id=member.workspace_id,
        actor=actor,
        subject_id=row.pk,
        data=ViewSaved(name=row.name, page=page, query=query),
    )
    return row
