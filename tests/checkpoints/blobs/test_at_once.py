"""A move while somebody else's transaction is open."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from reviewhub.checkpoints.blobs.relocate import relocate
from reviewhub.checkpoints.fork import fork
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Blob, Checkpoint
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.blobs.conftest import Store, forget, state
from tests.checkpoints.conftest import BOB, new_run, put


@pytest.mark.django_db(transaction=True)
def test_a_blob_that_an_open_transaction_names_is_passed_over(cast: Cast, store: Store) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    saved = put(new_run(cast).branches.get(), state(1))
    Branch.objects.update(state="succeeded")
    named, go_on = threading.Event(), threading.Event()

    def forks() -> None:
        try:
            with transaction.atomic():
                row = Checkpoint.objects.get(pk=saved.pk)
                fork(checkpoint=row, name=None, changes=[], reason="", actor=BOB)
                named.set()
                go_on.wait(30)
        finally:
            connection.close()

    other = threading.Thread(target=forks)
    other.start()
    assert named.wait(30)
    # It does not wait for the other one either.
    assert relocate(run_id=saved.run_id) == 0
    go_on.set()
    other.join()
    assert relocate(run_id=saved.run_id) == 0
    assert Blob.objects.filter(data__isnull=True).count() == 0
    store.is_down = True
    forget()
    assert load(Checkpoint.objects.get(pk=saved.pk)) == state(1)
