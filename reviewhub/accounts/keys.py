"""Agent keys: how they are written, what is kept of them, how one is recognised.

A key reads `rh_<env>_<random><check>`, for example `rh_pro_…`. `env` is a label of three letters that lets
people and secret scanners tell a production key from a test key; the environment that counts is the one
stored with the key. `check` finds typing errors, and texts that never were a key, without asking the
database.

Only the SHA-256 of a key is kept. A slow password hash (as people's passwords get) would add nothing here:
those slow down guessing of what people choose, while `random` is 43 characters from 62, more than 255 bits,
which nobody guesses at any speed. A fast hash also lets every request look its key up by an indexed column.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
import zlib
from dataclasses import dataclass, field

_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits
_RANDOM_LENGTH = 43
_CHECK_LENGTH = 6
_SHOWN_OF_RANDOM = 6
_SHAPE = re.compile(rf"rh_[a-z]{{3}}_[A-Za-z0-9]{{{_RANDOM_LENGTH + _CHECK_LENGTH}}}")


@dataclass(frozen=True, kw_only=True)
class NewKey:
    """A key just made. `text` is shown once and kept nowhere; its repr does not show it."""

    text: str = field(repr=False)
    prefix: str
    key_hash: str


def make_key(*, environment: str) -> NewKey:
    """A new random key for `environment` (any text; its first three ASCII letters become the label)."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    body = f"rh_{_label(environment)}_{random}"
    text = body + _check(body)
    return NewKey(text=text, prefix=key_prefix(text), key_hash=hash_key(text))


def looks_like_key(text: str) -> bool:
    """Whether `text` has the shape of a key and its check fits; not whether such a key exists."""
    if _SHAPE.fullmatch(text) is None:
        return False
    return hmac.compare_digest(_check(text[:-_CHECK_LENGTH]), text[-_CHECK_LENGTH:])


def key_prefix(text: str) -> str:
    """The part that pages and logs may show, `rh_pro_Ab12Cd`: more than 215 bits stay secret."""
    return text[: len("rh_env_") + _SHOWN_OF_RANDOM]


def hash_key(text: str) -> str:
    """What is stored: the SHA-256 of the whole key, 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_matches(text: str, *, key_hash: str) -> bool:
    """Whether `text` is the key behind `key_hash`, in a time that tells nothing about where they differ."""
    return hmac.compare_digest(hash_key(text), key_hash)


def _label(environment: str) -> str:
    letters = "".join(char for char in environment.lower() if char in string.ascii_lowercase)
    return (letters + "xxx")[:3]


def _check(body: str) -> str:
    number = zlib.crc32(body.encode("ascii"))
    digits = ""
    for _ in range(_CHECK_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits
