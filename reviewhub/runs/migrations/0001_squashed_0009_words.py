import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids
import reviewhub.runs.models
from reviewhub.core.fields import WORDS_INDEX


def index_words(apps, schema_editor):
    """PostgreSQL finds words by it; SQLite reads the rows."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(WORDS_INDEX.format(name="words_words", table="runs_words", column="words"))


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("runs", "0001_initial"),
        ("runs", "0002_state_index_and_schema"),
        ("runs", "0003_no_schema_of_its_own"),
        ("runs", "0004_retention"),
        ("runs", "0005_halts"),
        ("runs", "0006_limits"),
        ("runs", "0007_ending"),
        ("runs", "0008_children"),
        ("runs", "0009_words"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("environment", models.CharField(max_length=40)),
                ("external_id", models.CharField(blank=True, max_length=255)),
                ("graph", models.CharField(blank=True, max_length=120)),
                ("depth", models.PositiveSmallIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("quarantined", "Quarantined"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=400)),
                ("on_behalf_of", models.CharField(blank=True, max_length=255)),
                ("labels", models.TextField(default="{}")),
                ("input", models.TextField(default="null")),
                ("result", models.TextField(default="null")),
                ("error", models.TextField(blank=True)),
                ("retention_class", models.CharField(blank=True, max_length=40)),
                ("erased_at", models.DateTimeField(null=True)),
                ("input_tokens", models.BigIntegerField(default=0)),
                ("output_tokens", models.BigIntegerField(default=0)),
                ("spent_micros", models.BigIntegerField(default=0)),
                ("spend_limit_micros", models.BigIntegerField(default=reviewhub.runs.models.spend_limit)),
                ("time_limit_seconds", models.PositiveIntegerField(default=reviewhub.runs.models.time_limit)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="accounts.agent"
                    ),
                ),
                (
                    "key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.agentkey",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="runs.run",
                    ),
                ),
                (
                    "root",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="family",
                        to="runs.run",
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.member",
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
                "indexes": [
                    models.Index(fields=["workspace", "-created_at", "-id"], name="run_newest"),
                    models.Index(
                        fields=["workspace", "state", "-created_at", "-id"], name="run_state_newest"
                    ),
                    models.Index(fields=["agent", "-created_at"], name="run_agent"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("external_id", ""), _negated=True),
                        fields=("agent", "external_id"),
                        name="run_external_id_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["running", "paused", "succeeded", "failed", "cancelled", "quarantined"],
                            )
                        ),
                        name="run_state",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Branch",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("resuming", "Resuming"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("superseded", "Superseded"),
                            ("quarantined", "Quarantined"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("head", models.UUIDField(null=True)),
                ("epoch", models.BigIntegerField(default=0)),
                ("lease_owner", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("has_children", models.BooleanField(default=False)),
                ("is_halted", models.BooleanField(default=False)),
                ("fork_of", models.UUIDField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ending", models.CharField(blank=True, max_length=80)),
                (
                    "superseded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="supersedes",
                        to="runs.branch",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.workspace"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="branches", to="runs.run"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("lease_until__isnull", False)),
                        fields=["lease_until"],
                        name="branch_lease",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "name"), name="branch_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "running",
                                    "paused",
                                    "resuming",
                                    "succeeded",
                                    "failed",
                                    "cancelled",
                                    "superseded",
                                    "quarantined",
                                ],
                            )
                        ),
                        name="branch_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state", "superseded"), ("superseded_by__isnull", True), _connector="OR"
                        ),
                        name="branch_superseded",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Words",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("call_id", models.UUIDField(null=True)),
                ("words", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.run"
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
                    models.UniqueConstraint(fields=("call_id",), name="words_call_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("call_id", None)), fields=("run",), name="words_run_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Child",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("graph", models.CharField(max_length=120)),
                ("digest", models.CharField(max_length=80)),
                ("born_after", models.PositiveIntegerField()),
                ("is_awaited", models.BooleanField(default=False)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[("done", "Done"), ("failed", "Failed"), ("cancelled", "Cancelled")],
                        max_length=10,
                    ),
                ),
                ("result", models.TextField(default="null")),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="child_of", to="runs.branch"
                    ),
                ),
                (
                    "parent_branch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="runs.branch",
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("parent_branch", "key"), name="child_key_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("outcome", "")),
                            models.Q(
                                ("ended_at__isnull", False), ("outcome__in", ["done", "failed", "cancelled"])
                            ),
                            _connector="OR",
                        ),
                        name="child_outcome",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Halt",
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
                        choices=[("person", "Person"), ("time", "Time"), ("spend", "Spend")], max_length=10
                    ),
                ),
                ("reason", models.TextField()),
                ("by_name", models.CharField(max_length=200)),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="halts", to="runs.branch"
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
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("branch",),
                        name="halt_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["person", "time", "spend"])), name="halt_kind"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RetentionRule",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("run_class", models.CharField(blank=True, max_length=40)),
                ("keep_last", models.PositiveIntegerField(null=True)),
                ("max_age_days", models.PositiveIntegerField(null=True)),
                ("thin_days", models.PositiveIntegerField(null=True)),
                ("decided_days", models.PositiveIntegerField(null=True)),
                ("delete_days", models.PositiveIntegerField(null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                ("author_name", models.CharField(max_length=200)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "agent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retention_rules",
                        to="accounts.agent",
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="retention_rules",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "agent", "run_class"), name="retention_rule_of_agent_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("agent", None)),
                        fields=("workspace", "run_class"),
                        name="retention_rule_of_all_once",
                    ),
                ],
            },
        ),
        migrations.RunPython(index_words, migrations.RunPython.noop),
    ]
