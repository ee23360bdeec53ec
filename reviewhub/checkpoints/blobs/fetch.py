"""The packed bytes of blobs, wherever they are. What is in a store is read in one go, checked, and remembered."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Collection, Mapping
from hashlib import sha256

from reviewhub.checkpoints.blobs.protocol import StoreDown
from reviewhub.checkpoints.blobs.stores import store
from reviewhub.checkpoints.rows import BrokenCheckpoint, unpack
from reviewhub.checkpoints.statements import read_blobs
from reviewhub.core.errors import TryAgain

log = logging.getLogger(__name__)

MEMORY_BYTES = 32_000_000
REST_SECONDS = 10.0
"""A store that failed is left alone for so long: one that is down must not take this process's time again and again."""
MARKER = "reviewhub-blobs"
"""A key that is in every store that holds blobs. One without it is not the store that it should be."""


class BlobsAway(TryAgain):
    """A part of this state is in a blob store that does not answer just now. Nothing is lost."""


def packed(run_id: uuid.UUID, hashes: Collection[bytes]) -> dict[bytes, bytes]:
    """The packed bytes of blobs of a run, by hash; those that are nowhere are left out.

    Raises:
        BlobsAway: a store that has some of them does not answer, or is not the one that it was.
        BrokenCheckpoint: what a store has is not what was put there.
    """
    found, away = _in_database(run_id, hashes)
    if away:
        found |= (got := _from_stores(away))
        if lost := away.keys() - got.keys():
            # Between the two looks the bytes may have come back, or gone elsewhere.
            again, still = _in_database(run_id, lost)
            found |= again | _from_stores(
                {hash_: place for hash_, place in still.items() if place != away[hash_]}
            )
    return found


def _in_database(run_id: uuid.UUID, hashes: Collection[bytes]) -> tuple[dict[bytes, bytes], dict[bytes, str]]:
    """Bytes by hash, and for the others where they are."""
    found: dict[bytes, bytes] = {}
    away: dict[bytes, str] = {}
    for hash_, data, location in read_blobs(run_id, hashes):
        if data is not None:
            found[hash_] = data
        elif location is not None:
            away[hash_] = location
    return found, away


def _from_stores(away: Mapping[bytes, str]) -> dict[bytes, bytes]:
    found = {hash_: data for hash_, place in away.items() if (data := _memory.get(place)) is not None}
    by_store: dict[str, dict[str, bytes]] = {}
    for hash_, place in away.items():
        if hash_ not in found:
            name, _, key = place.partition("/")
            by_store.setdefault(name, {})[key] = hash_
    for name, keys in by_store.items():
        for key, data in _read(name, list(keys)).items():
            _check(keys[key], data, f"{name}/{key}")
            _memory.put(f"{name}/{key}", data)
            found[keys[key]] = data
    return found


def _read(name: str, keys: list[str]) -> dict[str, bytes]:
    if time.monotonic() < _resting.get(name, 0):
        raise BlobsAway
    try:
        place = store(name)
        found = place.get_many(keys)
        if len(found) < len(keys) and MARKER not in place.get_many([MARKER]):
            raise StoreDown(
                f"the store {name} is not the one that blobs were put into: its marker is not there"
            )
    except StoreDown as error:
        _resting[name] = time.monotonic() + REST_SECONDS
        log.warning("blobs cannot be read from the store %s: %s", name, error)
        raise BlobsAway from error
    return found


def _check(hash_: bytes, data: bytes, place: str) -> None:
    if sha256(unpack(data)).digest() != hash_:
        raise BrokenCheckpoint(f"The blob at {place} is not the one that was put there.")


class _Memory:
    """What was read from stores last, by location: immutable and checked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, place: str) -> bytes | None:
        with self._lock:
            data = self._kept.get(place)
            if data is not None:
                self._kept.move_to_end(place)
            return data

    def put(self, place: str, data: bytes) -> None:
        with self._lock:
            self._bytes += len(data) - len(self._kept.pop(place, b""))
            self._kept[place] = data
            while self._bytes > MEMORY_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0


_memory = _Memory()
_resting: dict[str, float] = {}


def forget_all() -> None:
    """Forgets what was read and which stores failed: for who changes what is stored, and for tests."""
    _memory.clear()
    _resting.clear()
