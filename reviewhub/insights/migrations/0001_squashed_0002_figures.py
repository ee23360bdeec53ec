import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [("insights", "0001_initial"), ("insights", "0002_figures")]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("policies", "0001_squashed_0003_drafts"),
        ("reviews", "0001_squashed_0017_edited_by"),
        ("toolcalls", "0001_squashed_0010_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Alarm",
            fields=[
                (
                    "tool_call",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="toolcalls.toolcall",
                    ),
                ),
                ("raised_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Backtest",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("days", models.PositiveIntegerField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("total", models.PositiveIntegerField()),
                ("looked_at", models.PositiveIntegerField(default=0)),
                ("cursor_at", models.DateTimeField(null=True)),
                ("cursor_id", models.UUIDField(null=True)),
                ("figures", models.TextField()),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("beat_at", models.DateTimeField(null=True)),
                ("by_name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "draft",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="backtests",
                        to="policies.policydraft",
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
                "indexes": [models.Index(fields=["draft", "-created_at"], name="backtest_draft")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("workspace",),
                        name="backtest_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "done", "cancelled", "failed"])),
                        name="backtest_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("state", "open")),
                            models.Q(models.Q(("state", "open"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="backtest_ended_at",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BacktestCall",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("heading", models.CharField(max_length=10)),
                ("rule", models.CharField(blank=True, max_length=200)),
                ("asks", models.TextField(blank=True)),
                (
                    "backtest",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="calls",
                        to="insights.backtest",
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("backtest", "heading", "tool_call"), name="backtest_call_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Hour",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("opened", models.PositiveIntegerField(default=0)),
                ("closed", models.PositiveIntegerField(default=0)),
                ("expired", models.PositiveIntegerField(default=0)),
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
                "constraints": [models.UniqueConstraint(fields=("workspace", "at"), name="hour_once")],
            },
        ),
        migrations.CreateModel(
            name="Opening",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                (
                    "member",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.member",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.reviewrequest",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("request", "member", "version"), name="opening_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="RolledDay",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("is_final", models.BooleanField()),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_final", False)), fields=["day"], name="rolled_day_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Slice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tool_name", models.CharField(max_length=200)),
                ("rule", models.CharField(blank=True, max_length=200)),
                ("teams", models.CharField(blank=True, max_length=760)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.agent",
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
                    models.UniqueConstraint(
                        fields=("workspace", "agent", "tool_name", "rule", "teams"), name="slice_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="EditedPath",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("path", models.CharField(max_length=200)),
                ("calls", models.PositiveIntegerField()),
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
                    "slice",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="insights.slice",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "day", "slice", "path"), name="edited_path_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Answered",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("approved", models.PositiveIntegerField(default=0)),
                ("edited", models.PositiveIntegerField(default=0)),
                ("rejected", models.PositiveIntegerField(default=0)),
                ("responded", models.PositiveIntegerField(default=0)),
                ("expired", models.PositiveIntegerField(default=0)),
                ("withdrawn", models.PositiveIntegerField(default=0)),
                ("cancelled", models.PositiveIntegerField(default=0)),
                ("escalated", models.PositiveIntegerField(default=0)),
                ("happened", models.PositiveIntegerField(default=0)),
                ("did_not_happen", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("waited_ms", models.PositiveBigIntegerField(default=0)),
                ("waits", models.BinaryField()),
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
                    "slice",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="insights.slice",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "day", "slice"), name="answered_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Voted",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("approved", models.PositiveIntegerField(default=0)),
                ("edited", models.PositiveIntegerField(default=0)),
                ("rejected", models.PositiveIntegerField(default=0)),
                ("responded", models.PositiveIntegerField(default=0)),
                ("measured", models.PositiveIntegerField(default=0)),
                ("quick", models.PositiveIntegerField(default=0)),
                ("unopened", models.PositiveIntegerField(default=0)),
                ("streak_first", models.PositiveIntegerField(default=0)),
                ("streak_longest", models.PositiveIntegerField(default=0)),
                ("streak_last", models.PositiveIntegerField(default=0)),
                ("open_ms", models.BinaryField()),
                (
                    "member",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.member",
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
                    models.UniqueConstraint(fields=("workspace", "day", "member"), name="voted_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Worked",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("useful_us", models.PositiveBigIntegerField(default=0)),
                ("replay_us", models.PositiveBigIntegerField(default=0)),
                ("recovery_us", models.PositiveBigIntegerField(default=0)),
                ("overhead_us", models.PositiveBigIntegerField(default=0)),
                ("losses", models.PositiveIntegerField(default=0)),
                ("paid", models.PositiveBigIntegerField(default=0)),
                ("spared", models.PositiveBigIntegerField(default=0)),
                (
                    "agent",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.agent",
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
                    models.UniqueConstraint(fields=("workspace", "day", "agent"), name="worked_once")
                ],
            },
        ),
    ]
