"""Who has a request open just now. It changes nothing about the request, so it is on no record and soon forgotten."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import timedelta
from typing import Final

from django.db import transaction

from reviewhub.accounts.models import Member
from reviewhub.core.clock import DbNow, now
from reviewhub.reviews.models import Look

LOOK_SECONDS: Final = 40
"""How long a look counts that nobody renews: the page of a browser that vanished is closed by then."""

RENEW_SECONDS: Final = 15.0


def look(*, request_id: uuid.UUID, member: Member) -> None:
    """`member` has the request open from now on, for LOOK_SECONDS; what ran out is swept along."""
    with transaction.atomic():
        Look.objects.filter(until__lte=DbNow()).delete()
        Look.objects.update_or_create(
            request_id=request_id,
            member=member,
            defaults={"until": now() + timedelta(seconds=LOOK_SECONDS)},
        )


def look_away(*, request_id: uuid.UUID, member: Member) -> None:
    """`member` has closed it; one that is open in another window is renewed by that one."""
    Look.objects.filter(request_id=request_id, member=member).delete()


def lookers(requests: Collection[uuid.UUID], *, but: Member) -> dict[uuid.UUID, tuple[str, ...]]:
    """For each of these requests who else than `but` has it open, by name; one query."""
    rows = Look.objects.filter(request_id__in=requests, until__gt=DbNow(), member__is_active=True)
    found: dict[uuid.UUID, tuple[str, ...]] = {}
    for request, name in (
        rows.exclude(member=but)
        .order_by("member__person__name")
        .values_list("request_id", "member__person__name")
    ):
        found[request] = (*found.get(request, ()), name)
    return found
