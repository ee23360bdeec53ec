"""What every blob store can do: three verbs on many keys at once, and nothing else. Tiers and clouds are further ones.

A store is slow, or does not answer: whoever calls one holds no lock and no transaction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Protocol

_KEY = re.compile(r"[0-9a-z-]+(?:[/.][0-9a-z-]+)*")
MAX_KEY = 250


class StoreDown(Exception):
    """The blob store does not do what it was asked for. The message is for admins and names no credentials."""


class BlobStore(Protocol):
    """Bytes by key. Any other failure than a ValueError for a bad key is StoreDown, within the store's time limit."""

    def get_many(self, keys: Collection[str]) -> dict[str, bytes]:
        """The bytes of these keys, read side by side where that is faster; keys that are not there are left out."""

    def put_many(self, blobs: Mapping[str, bytes]) -> None:
        """Keeps these bytes, each whole or not at all; what was under a key before is replaced."""

    def delete_many(self, keys: Collection[str]) -> None:
        """Removes these keys; one that is not there is no error."""


def check_keys(keys: Collection[str]) -> None:
    """Refuses what could mean another place than that of the key: keys become paths.

    Raises:
        ValueError: a key is not words of `0-9 a-z -` joined by `/` or `.`, or has more than MAX_KEY characters.
    """
    for key in keys:
        if len(key) > MAX_KEY or not _KEY.fullmatch(key):
            raise ValueError(f"{key[:MAX_KEY]!r} is no key of a blob store")
