"""A committed event is announced on PostgreSQL's channel, so other processes need not wait for their next poll."""

from __future__ import annotations

import pytest
from django.db import connection, connections

from reviewhub.audit.models import Event
from reviewhub.audit.signals import event_recorded
from reviewhub.live.tailer import CHANNEL


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has channels")
@pytest.mark.django_db(transaction=True)
def test_a_recorded_event_is_announced() -> None:
    listener = connections.create_connection("default")
    try:
        with listener.cursor() as sql:
            sql.execute(f"LISTEN {CHANNEL}")
        failures = [error for _, error in event_recorded.send_robust(sender=Event, event=Event()) if error]
        assert failures == []
        assert [heard.channel for heard in listener.connection.notifies(timeout=3, stop_after=1)] == [CHANNEL]
    finally:
        listener.close()
