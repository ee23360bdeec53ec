"""A call that is asked for once more in its run, although people did not let exactly this run the last time."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db.models import F, Q

from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState

_NOT_RUN = (RequestState.REJECTED, RequestState.RESPONDED, RequestState.EXPIRED)


def asked_before(*, run_id: uuid.UUID, alike: Collection[str]) -> dict[str, ReviewRequest]:
    """Of these calls, by `likeness`, the newest request of the run that ended without such a call as it was asked for.

    It was rejected, answered instead or out of time; or a person changed it, and this is how it was before.
    """
    if not alike:
        return {}
    not_run = Q(state__in=_NOT_RUN, tool_call__versions__version=F("version"))
    changed = Q(state=RequestState.EDITED, tool_call__versions__version__lt=F("version"))
    rows = ReviewRequest.objects.filter(
        not_run | changed,
        run_id=run_id,
        kind=ReviewRequest.Kind.APPROVAL,
        tool_call__versions__likeness__in=alike,
    ).annotate(alike=F("tool_call__versions__likeness"))
    return {row.alike: row for row in rows.order_by("number")}
