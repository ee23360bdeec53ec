"""Checkpoints: immutable commits of an agent's state, the blobs they share, and what is left of what was removed."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual

from reviewhub.accounts.models import Agent, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.runs.models import Branch, Child, Run

LARGE_BYTES = 16_384
"""Packed bytes from which on a blob may go to a blob store; BLOB_LARGE_BYTES may say more, not less."""


class StateSchema(models.Model):
    """The JSON Schema of an agent's states under a name, in one version. Rows are never changed; triggers refuse it.

    Every checkpoint that was written under it names it, so its number is short.
    """

    id = models.AutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="state_schemas", db_index=False)
    name = models.CharField(max_length=200)
    version = models.PositiveIntegerField()
    schema = models.TextField()
    fingerprint = models.CharField(max_length=80)
    registered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "name", "version"], name="state_schema_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"


class Checkpoint(models.Model):
    """One saved state. Rows are never changed; triggers refuse an UPDATE, and a DELETE that no removal accounts for.

    `content` is what this row adds to the one before it on its branch, from the row with number `base` on, which stands
    alone (`checkpoints.rows`); `state_hash` is over the digests of the state's fields, `raw_length` its text's bytes.
    `misfits` is what does not fit `state_schema`, a JSON list; empty when all does, or nobody looked.
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
    # The writer's word for what its state is; the row of the schema is there for ever.
    state_schema = models.ForeignKey(
        StateSchema,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    misfits = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["branch", "number"], name="checkpoint_number_once")]
        indexes = [models.Index(fields=["run", "created_at", "id"], name="checkpoint_newest")]

    def __str__(self) -> str:
        return f"{self.branch_id} #{self.number}"


class Blob(models.Model):
    """A value or some items of a list of one run, found by the SHA-256 of its bytes.

    Within a run it is there once, however many checkpoints name it; no run sees the blobs of another. Its bytes,
    packed, are in `data`, or in the blob store at `location`. The triggers refuse every change but that from the one
    to the other.
    """

    pk = models.CompositePrimaryKey("run_id", "hash")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+", db_index=False)
    hash = models.BinaryField(max_length=32)
    data = models.BinaryField(null=True)
    # "<store>/<key in it>"; stays when the bytes come back, so that what is there can be removed.
    location = models.CharField(max_length=300, null=True)
    # Bytes at `location`, so that what lies there can be summed up without asking.
    size = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(data__isnull=False) | models.Q(location__isnull=False, size__isnull=False),
                name="blob_is_somewhere",
            )
        ]
        # Finds the runs with blobs that may go to a store. Small ones are not in it and cost nothing.
        indexes = [
            models.Index(
                fields=["run"],
                condition=models.Q(data__isnull=False)
                & models.Q(GreaterThanOrEqual(Length("data"), LARGE_BYTES)),
                name="blob_large",
            )
        ]

    def __str__(self) -> str:
        return bytes(self.hash).hex()


class Leftover(models.Model):
    """Bytes in a blob store that no blob points to (yet, or any more); a sweep removes them when `due_at` has come.

    Listed before they are put and in the transaction that forgets them, so that no crash leaves bytes behind that
    nobody knows of. With `is_going` they are being removed: no blob may point to them from then on.
    """

    location = models.CharField(max_length=300, unique=True)
    due_at = models.DateTimeField(db_index=True)
    is_going = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.location


class StoreState(models.Model):
    """How the background work with a blob store goes, for admins to see."""

    name = models.CharField(max_length=40, primary_key=True)
    ok_at = models.DateTimeField(null=True)
    failing_since = models.DateTimeField(null=True)
    problem = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.name


class StoredBytes(models.Model):
    """What the blob store `database:` keeps, by key."""

    key = models.CharField(max_length=300, primary_key=True)
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.key


class Hold(models.Model):
    """A run of which nothing may be removed, for a reason that somebody gave. The triggers look here, too."""

    run = models.OneToOneField(Run, on_delete=models.PROTECT, primary_key=True, related_name="hold")
    reason = models.TextField()
    by_name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"hold on {self.run_id}"


class Pin(models.Model):
    """A checkpoint that somebody wants kept, whatever a rule says."""

    checkpoint = models.OneToOneField(
        Checkpoint, on_delete=models.PROTECT, primary_key=True, related_name="pin"
    )
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="pins")
    reason = models.TextField()
    by_name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"pin on {self.checkpoint_id}"


class ChildHead(models.Model):
    """Where a child run was, that went on when a checkpoint of its parent was saved; without `head` it had just begun.

    A child that the checkpoint knows of and that has no row here was over by then. Goes with its checkpoint.
    """

    checkpoint = models.ForeignKey(
        Checkpoint, on_delete=models.PROTECT, related_name="child_heads", db_index=False, db_constraint=False
    )
    child = models.ForeignKey(Child, on_delete=models.PROTECT, related_name="+", db_index=False)
    # Checked by the database at the commit, so that no removal in between takes what is pinned just now.
    head = models.ForeignKey(Checkpoint, null=True, on_delete=models.PROTECT, related_name="pinned_by")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["checkpoint", "child"], name="child_head_once")]

    def __str__(self) -> str:
        return f"{self.child_id} at {self.head_id}"


class RemovalEnd(models.Model):
    """What a removal took away. It is written last, and its removal refers to it: see `Removal`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    checkpoints = models.PositiveIntegerField()
    blobs = models.PositiveIntegerField()
    bytes = models.PositiveBigIntegerField()
    # SHA-256 over what went, see `checkpoints.remove`.
    digest = models.CharField(max_length=80)

    def __str__(self) -> str:
        return f"{self.checkpoints} checkpoints, {self.blobs} blobs"


class Removal(models.Model):
    """One transaction in which checkpoints or blobs of a run were removed: why, by which rule. Never changed (trigger).

    The triggers let a row of the run go only while a removal of it has no end, and `end` is checked at the commit: so
    an open one cannot be committed, and nothing goes without an entry here, on either database.
    """

    class Kind(models.TextChoices):
        RETENTION = "retention"
        ERASURE = "erasure"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="removals")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # The limits in force as canonical JSON text; empty for an erasure.
    rule = models.TextField(blank=True)
    reason = models.TextField()
    by_name = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    end = models.OneToOneField(RemovalEnd, on_delete=models.PROTECT, related_name="removal")

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Tombstone(models.Model):
    """What stays of a removed checkpoint: its id, its place and the hash of its state. Never changed (trigger)."""

    id = models.UUIDField(primary_key=True, editable=False)
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="tombstones", db_index=False)
    number = models.PositiveIntegerField()
    state_hash = models.CharField(max_length=80)
    removal = models.ForeignKey(Removal, on_delete=models.PROTECT, related_name="tombstones")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["branch", "number"], name="tombstone_number_once")]

    def __str__(self) -> str:
        return f"{self.branch_id} #{self.number}"
