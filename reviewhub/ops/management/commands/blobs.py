"""`manage.py blobs`: how the blob stores stand."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from reviewhub.checkpoints.blobs.status import Many, Standing, standing, waiting


class Command(BaseCommand):
    """For people and for monitoring: it ends with an error while a store fails."""

    help = "Says what is in the blob stores, how far moving is behind, and which store fails since when."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each store."""
        stores = standing()
        if not stores:
            self.stdout.write("No blob store: BLOB_STORES is not set. All blobs are in the database.")
            return
        for one in stores:
            self.stdout.write(_line(one))
        if settings.BLOB_STORES:
            self.stdout.write(f"To be moved: {_said(waiting())} of runs that ended")
        if failing := [one for one in stores if one.failing_since]:
            raise CommandError(
                "; ".join(
                    f"{one.name} has failed since {one.failing_since:%F %T}: {one.problem}" for one in failing
                )
            )


def _line(one: Standing) -> str:
    where = one.address or "which BLOB_STORES does not name any more"
    parts = [f"{one.name} ({where}): {_said(one.kept)}"]
    if one.overdue:
        parts.append(f"{one.overdue} to be removed")
    parts.append(f"last worked {one.ok_at:%F %T}" if one.ok_at else "not used yet")
    return ", ".join(parts)


def _said(many: Many) -> str:
    return f"{many.blobs} blob{'' if many.blobs == 1 else 's'} ({many.bytes:,} bytes)"
