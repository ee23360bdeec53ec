"""Removes from a blob store what no blob points to."""

from __future__ import annotations

from reviewhub.checkpoints.blobs.upkeep import working
from reviewhub.checkpoints.models import Leftover
from reviewhub.core import faults
from reviewhub.core.clock import DbNow

AT_ONCE = 500


def clear(*, name: str, most: int = AT_ONCE) -> int:
    """Removes what is due in one store; how much that was. To be called outside of transactions.

    What is about to be removed is marked so first: from then on no move can end with it. Whoever dies before the list
    is shortened leaves it to the next one, who removes it once more.

    Raises:
        StoreDown: the store did not do it; the list stays.
    """
    due = Leftover.objects.filter(location__startswith=f"{name}/", due_at__lte=DbNow())
    ids = list(due.order_by("due_at", "id").values_list("id", flat=True)[:most])
    if not ids:
        return 0
    Leftover.objects.filter(pk__in=ids).update(is_going=True)
    going = dict(Leftover.objects.filter(pk__in=ids, is_going=True).values_list("id", "location"))
    faults.point("blobs.going")
    with working(name) as place:
        place.delete_many([location.partition("/")[2] for location in going.values()])
        faults.point("blobs.gone")
    Leftover.objects.filter(pk__in=going).delete()
    return len(going)
