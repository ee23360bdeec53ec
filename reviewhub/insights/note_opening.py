"""Notes when somebody who may decide a request first had its page before them."""

from __future__ import annotations

from reviewhub.accounts.permissions import Action, MemberCaller, allowed
from reviewhub.core.clock import now
from reviewhub.insights.models import Opening
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.targets import request_target


def note_opening(row: ReviewRequest, caller: MemberCaller) -> None:
    """Notes it once for each version of a pending request; nothing for who may not decide it.

    A measurement for the figures and no event: the record says who decided, not who read.
    """
    if row.state != RequestState.PENDING or not allowed(caller, Action.REQUEST_DECIDE, request_target(row)):
        return
    seen = {"request": row, "member": caller.member, "version": row.version}
    # Asked first: the page is opened often and noted once, and a write is dear.
    if not Opening.objects.filter(**seen).exists():
        Opening.objects.bulk_create([Opening(**seen, at=now())], ignore_conflicts=True)
