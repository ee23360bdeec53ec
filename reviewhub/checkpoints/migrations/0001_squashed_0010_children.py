import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
from django.db import migrations, models

import reviewhub.core.ids

COMPRESSED = ("checkpoints_blob.data", "checkpoints_checkpoint.content", "checkpoints_storedbytes.data")


def keep_compressed_bytes_apart(apps, schema_editor):
    """On PostgreSQL: what is compressed already is not tried to be compressed again."""
    if schema_editor.connection.vendor == "postgresql":
        for place in COMPRESSED:
            table, column = place.split(".")
            schema_editor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("checkpoints", "0001_initial"),
        ("checkpoints", "0002_rows_and_blobs"),
        ("checkpoints", "0003_carry_over"),
        ("checkpoints", "0004_drop_the_whole_state"),
        ("checkpoints", "0005_fewer_checks"),
        ("checkpoints", "0006_state_schemas"),
        ("checkpoints", "0007_blob_stores"),
        ("checkpoints", "0008_removals"),
        ("checkpoints", "0009_tombstones_of_a_removal"),
        ("checkpoints", "0010_children"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("runs", "0001_squashed_0009_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Hold",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="hold",
                        serialize=False,
                        to="runs.run",
                    ),
                ),
                ("reason", models.TextField()),
                ("by_name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Leftover",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("location", models.CharField(max_length=300, unique=True)),
                ("due_at", models.DateTimeField(db_index=True)),
                ("is_going", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="RemovalEnd",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("checkpoints", models.PositiveIntegerField()),
                ("blobs", models.PositiveIntegerField()),
                ("bytes", models.PositiveBigIntegerField()),
                ("digest", models.CharField(max_length=80)),
            ],
        ),
        migrations.CreateModel(
            name="StoredBytes",
            fields=[
                ("key", models.CharField(max_length=300, primary_key=True, serialize=False)),
                ("data", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="StoreState",
            fields=[
                ("name", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("ok_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
                ("problem", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="Removal",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("retention", "Retention"), ("erasure", "Erasure")], max_length=10
                    ),
                ),
                ("rule", models.TextField(blank=True)),
                ("reason", models.TextField()),
                ("by_name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="removals", to="runs.run"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.workspace",
                    ),
                ),
                (
                    "end",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="removal",
                        to="checkpoints.removalend",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StateSchema",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("version", models.PositiveIntegerField()),
                ("schema", models.TextField()),
                ("fingerprint", models.CharField(max_length=80)),
                ("registered_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="state_schemas",
                        to="accounts.agent",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("agent", "name", "version"), name="state_schema_version_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("base", models.PositiveIntegerField()),
                ("node", models.CharField(blank=True, max_length=200)),
                ("step", models.PositiveIntegerField(default=0)),
                ("plan", models.TextField(default="null")),
                ("state_hash", models.CharField(max_length=80)),
                ("raw_length", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                ("reason", models.TextField(blank=True)),
                ("author_kind", models.CharField(default="agent", max_length=10)),
                ("author_name", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("misfits", models.TextField(blank=True)),
                (
                    "branch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="checkpoints",
                        to="runs.branch",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="checkpoints.checkpoint",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="checkpoints",
                        to="runs.run",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.workspace",
                    ),
                ),
                (
                    "state_schema",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="checkpoints.stateschema",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["run", "created_at", "id"], name="checkpoint_newest")],
                "constraints": [
                    models.UniqueConstraint(fields=("branch", "number"), name="checkpoint_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("state_hash", models.CharField(max_length=80)),
                (
                    "branch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tombstones",
                        to="runs.branch",
                    ),
                ),
                (
                    "removal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tombstones",
                        to="checkpoints.removal",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("branch", "number"), name="tombstone_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Blob",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id", "hash", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("hash", models.BinaryField(max_length=32)),
                ("data", models.BinaryField(null=True)),
                ("location", models.CharField(max_length=300, null=True)),
                ("size", models.PositiveIntegerField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            ("data__isnull", False),
                            django.db.models.lookups.GreaterThanOrEqual(
                                django.db.models.functions.text.Length("data"), 16384
                            ),
                        ),
                        fields=["run"],
                        name="blob_large",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("data__isnull", False),
                            models.Q(("location__isnull", False), ("size__isnull", False)),
                            _connector="OR",
                        ),
                        name="blob_is_somewhere",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Pin",
            fields=[
                (
                    "checkpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="pin",
                        serialize=False,
                        to="checkpoints.checkpoint",
                    ),
                ),
                ("reason", models.TextField()),
                ("by_name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pins", to="runs.run"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ChildHead",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "checkpoint",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="child_heads",
                        to="checkpoints.checkpoint",
                    ),
                ),
                (
                    "child",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runs.child",
                    ),
                ),
                (
                    "head",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pinned_by",
                        to="checkpoints.checkpoint",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("checkpoint", "child"), name="child_head_once")
                ],
            },
        ),
        migrations.RunPython(keep_compressed_bytes_apart, migrations.RunPython.noop),
    ]
