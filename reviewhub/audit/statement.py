"""What a seal says and what is signed. Pure: bytes in, bytes out; docs/audit.md has the same in words.

    chain 0   = 32 zero bytes
    chain n   = SHA-256("reviewhub chain 1\n" ‖ chain n-1 ‖ position n ‖ leaf n)
    signature = Ed25519("reviewhub seal 1\n" ‖ statement)

A position is eight bytes, big-endian; the first event of a workspace has position 1. A statement is a canonical JSON
text, see `Statement`; the next one holds its SHA-256.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Final

from reviewhub_agents import canonical

VERSION: Final = 1
START: Final = bytes(32)
_CHAIN: Final = b"reviewhub chain 1\n"
_SEAL: Final = b"reviewhub seal 1\n"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What one seal says of the events from position `first` to `last`.

    Args:
        workspace: its UUID.
        number: 1 for the first seal of the workspace, then one more each time.
        root: of the Merkle tree over the leaves, in hexadecimal, as all hashes here.
        chain: the chain's value at `last`.
        previous: SHA-256 of the statement before; "" for the first.
        sealed_at: the database's time, ISO 8601, UTC, microseconds.
        key: the public key that signs this.
        next: the public key that signs from the next seal on; "" while `key` goes on.
    """

    workspace: str
    number: int
    first: int
    last: int
    root: str
    chain: str
    previous: str
    sealed_at: str
    key: str
    next: str = ""

    def text(self) -> str:
        """The canonical JSON text: what is signed and hashed."""
        return canonical.dumps({**asdict(self), "version": VERSION})


def read(text: str) -> Statement:
    """The statement that `text` is.

    Raises:
        ValueError: it is none of this version, or not in its canonical form.
    """
    try:
        found = json.loads(text)
        version = found.pop("version")
        statement = Statement(**found)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError("this is no statement of a seal") from error
    if version != VERSION or statement.text() != text:
        raise ValueError("this is no statement of a seal")
    return statement


def digest(text: str) -> str:
    """What the next statement calls `previous`."""
    return hashlib.sha256(text.encode()).hexdigest()


def signed(text: str) -> bytes:
    """The bytes that a seal's signature is over."""
    return _SEAL + text.encode()


def link(before: bytes, position: int, leaf: bytes) -> bytes:
    """The chain's value at `position`."""
    return hashlib.sha256(_CHAIN + before + position.to_bytes(8, "big") + leaf).digest()
