"""Idempotency keys: the same key with the same body answers the same, for ever.

A key is scoped to caller and route. The answer is kept for a while and then dropped (`forget_answers`); scope, key
and body digest stay as a tombstone, so that a late repeat is told so instead of acting twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.db import connection
from django.utils import timezone

from reviewhub.core.errors import IdempotencyConflict, Invalid
from reviewhub.core.models import IdempotencyKey
from reviewhub.core.rows import one_or_none

MAX_KEY = 255
# One statement, and none of the savepoint that a refused INSERT would need.
_CLAIM = """
INSERT INTO core_idempotencykey (scope, key_hash, body_digest, status, created_at) VALUES (%s, %s, %s, 0, %s)
ON CONFLICT (scope, key_hash) DO NOTHING RETURNING id
"""


@dataclass(frozen=True)
class Claim:
    """A key taken for the running transaction (`answer` is None), or the answer given before."""

    row_id: int
    answer: str | None
    status: int

    def keep(self, *, status: int, answer: str) -> None:
        """Stores the answer; in the same transaction as what it answers for."""
        IdempotencyKey.objects.filter(pk=self.row_id).update(status=status, answer=answer)


def check_key(key: str) -> str:
    """The key itself, or Invalid when there is none or it is too long or not printable ASCII."""
    if not key or len(key) > MAX_KEY or not key.isascii() or not key.isprintable():
        raise Invalid.at(
            "/headers/Idempotency-Key", f"needs 1 to {MAX_KEY} printable ASCII characters; {len(key)} given"
        )
    return key


def answered(*, scope: str, key: str, body_digest: str) -> str | None:
    """The answer that was given for `key`, read before any work is done for a repeat; None when there is none yet.

    Raises:
        IdempotencyConflict: as `claim`.
    """
    row = one_or_none(IdempotencyKey.objects.filter(scope=scope, key_hash=_hashed(key)))
    return None if row is None else _answer_of(row, body_digest)


def claim(*, scope: str, key: str, body_digest: str) -> Claim:
    """Takes `key` in `scope`, or finds the answer that was given for it.

    Runs inside the caller's transaction. A second request with the same key waits at the unique index until the
    first one commits, and then finds its answer.

    Raises:
        IdempotencyConflict: the key was used with another body, or its answer was dropped.
    """
    hashed = _hashed(key)
    with connection.cursor() as cursor:
        at = connection.ops.adapt_datetimefield_value(timezone.now())
        cursor.execute(_CLAIM, [scope, hashed, body_digest, at])
        made = cursor.fetchone()
    if made is not None:
        return Claim(row_id=made[0], answer=None, status=0)
    row = IdempotencyKey.objects.get(scope=scope, key_hash=hashed)
    return Claim(row_id=row.pk, answer=_answer_of(row, body_digest), status=row.status)


def _hashed(key: str) -> str:
    return hashlib.sha256(check_key(key).encode()).hexdigest()


def _answer_of(row: IdempotencyKey, body_digest: str) -> str:
    if row.body_digest != body_digest:
        raise IdempotencyConflict()
    if row.answer is None:
        raise IdempotencyConflict("This idempotency key was used long ago; its answer is no longer kept.")
    return row.answer
