"""Deleting blobs: what they have in a store is listed in the same transaction."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from reviewhub.audit.testing import unguarded
from reviewhub.checkpoints.blobs.leave import leave
from reviewhub.checkpoints.models import Blob, Leftover
from reviewhub.runs.models import Branch

HERE, THERE, OTHER = b"h" * 32, b"t" * 32, b"o" * 32


def blob(branch: Branch, hash_: bytes, **fields: object) -> Blob:
    return Blob.objects.create(run_id=branch.run_id, hash=hash_, **fields)


def test_what_is_in_a_store_is_listed_and_nothing_else(branch: Branch) -> None:
    blob(branch, HERE, data=b"1")
    blob(branch, THERE, location="main/w/r/t.1", size=4)
    blob(branch, OTHER, location="main/w/r/o.1", size=4)
    with transaction.atomic():
        assert leave(run_id=branch.run_id, hashes=[HERE, THERE]) == 1
    assert list(Leftover.objects.values_list("location", "is_going")) == [("main/w/r/t.1", False)]


def test_bytes_in_both_places_leave_something_too(branch: Branch) -> None:
    blob(branch, THERE, data=b"1", location="main/w/r/t.1", size=4)
    with transaction.atomic():
        assert leave(run_id=branch.run_id, hashes=[THERE]) == 1


@pytest.mark.django_db(transaction=True)
def test_only_in_the_transaction_that_deletes(branch: Branch) -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        leave(run_id=branch.run_id, hashes=[THERE])


ALLOWED = [
    (("data",), {"data": None, "location": "main/k", "size": 1}),
    (("location",), {"data": b"1"}),
]
REFUSED = [
    (("data",), {"data": b"2"}),
    (("data",), {"location": "main/k", "size": 1}),
    (("data",), {"data": None}),
    (("data",), {"data": None, "location": "main/k"}),
    (("data",), {"data": None, "location": "main/k", "size": 1, "hash": OTHER}),
    (("location",), {"location": "main/other"}),
    (("location",), {"size": 9}),
    (("location",), {"data": b"1", "location": "main/other"}),
    (("location",), {"data": b"1", "location": None, "size": None}),
    (("location",), {"location": None}),
    (("data", "location"), {"data": b"2"}),
    (("data", "location"), {"location": None, "size": None}),
    (("data", "location"), {"location": "main/other"}),
]


def made(branch: Branch, has: tuple[str, ...]) -> None:
    fields = {"data": {"data": b"1"}, "location": {"location": "main/old", "size": 4}}
    blob(branch, HERE, **{name: value for part in has for name, value in fields[part].items()})


@pytest.mark.parametrize(("has", "change"), ALLOWED)
def test_the_database_lets_bytes_move_and_come_back(
    branch: Branch, has: tuple[str, ...], change: dict[str, object]
) -> None:
    made(branch, has)
    assert Blob.objects.filter(run_id=branch.run_id).update(**change) == 1


@pytest.mark.parametrize(("has", "change"), REFUSED)
def test_and_refuses_every_other_change(
    branch: Branch, has: tuple[str, ...], change: dict[str, object]
) -> None:
    made(branch, has)
    with pytest.raises(IntegrityError), transaction.atomic():
        Blob.objects.filter(run_id=branch.run_id).update(**change)


def test_a_blob_is_somewhere_even_without_the_guards(branch: Branch) -> None:
    made(branch, ("data",))
    connection.check_constraints()
    with unguarded(), pytest.raises(IntegrityError), transaction.atomic():
        Blob.objects.filter(run_id=branch.run_id).update(data=None)
