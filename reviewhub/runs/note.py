"""What runs and their calls are found by: written with them, emptied when they are erased."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from reviewhub.core.words import words_text
from reviewhub.runs.models import Run, Words


def note_run(run: Run) -> None:
    """Notes the words of a new run: its title, the agent's own id for it, and for whom it is."""
    texts = (run.title, run.external_id, run.on_behalf_of)
    Words.objects.create(workspace_id=run.workspace_id, run=run, words=words_text(texts))


def note_calls(run: Run, words: Mapping[uuid.UUID, str]) -> None:
    """Notes the words of new calls of a run, by their ids."""
    Words.objects.bulk_create(
        Words(workspace_id=run.workspace_id, run=run, call_id=call, words=text)
        for call, text in words.items()
    )


def note_more(call_id: uuid.UUID, words: str) -> None:
    """A call is found by these words, too, besides those that it had; the caller's transaction holds it locked."""
    row = Words.objects.filter(call_id=call_id).first()
    if row is not None:
        Words.objects.filter(pk=row.pk).update(words=words_text([words, row.words]))
