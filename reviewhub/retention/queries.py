"""Reads of retention for the page and the API."""

from __future__ import annotations

import uuid

from django.db.models import QuerySet

from reviewhub.retention.models import Progress


def failing(workspace_id: uuid.UUID) -> QuerySet[Progress]:
    """The runs of a workspace at which the last look failed, those that have failed longest first."""
    rows = Progress.objects.filter(failing_since__isnull=False, run__workspace_id=workspace_id)
    return rows.select_related("run__agent").order_by("failing_since", "pk")
