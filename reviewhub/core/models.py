"""Tables that belong to no concept: idempotency keys."""

from __future__ import annotations

from django.db import models


class IdempotencyKey(models.Model):
    """One key that a caller used on one route, the digest of its body and (for a while) the answer."""

    scope = models.CharField(max_length=200)
    key_hash = models.CharField(max_length=64)
    body_digest = models.CharField(max_length=80)
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "key_hash"], name="idempotency_key_once")]

    def __str__(self) -> str:
        return f"{self.scope} {self.key_hash[:8]}"
