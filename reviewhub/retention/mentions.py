"""Entries of the record that name somebody though they are about something else: who was told, who was looked for.

Outside of runs every mention counts. An entry of a run also holds what was written about a call, by an agent or by
people (`WRITTEN`): a name in that may be a customer's, it is evidence of what was decided on, and it goes when the run
is erased.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet
from reviewhub_agents import canonical

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Hold

KEPT: Final = ("member.erased", "audit.erased", "run.erased")
"""Kinds whose words stay: they say by whom and why something was erased."""
SEARCHES: Final = (
    "audit.read", "audit.listed", "audit.exported", "person.exported", "view.saved", "view.removed",
)  # fmt: skip
"""Kinds that say what somebody looked for, which may be a part of a name."""
WRITTEN: Final = frozenset(
    {
        "because", "before", "bounds", "changes", "contradicts", "error", "message", "note", "paths", "problem",
        "question", "reason", "sentence", "text", "title", "external_id", "held_because", "pinned_because",
    }
)  # fmt: skip
"""Facts of entries of a run that were written about its calls, by an agent or by people."""
_IDS: Final = 20_000
_SHORT: Final = 3


@dataclass(frozen=True)
class Wanted:
    """What names somebody: the whole name and the address; in what was looked for also a word of the name."""

    whole: frozenset[str]
    words: frozenset[str] = frozenset()

    def said(self) -> Q:
        """Whether the words of an entry may name them; `is_named` says whether they do."""
        found = Q()
        for one in self.whole:
            found |= Q(payload__body__contains=json.dumps(one, ensure_ascii=False)[1:-1])
        for one in self.words | self.whole:
            found |= Q(payload__body__icontains=json.dumps(one, ensure_ascii=False)[1:-1], kind__in=SEARCHES)
        return found

    def is_named(self, kind: str, run_id: uuid.UUID | None, body: str) -> bool:
        """Whether an entry's facts name them."""
        tree: Any = canonical.reread(body)
        data: dict[str, Any] = tree["data"]
        if kind in SEARCHES:
            wanted = self.whole | self.words
            return any(_has(text, one, re.IGNORECASE) for text in _texts(data) for one in wanted)
        facts = {name: value for name, value in data.items() if run_id is None or name not in WRITTEN}
        return any(_has(text, one) for text in _texts(facts) for one in self.whole)


def wanted(*, name: str, address: str, shared: Iterable[str]) -> Wanted:
    """What names somebody.

    Args:
        name: empty when somebody else is called exactly so.
        shared: names of others: a word that one of these has is not taken for theirs.
    """
    others = {word.casefold() for one in shared for word in one.split()}
    words = {word for word in name.split() if len(word) >= _SHORT and word.casefold() not in others}
    return Wanted(whole=frozenset(filter(None, (name, address))), words=frozenset(words))


def mentions(rows: QuerySet[Event], wanted: Wanted, *, most: int, kinds: tuple[str, ...] = ()) -> list[int]:
    """Ids of entries of others that name somebody, at most `most`; none of a run under hold.

    Args:
        kinds: only these.
    """
    rows = rows.filter(payload__erased_at__isnull=True).exclude(kind__in=KEPT)
    rows = rows.exclude(run_id__in=Hold.objects.values("run_id"), run_id__isnull=False)
    rows = rows.filter(kind__in=kinds) if kinds else rows
    found: list[int] = []
    for some in _parts(rows, wanted):
        found += some
        if len(found) >= most:
            break
    return found[:most]


def _parts(rows: QuerySet[Event], wanted: Wanted) -> Iterator[list[int]]:
    newest = rows.order_by("-id").values_list("id", flat=True).first() or 0
    for start in range(0, newest + 1, _IDS):
        part = rows.filter(wanted.said(), id__gt=start, id__lte=start + _IDS).order_by("id")
        read = part.values_list("id", "kind", "run_id", "payload__body")
        yield [pk for pk, kind, run_id, body in read if wanted.is_named(kind, run_id, body)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _has(text: str, name: str, how: re.RegexFlag = re.NOFLAG) -> bool:
    """Whether the name stands in the text, and not within a longer word."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, how) is not None
