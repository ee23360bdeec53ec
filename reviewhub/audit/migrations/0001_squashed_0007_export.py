import django.db.models.deletion
from django.db import migrations, models

import reviewhub.audit.models

# What people search by, from the first three characters on; SQLite has no such index, and reads (`audit.search`).
WORDS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX event_words ON audit_eventpayload"
    " USING gin (upper(sentence || ' ' || arguments) gin_trgm_ops)",
)


def make_words(apps, schema_editor):
    """The index of words, on PostgreSQL."""
    if schema_editor.connection.vendor == "postgresql":
        for statement in WORDS:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("audit", "0001_initial"),
        ("audit", "0002_tool"),
        ("audit", "0003_feed_index"),
        ("audit", "0004_seals"),
        ("audit", "0005_erased_by"),
        ("audit", "0006_searched"),
        ("audit", "0007_export"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Chain",
            fields=[
                ("workspace_id", models.UUIDField(primary_key=True, serialize=False)),
                ("xid", models.BigIntegerField(default=-1)),
                ("event_id", models.BigIntegerField(default=-1)),
                ("problem", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("kind", models.CharField(max_length=60)),
                ("at", models.DateTimeField()),
                ("xid", models.BigIntegerField(db_default=reviewhub.audit.models.CurrentXid())),
                ("leaf", models.BinaryField(max_length=32)),
                ("actor_kind", models.CharField(max_length=10)),
                ("actor_id", models.UUIDField(null=True)),
                ("tool", models.CharField(blank=True, max_length=200)),
                ("run_id", models.UUIDField(null=True)),
                ("pause_id", models.UUIDField(null=True)),
                ("request_id", models.UUIDField(null=True)),
                ("agent_id", models.UUIDField(null=True)),
                ("subject_id", models.UUIDField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["workspace_id", "-id"], name="event_workspace"),
                    models.Index(fields=["workspace_id", "-at", "-id"], name="event_newest"),
                    models.Index(fields=["workspace_id", "kind", "-at", "-id"], name="event_kind"),
                    models.Index(
                        fields=["workspace_id", "actor_kind", "-at", "-id"], name="event_actor_kind"
                    ),
                    models.Index(
                        condition=models.Q(("actor_id__isnull", False)),
                        fields=["workspace_id", "actor_id", "-at", "-id"],
                        name="event_actor",
                    ),
                    models.Index(
                        condition=models.Q(("subject_id__isnull", False)),
                        fields=["workspace_id", "subject_id", "-at", "-id"],
                        name="event_subject",
                    ),
                    models.Index(
                        condition=models.Q(("agent_id__isnull", False)),
                        fields=["workspace_id", "agent_id", "-at", "-id"],
                        name="event_agent",
                    ),
                    models.Index(
                        condition=models.Q(("tool", ""), _negated=True),
                        fields=["workspace_id", "tool", "-at", "-id"],
                        name="event_tool",
                    ),
                    models.Index(
                        condition=models.Q(("run_id__isnull", False)),
                        fields=["run_id", "-at", "-id"],
                        name="event_run",
                    ),
                    models.Index(
                        condition=models.Q(("request_id__isnull", False)),
                        fields=["request_id", "-at", "-id"],
                        name="event_request",
                    ),
                    models.Index(fields=["workspace_id", "xid", "id"], name="event_feed"),
                    models.Index(fields=["xid"], name="event_xid"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("workspace_id", models.UUIDField()),
                ("actor_id", models.UUIDField()),
                ("entries", models.BigIntegerField(default=0)),
                ("thousandths", models.PositiveSmallIntegerField(default=0)),
                ("begun_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Seal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("number", models.BigIntegerField()),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
                ("earliest", models.DateTimeField()),
                ("latest", models.DateTimeField()),
                ("statement", models.TextField()),
                ("signature", models.BinaryField(max_length=64)),
            ],
            options={
                "indexes": [models.Index(fields=["workspace_id", "latest"], name="seal_latest")],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace_id", "number"), name="seal_number_once"),
                    models.UniqueConstraint(fields=("workspace_id", "last"), name="seal_last_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("first__gt", 0), ("last__gte", models.F("first")), ("number__gt", 0)
                        ),
                        name="seal_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SealKey",
            fields=[
                ("public", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField(unique=True)),
                ("lost", models.CharField(blank=True, max_length=64)),
                ("created_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="EventPayload",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="payload",
                        serialize=False,
                        to="audit.event",
                    ),
                ),
                ("salt", models.BinaryField(max_length=16)),
                ("actor_name", models.CharField(max_length=200)),
                ("sentence", models.TextField()),
                ("body", models.TextField()),
                ("arguments", models.TextField(blank=True, db_default="", default="")),
                ("erased_at", models.DateTimeField(null=True)),
                ("erased_by", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Position",
            fields=[
                (
                    "event",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="sealed",
                        serialize=False,
                        to="audit.event",
                    ),
                ),
                ("workspace_id", models.UUIDField()),
                ("position", models.BigIntegerField()),
                ("chain", models.BinaryField(max_length=32)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace_id", "position"), name="position_once")
                ],
            },
        ),
        migrations.RunPython(make_words, migrations.RunPython.noop),
    ]
