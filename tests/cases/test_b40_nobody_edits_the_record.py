"""B40: whoever may read the record, and whoever may do everything else, changes nothing in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, models, transaction
from django.test import Client

from reviewhub.audit.models import Event, EventPayload
from reviewhub.runs.models import Run
from tests.cast import Cast
from tests.driver import AgentHttp


@pytest.fixture
def event(agent: AgentHttp) -> Event:
    agent.run()
    return Event.objects.get(kind="run.started")


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", ["events", "events/export", "events/{}/proof"])
def test_b40_the_api_only_reads_and_the_attempt_is_logged(
    cast: Cast, event: Event, method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    alice = Client()
    alice.force_login(cast.alice.person)
    answer = getattr(alice, method)(f"/api/v1/{path.format(event.pk)}", "{}", content_type="application/json")
    assert answer.status_code == 405
    assert f"Method Not Allowed: /api/v1/{path.format(event.pk)}" in caplog.text
    assert list(Event.objects.values_list("kind", flat=True)).count("run.started") == 1


def test_b40_there_is_no_admin_site() -> None:
    assert "django.contrib.admin" not in settings.INSTALLED_APPS


WAYS: dict[str, Callable[[Event], Any]] = {
    "save": lambda event: event.save(),
    "delete": lambda event: event.delete(),
    "update": lambda event: Event.objects.filter(pk=event.pk).update(kind="x"),
    "bulk update": lambda event: Event.objects.bulk_update([event], ["kind"]),
    "delete all": lambda event: Event.objects.all().delete(),
    "raw delete": lambda event: Event.objects.all()._raw_delete("default"),
    "words": lambda event: EventPayload.objects.filter(pk=event.pk).update(sentence="x"),
    "arguments": lambda event: EventPayload.objects.filter(pk=event.pk).update(arguments="x"),
    "the run": lambda event: Run.objects.filter(pk=event.run_id).delete(),
    "sql update": lambda event: _sql("UPDATE audit_event SET actor_id = NULL"),
    "sql delete": lambda event: _sql("DELETE FROM audit_eventpayload"),
}


def _sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize("way", WAYS)
def test_b40_neither_models_nor_sql(event: Event, way: str) -> None:
    before = list(Event.objects.order_by("id").values_list("id", "kind", "payload__body"))
    with pytest.raises((DatabaseError, models.ProtectedError, models.RestrictedError)), transaction.atomic():
        WAYS[way](event)
    assert list(Event.objects.order_by("id").values_list("id", "kind", "payload__body")) == before
