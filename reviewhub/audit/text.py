"""What somebody looks for in the record, and the events that have it: in their own words, or in those of their call."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import Func, Q, QuerySet, TextField

from reviewhub.audit.called import Few, finder
from reviewhub.audit.models import Event
from reviewhub.core.words import THOUSANDS

MOST_PARTS: Final = 12
FEW_SECONDS: Final = 0.2
"""For finding out which calls have the parts, all together."""
_PARTS: Final = re.compile(r'"([^"]+)"|(\S+)')
_LONG: Final = re.compile(r"(?<![\d.,])[1-9]\d{3,}(?!\d)")
_INDEXED: Final = 3
"""Characters that a part of the text needs for the index to be of any use."""


@dataclass(frozen=True)
class Part:
    """One thing that somebody looks for.

    `spelled`: the ways to write it, of a number with and without commas. `few`: the calls that have it among their
    words; None when these are many. What stands between quotation marks is looked for as it is, in no call's words.
    """

    text: str
    spelled: tuple[str, ...]
    is_phrase: bool
    few: Few | None

    @property
    def said(self) -> Q:
        """Whether an event has it in its own words."""
        found = Q()
        for text in self.spelled:
            found |= Q(words__icontains=text)
        return found

    @property
    def held(self) -> Q:
        """Whether an event has it in its own words, or in those of its call."""
        if self.few is not None:
            return self.said | self.few.about
        knows = finder()
        return self.said | knows.about(self.text) if knows else self.said


class Words(Func):
    """What an event is searched by; the index `event_words` has it in upper case, as `icontains` asks."""

    template = "(%(expressions)s)"
    arg_joiner = " || ' ' || "
    output_field = TextField()


def parts(text: str) -> list[str]:
    """What somebody looks for: the words, at most MOST_PARTS, and as it stands what is between quotation marks."""
    return [phrase or word for phrase, word in _PARTS.findall(text)][:MOST_PARTS]


def sought(workspace_id: uuid.UUID, text: str) -> tuple[Part, ...]:
    """The parts of a text, with the calls of the workspace that have them."""
    knows, until = finder(), time.monotonic() + FEW_SECONDS
    found = []
    for phrase, word in _PARTS.findall(text)[:MOST_PARTS]:
        one = phrase or word
        few: Few | None = Few((), ())
        is_phrase = bool(phrase) and len(phrase.split()) > 1
        if knows and not is_phrase:
            # Only PostgreSQL has an index to find calls by; else each event's own call is looked at.
            is_quick = connection.vendor == "postgresql"
            few = knows.few(workspace_id, one, until - time.monotonic()) if is_quick else None
        found.append(Part(text=one, spelled=_spelled(one), is_phrase=is_phrase, few=few))
    return tuple(found)


def holding(rows: QuerySet[Event], asked: Sequence[Part]) -> QuerySet[Event]:
    """Events that have every part."""
    if any("\x00" in part.text for part in asked):
        return rows.none()  # it is in no stored text, and PostgreSQL does not even take it as a question
    rows = rows.alias(words=Words("payload__sentence", "payload__arguments"))
    for part in asked:
        rows = rows.filter(part.held)
    return rows


def ways(rows: QuerySet[Event], asked: Sequence[Part]) -> list[QuerySet[Event]]:
    """The same as `holding`, as queries that each begin at an index; none when there is no such way.

    One part leads: the one that the fewest calls have. Whatever has it, has it in its own words or in its call's.
    """
    leads = [part for part in asked if part.few is not None and len(part.text) >= _INDEXED]
    if connection.vendor != "postgresql" or not leads:
        return []
    lead = min(leads, key=lambda part: len(part.few.calls if part.few else ()))
    rest = holding(rows, [part for part in asked if part is not lead])
    found = [rest.filter(lead.said)]
    if lead.few and lead.few.calls:
        found.append(rest.filter(subject_id__in=lead.few.calls))
    if lead.few and lead.few.requests:
        found.append(rest.filter(request_id__in=lead.few.requests))
    return found


def _spelled(text: str) -> tuple[str, ...]:
    """As it was typed, and its numbers with and without commas between thousands."""
    bare = THOUSANDS.sub("", text)
    return tuple(dict.fromkeys((text, bare, _LONG.sub(lambda found: f"{int(found[0]):,}", bare))))
