"""A call that is asked for once more in its run, although people did not let exactly this run the last time."""

from __future__ import annotations

import uuid
from collections.abc import Collection

from django.db.models import Exists, F, OuterRef, Q

from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.toolcalls.models import CallVersion

_NOT_RUN = Q(state__in=(RequestState.REJECTED, RequestState.RESPONDED)) | Q(
    state=RequestState.EXPIRED, on_timeout="deny"
)


def asked_before(*, run_id: uuid.UUID, alike: Collection[str]) -> dict[str, ReviewRequest]:
    """Of these calls, by `likeness`, the run's newest request that did not let such a call run as it was asked for.

    It was rejected, answered instead or out of time; or a person changed it, whatever became of that, and this is how
    it was before.
    """
    if not alike:
        return {}
    versions = "tool_call__versions"
    rows = ReviewRequest.objects.filter(
        run_id=run_id, kind=ReviewRequest.Kind.APPROVAL, **{f"{versions}__likeness__in": alike}
    ).annotate(alike=F(f"{versions}__likeness"), at=F(f"{versions}__version"))
    was_changed = Q(at__lt=F("version")) & ~only_spelled()
    found = rows.filter(was_changed | _NOT_RUN & Q(at=F("version")))
    return {row.alike: row for row in found.order_by("number")}


def only_spelled() -> Q:
    """For requests with the `likeness` of a version as `alike`: the version that they are about is the same call."""
    last = CallVersion.objects.filter(tool_call=OuterRef("tool_call"), version=OuterRef("version"))
    return Q(Exists(last.filter(likeness=OuterRef("alike"))))
