"""Checkpoints: immutable commits of an agent's state, and the blobs that they share."""

from __future__ import annotations

from django.db import models

from reviewhub.accounts.models import Workspace
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Run


class Checkpoint(models.Model):
    """One saved state. Rows are never changed; triggers refuse an UPDATE.

    `content` is what this row adds to the one before it on its branch, from the row with number `base` on, which stands
    alone (`checkpoints.rows`); `state_hash` is over the digests of the state's fields, `raw_length` its text's bytes.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # A commit costs what it has to write and to check. The indexes below find what those of foreign keys would.
    # Workspace and run are the branch's, which constraints hold; the parent was its head in the same statement.
    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    run = models.ForeignKey(
        Run, on_delete=models.PROTECT, related_name="checkpoints", db_index=False, db_constraint=False
    )
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="checkpoints", db_index=False)
    parent = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        related_name="children",
        db_index=False,
        db_constraint=False,
    )
    number = models.PositiveIntegerField()
    base = models.PositiveIntegerField()
    node = models.CharField(max_length=200, blank=True)
    step = models.PositiveIntegerField(default=0)
    plan = models.TextField(default="null")
    state_hash = models.CharField(max_length=80)
    raw_length = models.PositiveIntegerField()
    content = models.BinaryField()
    reason = models.TextField(blank=True)
    author_kind = models.CharField(max_length=10, default="agent")
    author_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["branch", "number"], name="checkpoint_number_once")]
        indexes = [models.Index(fields=["run", "created_at", "id"], name="checkpoint_newest")]

    def __str__(self) -> str:
        return f"{self.branch_id} #{self.number}"


class Blob(models.Model):
    """A value or some items of a list of one run, found by the SHA-256 of its bytes. Written once, never changed.

    Within a run it is there once, however many checkpoints name it; no run sees the blobs of another.
    """

    pk = models.CompositePrimaryKey("run_id", "hash")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+", db_index=False)
    hash = models.BinaryField(max_length=32)
    data = models.BinaryField()

    def __str__(self) -> str:
        return bytes(self.hash).hex()
