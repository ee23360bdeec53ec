"""A holder whose lease ran out ends its waking in the moment in which another worker comes for it."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection, connections, transaction

from reviewhub.resumptions.claim import claim
from reviewhub.resumptions.complete import complete
from reviewhub.resumptions.enqueue import enqueue
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch
from tests.resumptions.conftest import World
from tests.resumptions.test_claim import run_out, taken

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')"


@pytest.mark.django_db(transaction=True)
def test_the_newcomer_waits_for_its_word(world: World) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    with transaction.atomic():
        row = enqueue(branch=world.branch, pause=world.pause, kind="hosted")
    holder = taken(row)
    run_out()
    Branch.objects.update(state="paused")
    found: list[object] = []

    def come() -> None:
        try:
            found.append(claim(resumption_id=row.pk, owner="newcomer", seconds=60))
        except Exception as error:  # noqa: BLE001
            found.append(error)
        finally:
            connections.close_all()

    newcomer = threading.Thread(target=come)
    with transaction.atomic():
        assert complete(resumption=holder.resumption)
        newcomer.start()
        _until_somebody_waits()
    newcomer.join(20)
    assert found == [None]
    assert Resumption.objects.get().state == "done"


def _until_somebody_waits() -> None:
    end = time.monotonic() + 20
    with connection.cursor() as cursor:
        while time.monotonic() < end:
            cursor.execute(WAITING)
            if cursor.fetchone()[0]:
                return
            time.sleep(0.02)
    raise AssertionError("nobody waits for the holder")
