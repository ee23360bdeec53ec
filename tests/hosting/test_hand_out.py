"""What nobody is told of, a timer or a lease that has run out, is handed out within a second; the rest by the sweep."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from reviewhub.hosting.sweep import hand_out, sweep
from reviewhub.resumptions.models import Resumption
from tests.hosting.conftest import Hosted


@pytest.mark.parametrize(
    ("fields", "at_once", "swept"),
    [
        ({}, 0, 1),  # just made: its own hint is on the way
        ({"due_at": 60}, 0, 0),
        ({"due_at": -0.1}, 1, 1),
        ({"due_at": -60}, 0, 1),  # all workers are busy: it is not sent each second
        ({"state": "claimed", "lease_until": 60}, 0, 0),
        ({"state": "claimed", "lease_until": -0.1}, 1, 1),
        ({"state": "claimed", "lease_until": -60}, 0, 1),
    ],
    ids=str,
)
def test_what_has_just_become_free_is_handed_out_at_once(
    hosted: Hosted, fields: dict[str, object], at_once: int, swept: int
) -> None:
    hosted.start()
    row = Resumption.objects.get()
    if fields:
        row.created_at -= timedelta(hours=1)
    for name, value in fields.items():
        found = timezone.now() + timedelta(seconds=value) if isinstance(value, float | int) else value
        setattr(row, name, found)
    row.save()
    assert (hand_out(), sweep()) == (at_once, swept)
