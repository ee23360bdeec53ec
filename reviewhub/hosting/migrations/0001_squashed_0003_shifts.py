import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [("hosting", "0001_initial"), ("hosting", "0002_usage"), ("hosting", "0003_shifts")]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("resumptions", "0001_squashed_0004_children"),
        ("runs", "0001_squashed_0009_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("value", models.TextField()),
                ("digest", models.CharField(max_length=80)),
                ("model", models.CharField(blank=True, max_length=120)),
                ("input_tokens", models.BigIntegerField(default=0)),
                ("output_tokens", models.BigIntegerField(default=0)),
                ("cost_micros", models.BigIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="records", to="runs.branch"
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
                "constraints": [models.UniqueConstraint(fields=("branch", "key"), name="record_key_once")],
            },
        ),
        migrations.CreateModel(
            name="Shift",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("owner", models.CharField(max_length=120)),
                ("began_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "ending",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("paused", "Paused"),
                            ("finished", "Finished"),
                            ("failed", "Failed"),
                            ("lost", "Lost"),
                        ],
                        max_length=8,
                    ),
                ),
                ("queue_us", models.PositiveBigIntegerField(default=0)),
                ("useful_us", models.PositiveBigIntegerField(default=0)),
                ("replay_us", models.PositiveBigIntegerField(default=0)),
                ("recovery_us", models.PositiveBigIntegerField(default=0)),
                ("saving_us", models.PositiveBigIntegerField(default=0)),
                ("ledger_us", models.PositiveBigIntegerField(default=0)),
                ("saves", models.PositiveIntegerField(default=0)),
                ("paid", models.PositiveBigIntegerField(default=0)),
                ("spared", models.PositiveBigIntegerField(default=0)),
                ("after_loss", models.BooleanField(default=False)),
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
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="runs.branch"
                    ),
                ),
                (
                    "resumption",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="resumptions.resumption",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="shifts", to="runs.run"
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
                "indexes": [models.Index(fields=["agent", "began_at"], name="shift_agent")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("ending", "")),
                            models.Q(
                                ("ended_at__isnull", False),
                                ("ending__in", ["paused", "finished", "failed", "lost"]),
                            ),
                            _connector="OR",
                        ),
                        name="shift_ending",
                    )
                ],
            },
        ),
    ]
