"""Verdicts as the API shows them."""

from __future__ import annotations

from typing import Any

from reviewhub_agents import wire

from reviewhub.verdicts.models import Verdict


def verdict_out(row: Verdict) -> wire.VerdictOut:
    """One verdict."""
    fields: dict[str, Any] = {
        name: getattr(row, name)
        for name in ("id", "name", "source", "judges", "status", "detail", "contradicts", "created_at")
    }
    if row.ended_at:
        fields["ended_at"] = row.ended_at
    return wire.VerdictOut(**fields)
