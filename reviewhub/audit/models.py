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
        indexes = [
            models.Index(fields=["workspace_id", "-id"], name="event_workspace"),
            models.Index(fields=["workspace_id", "kind", "-id"], name="event_kind"),
            models.Index(
                fields=["run_id", "-id"], name="event_run", condition=models.Q(run_id__isnull=False)
            ),
            models.Index(
                fields=["request_id", "-id"],
                name="event_request",
                condition=models.Q(request_id__isnull=False),
            ),
            models.Index(
                fields=["workspace_id", "actor_id", "-id"],
                name="event_actor",
                condition=models.Q(actor_id__isnull=False),
            ),
            models.Index(
                fields=["workspace_id", "tool", "-id"], name="event_tool", condition=~models.Q(tool="")
            ),
            models.Index(fields=["workspace_id", "agent_id", "-id"], name="event_agent"),
            models.Index(fields=["workspace_id", "xid", "id"], name="event_feed"),
            # Only asked whether anything lies beyond this cluster's transactions (`audit.adopt`).
            models.Index(fields=["xid"], name="event_xid"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.kind}"


class EventPayload(models.Model):
    """The erasable half of an event: names, sentence, data and the salt that its leaf was made with.

    The only UPDATE that the triggers let through is the erasure itself (everything empty, `erased_at` set).
    """

    event = models.OneToOneField(Event, on_delete=models.PROTECT, primary_key=True, related_name="payload")
    salt = models.BinaryField(max_length=16)
    actor_name = models.CharField(max_length=200)
    sentence = models.TextField()
    body = models.TextField()
    erased_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.sentence
