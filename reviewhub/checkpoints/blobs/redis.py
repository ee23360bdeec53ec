"""Blobs in Redis or Valkey, without modules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from reviewhub.checkpoints.blobs.protocol import StoreDown, check_keys

PREFIX = "reviewhub:blob:"


class RedisStore:
    """A key is a string key below PREFIX. Blobs stay for ever, so the server must be one that evicts nothing.

    Args:
        url: `redis://` or `rediss://`, as the client takes it.
        seconds: the limit for connecting, and for each answer.
    """

    def __init__(self, url: str, *, seconds: float) -> None:
        self._client = Redis.from_url(
            url, socket_timeout=seconds, socket_connect_timeout=seconds, retry=Retry(NoBackoff(), 0)
        )

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """See BlobStore."""
        check_keys(keys)
        if not keys:
            return {}
        with _answering():
            found = cast("list[bytes | None]", self._client.mget([PREFIX + key for key in keys]))
        return {key: data for key, data in zip(keys, found, strict=True) if data is not None}

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        """See BlobStore. Refused by a server that may drop keys when it is full."""
        check_keys(blobs)
        with _answering():
            self._refuse_eviction()
            with self._client.pipeline(transaction=False) as pipeline:
                for key, data in blobs.items():
                    pipeline.set(PREFIX + key, data)
                pipeline.execute()

    def delete_many(self, keys: Collection[str]) -> None:
        """See BlobStore."""
        check_keys(keys)
        if keys:
            with _answering():
                self._client.unlink(*(PREFIX + key for key in keys))

    def _refuse_eviction(self) -> None:
        about = cast("dict[str, str]", self._client.info("memory"))
        policy = about.get("maxmemory_policy", "noeviction")
        if policy.startswith("allkeys"):
            raise StoreDown(f"the server drops keys when it is full (maxmemory-policy {policy})")


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise StoreDown(f"Redis: {error}") from error
