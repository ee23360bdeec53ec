"""An event's own hash. Pure: whoever holds an exported event can compute it again with nothing but SHA-256.

    leaf    = SHA-256("reviewhub event 1\n"   ‖ workspace ‖ kind length ‖ kind ‖ at ‖ payload)
    payload = SHA-256("reviewhub payload 1\n" ‖ salt ‖ body)

`workspace` is the UUID's 16 bytes; `kind length` two bytes, big-endian; `kind` UTF-8; `at` the microseconds
since 1970-01-01T00:00:00Z as eight bytes, big-endian, two's complement; `payload` 32 bytes; `salt` 16 random
bytes; `body` the canonical JSON text of {actor, data, refs, sentence} in UTF-8. Every part but the last of
each line has a fixed or stated length, so no two different events have the same input; the first words keep
leaves, payloads and the tree's nodes apart.

The salt is why the payload can be erased: without it nobody can confirm a guess about what an erased event
said.
"""

from __future__ import annotations

import hashlib
import uuid
from datetime import UTC, datetime, timedelta

VERSION = 1
SALT_BYTES = 16
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def payload_hash(*, salt: bytes, body: str) -> bytes:
    """The 32 bytes that stand for an event's erasable half.

    Raises:
        ValueError: the salt does not have 16 bytes.
    """
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes, not {len(salt)}")
    return hashlib.sha256(b"reviewhub payload %d\n" % VERSION + salt + body.encode()).digest()


def leaf_head(*, workspace_id: uuid.UUID, kind: str) -> bytes:
    """What a leaf is made of before its time."""
    name = kind.encode()
    return b"reviewhub event %d\n" % VERSION + workspace_id.bytes + len(name).to_bytes(2, "big") + name


def leaf_hash(*, workspace_id: uuid.UUID, kind: str, at: datetime, payload: bytes) -> bytes:
    """The event's leaf, 32 bytes. `at` is aware; only whole microseconds count.

    Raises:
        ValueError: `at` has no zone, or `payload` is no SHA-256.
    """
    if at.tzinfo is None or len(payload) != 32:
        raise ValueError("a leaf needs an aware time and a payload hash of 32 bytes")
    microseconds = (at - _EPOCH) // timedelta(microseconds=1)
    return hashlib.sha256(
        leaf_head(workspace_id=workspace_id, kind=kind)
        + microseconds.to_bytes(8, "big", signed=True)
        + payload
    ).digest()
