"""Every blob store, empty, and one that tests can break.

Redis is the real one of `make test`, S3 an emulator on loopback.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.blobs import fetch, stores
from reviewhub.checkpoints.blobs.fetch import MARKER
from reviewhub.checkpoints.blobs.memory import MemoryStore
from reviewhub.checkpoints.blobs.protocol import BlobStore, StoreDown
from reviewhub.checkpoints.blobs.stores import open_store
from reviewhub.checkpoints.models import LARGE_BYTES

SERVERS = ("redis",) if os.environ.get("REDIS_URL") else ()
"""Left out where `make test` has found no servers, and then it says so."""
ADDRESSED = ("database", "file", "s3", *SERVERS)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of an S3 server with the bucket `blobs`."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = boto3.client(
        "s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    client.create_bucket(Bucket="blobs")
    client.close()
    yield address
    server.stop()


@pytest.fixture
def address(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    """The setting that selects a kind of store, an empty one."""

    def make(kind: str) -> str:
        if kind == "database":
            return "database:"
        if kind == "file":
            return f"file://{tmp_path}"
        if kind == "redis":
            url = os.environ["REDIS_URL"]
            request.addfinalizer(lambda: emptied(url))
            return url
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
        server = request.getfixturevalue("s3_server")
        return f"s3://blobs/{uuid.uuid4()}/below?endpoint={server}&region=us-east-1"

    return make


def emptied(url: str) -> None:
    """Leaves no blob in a Redis that others use too."""
    with Redis.from_url(url) as client:
        if keys := list(client.scan_iter("reviewhub:blob:*")):
            client.delete(*keys)


@pytest.fixture
def opened(address: Callable[[str], str]) -> Callable[[str], Any]:
    """A store by its kind."""

    def make(kind: str) -> BlobStore:
        if kind == "memory":
            return MemoryStore()
        return open_store(address(kind))

    return make


class Store(MemoryStore):
    """One that counts how often it is asked, and can be down or lie."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.is_down = False
        self.gives: dict[str, bytes] = {}

    def _ask(self, verb: str) -> None:
        self.asked.append(verb)
        if self.is_down:
            raise StoreDown("it does not answer")

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        self._ask("get")
        return {key: self.gives.get(key, data) for key, data in super().get_many(keys).items()}

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        self._ask("put")
        super().put_many(blobs)

    def delete_many(self, keys: Collection[str]) -> None:
        self._ask("delete")
        super().delete_many(keys)

    @property
    def blobs(self) -> dict[str, bytes]:
        return {key: data for key, data in self.kept.items() if key != MARKER}


@pytest.fixture
def store(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    made = Store()
    settings.BLOB_STORES = {"main": "memory:"}
    settings.BLOB_LARGE_BYTES = LARGE_BYTES
    monkeypatch.setattr(stores, "_opened", lambda url: made)
    forget()
    yield made
    forget()


def forget() -> None:
    """As another process would find it."""
    recall.forget_all()
    fetch.forget_all()


def noise(seed: int, size: int = 60_000) -> str:
    """Text that does not get smaller by packing."""
    return random.Random(seed).randbytes(size // 2).hex()


def state(seed: int) -> str:
    return f'{{"doc":"{noise(seed)}","small":"{"s" * 300}"}}'
