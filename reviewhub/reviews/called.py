"""What the search of the record knows of calls: by their words, as the global search finds them (`core.words`)."""

from __future__ import annotations

import uuid
from typing import Final

from django.db.models import OuterRef, Q, QuerySet, Subquery, Value

from reviewhub.audit.called import Few
from reviewhub.audit.in_time import in_time
from reviewhub.core.words import words_asked
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Words

FEW: Final = 1000


class CalledByWords:
    """Calls of a workspace by what they are found by: names, the tool's sentence, the arguments of all versions."""

    def few(self, workspace_id: uuid.UUID, text: str, seconds: float) -> Few | None:
        """Those that have the text, and the requests about them; None when they are more than FEW, or not in time."""
        if seconds <= 0:
            return None
        named = _with(text).filter(workspace_id=workspace_id).values_list("call_id", flat=True)
        calls = in_time(named[: FEW + 1], seconds)
        if calls is None or len(calls) > FEW:
            return None
        asked = ReviewRequest.objects.filter(tool_call_id__in=calls).values_list("pk", flat=True)
        return Few(calls=[call for call in calls if call], requests=list(asked) if calls else ())

    def about(self, text: str) -> Q:
        """By the call that the event is about, or whose request it is about; each is looked up by its id.

        As values and not as EXISTS: that, PostgreSQL may answer by reading all calls that have a frequent word.
        """
        asked = ReviewRequest.objects.filter(pk=OuterRef(OuterRef("request_id"))).values("tool_call_id")
        own = _with(text).filter(call_id=OuterRef("subject_id"))
        of_request = _with(text).filter(call_id=Subquery(asked))
        return Q(_is_there(own)) | Q(_is_there(of_request))


def _with(text: str) -> QuerySet[Words]:
    return Words.objects.filter(call_id__isnull=False, words__holds=words_asked(text))


def _is_there(rows: QuerySet[Words]) -> Subquery:
    return Subquery(rows.values(there=Value(value=True)))
