"""Blobs in a table of their own, beside all else: on PostgreSQL it can have a tablespace on a cheaper disk."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from django.db import Error, transaction

from reviewhub.checkpoints.blobs.protocol import StoreDown, check_keys
from reviewhub.checkpoints.models import StoredBytes


class DatabaseStore:
    """The rows of StoredBytes. Its time limit is the database's own (`statement_timeout`)."""

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """See BlobStore."""
        check_keys(keys)
        with _answering():
            rows = StoredBytes.objects.filter(key__in=list(keys)).values_list("key", "data")
            return {key: bytes(data) for key, data in rows}

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        """See BlobStore."""
        check_keys(blobs)
        rows = [StoredBytes(key=key, data=data) for key, data in blobs.items()]
        with _answering(), transaction.atomic():
            StoredBytes.objects.bulk_create(
                rows, update_conflicts=True, unique_fields=["key"], update_fields=["data"]
            )

    def delete_many(self, keys: Collection[str]) -> None:
        """See BlobStore."""
        check_keys(keys)
        with _answering():
            StoredBytes.objects.filter(key__in=list(keys)).delete()


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except Error as error:
        raise StoreDown(f"the database: {type(error).__name__}") from error
