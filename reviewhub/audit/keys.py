"""The keys that the record is signed with: Ed25519, in files outside the database.

A key is a file `KEY.pem` (PKCS 8, mode 0600) in the folder of the setting AUDIT_KEYS, beside it `KEY.pub` with the
public half in hexadecimal; KEY is the first 16 digits of that. Rows (`SealKey`) say which keys there were and which is
the newest, never how to sign. `KEY.pub` stays when a private half is destroyed: whose keys they were is asked of the
folder, not of the database.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db import IntegrityError, transaction

from reviewhub.audit.models import SealKey
from reviewhub.core import clock
from reviewhub.core.errors import ReviewHubError

_PUBLIC: Final = re.compile("[0-9a-f]{64}")


class KeyMissing(ReviewHubError):
    """A key file is not there, cannot be read, or holds another key."""

    code, status = "key_missing", 503


def newest() -> SealKey:
    """The key that new chains, receipts and exports are signed with; the first one is made when there is none."""
    found = SealKey.objects.order_by("-number").first()
    return found or _first()


def make(*, number: int, lost: str = "") -> SealKey:
    """A new key: its files, then its row.

    Args:
        number: one more than the newest has.
        lost: the key that it takes over from without a word of that one, whose private half is lost.

    Raises:
        IntegrityError: somebody else made the key with that number; no file is left behind.
    """
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw().hex()
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(_path(public, "pem"), pem)
    _write(_path(public, "pub"), public.encode() + b"\n")
    try:
        with transaction.atomic():
            return SealKey.objects.create(public=public, number=number, lost=lost, created_at=clock.now())
    except IntegrityError:
        for ending in ("pem", "pub"):
            _path(public, ending).unlink()
        raise


def sign(public: str, message: bytes) -> bytes:
    """The signature of the key with this public half.

    Raises:
        KeyMissing: saying which file, and what is wrong with it.
    """
    path = _path(public, "pem")
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except FileNotFoundError as error:
        raise KeyMissing(f"The key file {path.name} is not there.") from error
    except (OSError, ValueError, TypeError) as error:
        raise KeyMissing(f"The key file {path.name} cannot be read.") from error
    if not isinstance(private, Ed25519PrivateKey) or private.public_key().public_bytes_raw().hex() != public:
        raise KeyMissing(f"The key file {path.name} holds another key.")
    return private.sign(message)


def is_signed(public: str, message: bytes, signature: bytes) -> bool:
    """Whether the key with this public half signed exactly that."""
    if not _PUBLIC.fullmatch(public):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def can_sign(public: str) -> bool:
    """Whether there is a key file of that name."""
    return _path(public, "pem").exists()


def in_folder() -> set[str]:
    """The public halves that lie in the folder."""
    found = {path.read_text().strip() for path in folder().glob("*.pub")}
    return {public for public in found if _PUBLIC.fullmatch(public)}


def folder() -> Path:
    """Where the keys are."""
    return Path(settings.AUDIT_KEYS)


def short(public: str) -> str:
    """How a key is called among people, and its files."""
    return public[:16]


def _first() -> SealKey:
    try:
        return make(number=1)
    except IntegrityError:
        return SealKey.objects.latest("number")


def _path(public: str, ending: str) -> Path:
    return folder() / f"{short(public)}.{ending}"


def _write(path: Path, data: bytes) -> None:
    """A whole file that only its owner reads; it is on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
