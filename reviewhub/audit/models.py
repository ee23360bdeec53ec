"""Audit events: what can be proven for ever, and beside it what a person may one day ask to be erased."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Func


class CurrentXid(Func):
    """The writing transaction's id on PostgreSQL (the feed reads below the oldest open one); 0 on SQLite."""

    template = "0"
    output_field = models.BigIntegerField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="(pg_current_xact_id()::text::bigint)", **context)


class Event(models.Model):
    """One thing that happened. Append-only: triggers refuse UPDATE, DELETE and TRUNCATE.

    `leaf` is the event's own hash, see `audit.leaf`. The plain ids let pages and the change feed find events;
    they are no foreign keys, so nothing that is removed later can take an event along.
    """

    workspace_id = models.UUIDField()
    kind = models.CharField(max_length=60)
    at = models.DateTimeField()
    xid = models.BigIntegerField(db_default=CurrentXid())
    leaf = models.BinaryField(max_length=32)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.UUIDField(null=True)
    tool = models.CharField(max_length=200, blank=True)
    run_id = models.UUIDField(null=True)
    pause_id = models.UUIDField(null=True)
    request_id = models.UUIDField(null=True)
    agent_id = models.UUIDField(null=True)
    subject_id = models.UUIDField(null=True)

    class Meta:
        # The page goes by time and id, the newest first, whatever it is narrowed to: one range of one of these.
        indexes = [
            models.Index(fields=["workspace_id", "-id"], name="event_workspace"),
            models.Index(fields=["workspace_id", "-at", "-id"], name="event_newest"),
            models.Index(fields=["workspace_id", "kind", "-at", "-id"], name="event_kind"),
            models.Index(fields=["workspace_id", "actor_kind", "-at", "-id"], name="event_actor_kind"),
            # Each of both is frequent; together they may be nothing at all.
            models.Index(
                fields=["workspace_id", "kind", "actor_kind", "-at", "-id"], name="event_kind_by_actor"
            ),
            models.Index(
                fields=["workspace_id", "actor_id", "-at", "-id"],
                name="event_actor",
                condition=models.Q(actor_id__isnull=False),
            ),
            models.Index(
                fields=["workspace_id", "subject_id", "-at", "-id"],
                name="event_subject",
                condition=models.Q(subject_id__isnull=False),
            ),
            models.Index(
                fields=["workspace_id", "agent_id", "-at", "-id"],
                name="event_agent",
                condition=models.Q(agent_id__isnull=False),
            ),
            models.Index(
                fields=["workspace_id", "tool", "-at", "-id"], name="event_tool", condition=~models.Q(tool="")
            ),
            models.Index(
                fields=["run_id", "-at", "-id"], name="event_run", condition=models.Q(run_id__isnull=False)
            ),
            models.Index(
                fields=["request_id", "-at", "-id"],
                name="event_request",
                condition=models.Q(request_id__isnull=False),
            ),
            models.Index(fields=["workspace_id", "xid", "id"], name="event_feed"),
            # Only asked whether anything lies beyond this cluster's transactions (`audit.adopt`).
            models.Index(fields=["xid"], name="event_xid"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.kind}"


class EventPayload(models.Model):
    """The erasable half of an event: names, sentence, data and the salt that its leaf was made with.

    `arguments` are those of the call that it is about, as people are shown them: by them it is searched. They are no
    part of the leaf, which has the call's digest.

    The only UPDATE that the triggers let through is the erasure itself: everything empty, `erased_at` set, and
    `erased_by` the event that names this one among what it erased.
    """

    event = models.OneToOneField(Event, on_delete=models.PROTECT, primary_key=True, related_name="payload")
    salt = models.BinaryField(max_length=16)
    actor_name = models.CharField(max_length=200)
    sentence = models.TextField()
    body = models.TextField()
    arguments = models.TextField(blank=True, db_default="", default="")
    erased_at = models.DateTimeField(null=True)
    # The event's id, without a foreign key like all ids here; what was erased before there was this field has none.
    erased_by = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return self.sentence


class Position(models.Model):
    """Where a sealed event stands: dense from 1 in each workspace, with the chain's value there. Append-only."""

    event = models.OneToOneField(Event, on_delete=models.PROTECT, primary_key=True, related_name="sealed")
    workspace_id = models.UUIDField()
    position = models.BigIntegerField()
    chain = models.BinaryField(max_length=32)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace_id", "position"], name="position_once"),
        ]

    def __str__(self) -> str:
        return str(self.position)


class Seal(models.Model):
    """A signed statement about the events from position `first` to `last`, see `audit.statement`. Append-only.

    `earliest` and `latest` are the times of its events: by them a range of time finds its seals.
    """

    workspace_id = models.UUIDField()
    number = models.BigIntegerField()
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    earliest = models.DateTimeField()
    latest = models.DateTimeField()
    statement = models.TextField()
    signature = models.BinaryField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace_id", "number"], name="seal_number_once"),
            models.UniqueConstraint(fields=["workspace_id", "last"], name="seal_last_once"),
            models.CheckConstraint(
                condition=models.Q(number__gt=0, first__gt=0, last__gte=models.F("first")), name="seal_range"
            ),
        ]
        indexes = [models.Index(fields=["workspace_id", "latest"], name="seal_latest")]

    def __str__(self) -> str:
        return f"seal {self.number}"


class SealKey(models.Model):
    """The public half of a key, see `audit.keys`. Append-only.

    `lost` is the public half of the key that this one takes over from, where that one could not say so any more.
    """

    public = models.CharField(max_length=64, primary_key=True)
    number = models.PositiveIntegerField(unique=True)
    lost = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.public[:16]


class Export(models.Model):
    """How far an export has come that somebody waits for; swept after a day, no part of the record."""

    id = models.UUIDField(primary_key=True)
    workspace_id = models.UUIDField()
    actor_id = models.UUIDField()
    entries = models.BigIntegerField(default=0)
    thousandths = models.PositiveSmallIntegerField(default=0)
    begun_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"export of {self.entries} entries"


class Chain(models.Model):
    """Where the sealer of a workspace is: who seals holds the lock on this row.

    All that is proven comes from positions and seals; this only says where to look on, (xid, event_id) as the feed
    orders events, and what keeps the sealer from it.
    """

    workspace_id = models.UUIDField(primary_key=True)
    xid = models.BigIntegerField(default=-1)
    event_id = models.BigIntegerField(default=-1)
    problem = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"chain of {self.workspace_id}"
