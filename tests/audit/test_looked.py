"""Reading the record is on the record, once an hour for each thing that is looked at."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reviewhub.audit import looked as looking
from reviewhub.audit.looked import looked
from reviewhub.audit.models import Event
from reviewhub.core.actors import Actor
from tests.audit.test_record import MINA, WORKSPACE


def looks() -> list[str]:
    return list(
        Event.objects.filter(kind="audit.read").order_by("id").values_list("payload__sentence", flat=True)
    )


@pytest.mark.django_db
def test_a_look_is_recorded_once_for_each_who_what_and_door(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Actor(kind="person", id=MINA.id, name=MINA.name, source="api")
    for actor, what in (
        (MINA, "entry 1"),
        (MINA, "entry 1"),
        (MINA, "entry 2"),
        (api, "entry 1"),
        (MINA, "entry 1"),
    ):
        looked(workspace_id=WORKSPACE, actor=actor, what=what)
    assert len(looks()) == 3
    monkeypatch.setattr(looking, "AGAIN", timedelta(0))
    looked(workspace_id=WORKSPACE, actor=MINA, what="x" * 5000)
    assert len(looks()) == 4 and len(looks()[-1]) < 600
