import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("toolcalls", "0001_initial"),
        ("toolcalls", "0002_checkpoints_may_go"),
        ("toolcalls", "0003_equal_calls"),
        ("toolcalls", "0004_call_workspace"),
        ("toolcalls", "0005_shadow"),
        ("toolcalls", "0006_likeness"),
        ("toolcalls", "0007_alike"),
        ("toolcalls", "0008_figures"),
        ("toolcalls", "0009_sampled"),
        ("toolcalls", "0010_words"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("checkpoints", "0001_squashed_0010_children"),
        ("policies", "0001_squashed_0003_drafts"),
        ("runs", "0001_squashed_0009_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Decision",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("request_id", models.UUIDField(null=True)),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("approve", "Approve"),
                            ("edit", "Edit"),
                            ("reject", "Reject"),
                            ("respond", "Respond"),
                            ("deny", "Deny"),
                            ("expire", "Expire"),
                            ("withdraw", "Withdraw"),
                            ("cancel", "Cancel"),
                            ("happened", "Happened"),
                            ("did_not_happen", "Did Not Happen"),
                            ("skip", "Skip"),
                        ],
                        max_length=16,
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=80)),
                ("by_kind", models.CharField(max_length=10)),
                ("by_id", models.UUIDField(null=True)),
                ("by_name", models.CharField(max_length=200)),
                ("message", models.TextField(blank=True)),
                ("note", models.TextField(blank=True)),
                ("value", models.TextField(null=True)),
                ("policy_version", models.PositiveIntegerField(default=0)),
                ("decided_at", models.DateTimeField()),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.workspace"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "state",
                    models.CharField(choices=[("waiting", "Waiting"), ("settled", "Settled")], max_length=8),
                ),
                ("open_calls", models.PositiveIntegerField()),
                ("version", models.PositiveIntegerField(default=1)),
                ("settled_at_once", models.BooleanField(default=False)),
                ("resume_kind", models.CharField(default="poll", max_length=10)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pauses", to="runs.branch"
                    ),
                ),
                (
                    "checkpoint",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="checkpoints.checkpoint",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pauses", to="runs.run"
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
                "indexes": [models.Index(fields=["branch", "-created_at"], name="pause_branch")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "waiting")), fields=("branch",), name="pause_open_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("open_calls__gt", 0), ("state", "waiting")),
                            models.Q(("open_calls", 0), ("state", "settled")),
                            _connector="OR",
                        ),
                        name="pause_open_calls",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[("gated", "Gated"), ("observed", "Observed")], default="gated", max_length=8
                    ),
                ),
                ("position", models.PositiveIntegerField(default=0)),
                ("call_id", models.CharField(blank=True, max_length=255)),
                ("tool_name", models.CharField(max_length=200)),
                (
                    "effect",
                    models.CharField(
                        choices=[("read", "Read"), ("idempotent", "Idempotent"), ("once", "Once")],
                        max_length=10,
                    ),
                ),
                ("time_limit_seconds", models.PositiveIntegerField(default=300)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("waiting", "Waiting"),
                            ("allowed", "Allowed"),
                            ("denied", "Denied"),
                            ("started", "Started"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("unknown", "Unknown"),
                            ("skipped", "Skipped"),
                        ],
                        default="proposed",
                        max_length=10,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("digest", models.CharField(max_length=80)),
                ("claims", models.TextField(default="{}")),
                ("policy_version", models.PositiveIntegerField(default=0)),
                ("because", models.TextField(default="{}")),
                ("ran_without_approval", models.BooleanField(default=False)),
                ("sample_percent", models.PositiveSmallIntegerField(null=True)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("idempotency_key", models.CharField(max_length=80)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("partial", models.TextField(null=True)),
                ("result", models.TextField(null=True)),
                ("error", models.TextField(null=True)),
                ("outcome_digest", models.CharField(blank=True, max_length=80)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.agent"
                    ),
                ),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tool_calls",
                        to="runs.branch",
                    ),
                ),
                (
                    "checkpoint",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="checkpoints.checkpoint",
                    ),
                ),
                (
                    "pause",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tool_calls",
                        to="toolcalls.pause",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tool_calls", to="runs.run"
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
                    models.Index(fields=["pause", "position"], name="call_pause_position"),
                    models.Index(fields=["branch", "-created_at"], name="call_branch"),
                    models.Index(
                        condition=models.Q(("state", "started")), fields=["started_at"], name="call_started"
                    ),
                    models.Index(fields=["workspace", "created_at"], name="call_workspace"),
                    models.Index(
                        condition=models.Q(("ran_without_approval", True)),
                        fields=["workspace", "created_at"],
                        name="call_unapproved",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "proposed",
                                    "waiting",
                                    "allowed",
                                    "denied",
                                    "started",
                                    "succeeded",
                                    "failed",
                                    "unknown",
                                    "skipped",
                                ],
                            )
                        ),
                        name="call_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("effect__in", ["read", "idempotent", "once"])), name="call_effect"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mode", "observed"), ("pause__isnull", False), _connector="OR"),
                        name="call_pause",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("mode", "observed"),
                            models.Q(
                                ("state__in", ["started", "succeeded", "failed", "unknown"]), _negated=True
                            ),
                            ("attempt__gt", 0),
                            _connector="OR",
                        ),
                        name="call_attempt",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ShadowAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("held", "Held"),
                            ("freed", "Freed"),
                            ("denied", "Denied"),
                            ("rerouted", "Rerouted"),
                            ("failed", "Failed"),
                        ],
                        max_length=8,
                    ),
                ),
                ("rule", models.CharField(blank=True, max_length=200)),
                ("asks", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "draft",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="policies.policydraft",
                    ),
                ),
                (
                    "tool_call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="toolcalls.toolcall"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["draft", "change", "-id"], name="shadow_answer_draft")],
                "constraints": [
                    models.UniqueConstraint(fields=("draft", "tool_call"), name="shadow_answer_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=80)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("consumed", "Consumed"),
                            ("expired", "Expired"),
                            ("revoked", "Revoked"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("by_policy", models.BooleanField(default=False)),
                ("expires_at", models.DateTimeField(null=True)),
                ("consumed_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "decision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="toolcalls.decision"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.workspace"
                    ),
                ),
                (
                    "tool_call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grants",
                        to="toolcalls.toolcall",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "consumed"), _negated=True),
                        fields=["workspace", "created_at"],
                        name="grant_unused",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")), fields=("tool_call",), name="grant_open_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("consumed_at__isnull", False), ("state", "consumed")),
                            models.Q(
                                models.Q(("state", "consumed"), _negated=True), ("consumed_at__isnull", True)
                            ),
                            _connector="OR",
                        ),
                        name="grant_consumed_at",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CallVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("arguments", models.TextField()),
                ("digest", models.CharField(max_length=80)),
                ("likeness", models.CharField(max_length=64)),
                ("changes", models.TextField(default="[]")),
                ("author_kind", models.CharField(max_length=10)),
                ("author_id", models.UUIDField(null=True)),
                ("author_name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "tool_call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="versions",
                        to="toolcalls.toolcall",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["likeness"], name="call_version_likeness")],
                "constraints": [
                    models.UniqueConstraint(fields=("tool_call", "version"), name="call_version_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("key_hash", models.CharField(max_length=64)),
                ("epoch", models.BigIntegerField(default=0)),
                ("started_at", models.DateTimeField()),
                (
                    "grant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="toolcalls.grant",
                    ),
                ),
                (
                    "tool_call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="toolcalls.toolcall",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("tool_call", "number"), name="attempt_number_once"),
                    models.UniqueConstraint(fields=("tool_call", "key_hash"), name="attempt_key_once"),
                ],
            },
        ),
        migrations.AddField(
            model_name="decision",
            name="tool_call",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="toolcalls.toolcall"
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["tool_call", "-decided_at"], name="decision_call"),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.UniqueConstraint(
                condition=models.Q(("request_id__isnull", False)),
                fields=("request_id",),
                name="decision_request_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "type__in",
                        [
                            "approve",
                            "edit",
                            "reject",
                            "respond",
                            "deny",
                            "expire",
                            "withdraw",
                            "cancel",
                            "happened",
                            "did_not_happen",
                            "skip",
                        ],
                    )
                ),
                name="decision_type",
            ),
        ),
    ]
