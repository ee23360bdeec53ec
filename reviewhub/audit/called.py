"""Which calls have the words that somebody looks for. Calls are a layer above the record, so that layer says it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db.models import Q


@dataclass(frozen=True)
class Few:
    """All calls that have some words, by their ids, and the requests about them."""

    calls: Sequence[uuid.UUID]
    requests: Sequence[uuid.UUID]

    @property
    def about(self) -> Q:
        """Whether an event is about one of them."""
        if not self.calls:
            return Q()
        return Q(subject_id__in=self.calls) | Q(request_id__in=self.requests)


class Finder(Protocol):
    """What the layer above knows of the words of calls."""

    def few(self, workspace_id: uuid.UUID, text: str, seconds: float) -> Few | None:
        """The calls with these words; None when they are many, or finding them takes longer than this."""

    def about(self, text: str) -> Q:
        """Whether an event is about a call with these words, asked of each event that is read."""


_finder: list[Finder] = []


def tell(finder: Finder) -> None:
    """Says who knows; once, when the app of that layer is ready."""
    _finder[:] = [finder]


def finder() -> Finder | None:
    """Who knows; nobody while the record is used by itself."""
    return _finder[0] if _finder else None
