"""A dump restored into another PostgreSQL cluster: no event is lost to who follows the feed."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from reviewhub.audit.adopt import adopt, events_of_another_cluster
from reviewhub.audit.feed import _encode, feed
from reviewhub.audit.models import Event
from reviewhub.audit.testing import unguarded
from reviewhub.audit.triggers import missing_triggers
from reviewhub.ops.ready import unguarded_record
from tests.audit.test_record import WORKSPACE, write
from tests.audit.waiting import settle

postgresql_only = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite counts no transactions"
)
FAR = 10**15


@pytest.mark.django_db(transaction=True)
class TestAdopt:
    @postgresql_only
    def test_restored_events_come_first_and_old_cursors_go_on(self) -> None:
        with transaction.atomic():
            old = [write().pk for _ in range(3)]
        with unguarded():
            for pk in old:
                Event.objects.filter(pk=pk).update(xid=FAR + pk)
        assert feed(workspace_id=WORKSPACE).events == []
        assert unguarded_record() == ["the events come from another PostgreSQL cluster (a restored dump)"]

        call_command("migrate", verbosity=0)

        assert unguarded_record() == missing_triggers() == []
        with transaction.atomic():
            new = write().pk
        settle()
        assert [event.pk for event in feed(workspace_id=WORKSPACE).events] == [*old, new]
        cursor_of_before = _encode(FAR + old[1], old[1])
        found = [event.pk for event in feed(workspace_id=WORKSPACE, after=cursor_of_before).events]
        assert found[-2:] == [old[2], new]

    def test_events_of_this_cluster_are_left_alone(self) -> None:
        with transaction.atomic():
            write()
        before = list(Event.objects.values_list("xid"))
        assert not events_of_another_cluster()
        assert adopt() == 0
        call_command("migrate", verbosity=0)
        assert list(Event.objects.values_list("xid")) == before
