import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("resumptions", "0001_initial"),
        ("resumptions", "0002_failures"),
        ("resumptions", "0003_taken_at"),
        ("resumptions", "0004_children"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("runs", "0001_squashed_0009_words"),
        ("toolcalls", "0001_squashed_0010_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="Resumption",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("pause_version", models.PositiveIntegerField(default=0)),
                ("kind", models.CharField(max_length=10)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("claimed", "Claimed"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("abandoned", "Abandoned"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("due_at", models.DateTimeField()),
                ("for_children", models.BooleanField(default=False)),
                ("taken_at", models.DateTimeField(null=True)),
                ("lease_owner", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="resumptions",
                        to="runs.branch",
                    ),
                ),
                (
                    "pause",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="resumptions",
                        to="toolcalls.pause",
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
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "claimed"])),
                        fields=["due_at"],
                        name="resumption_due",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pause", "pause_version"), name="resumption_settlement_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "claimed"])),
                        fields=("branch",),
                        name="resumption_open_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Failure",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attempt", models.PositiveIntegerField()),
                ("place", models.CharField(max_length=80)),
                ("owner", models.CharField(blank=True, max_length=120)),
                ("error", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                ("again_at", models.DateTimeField(null=True)),
                (
                    "resumption",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="failures",
                        to="resumptions.resumption",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("resumption", "attempt"), name="failure_of_attempt_once")
                ],
            },
        ),
    ]
