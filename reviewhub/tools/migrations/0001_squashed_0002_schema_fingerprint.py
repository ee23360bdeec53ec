import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [("tools", "0001_initial"), ("tools", "0002_schema_fingerprint")]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
    ]

    operations = [
        migrations.CreateModel(
            name="Tool",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True)),
                ("schema", models.TextField(blank=True)),
                ("result_schema", models.TextField(blank=True)),
                ("fingerprint", models.CharField(blank=True, max_length=80)),
                ("schema_fingerprint", models.CharField(blank=True, max_length=80)),
                (
                    "effect",
                    models.CharField(
                        choices=[("read", "Read"), ("idempotent", "Idempotent"), ("once", "Once")],
                        default="once",
                        max_length=10,
                    ),
                ),
                ("time_limit_seconds", models.PositiveIntegerField(default=300)),
                ("retry", models.TextField(default="{}")),
                ("registered_at", models.DateTimeField(null=True)),
                (
                    "risk",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("low", "Low"),
                            ("medium", "Medium"),
                            ("high", "High"),
                            ("critical", "Critical"),
                        ],
                        max_length=8,
                    ),
                ),
                ("sentence", models.CharField(blank=True, max_length=400)),
                ("first_seen_at", models.DateTimeField(auto_now_add=True)),
                ("last_seen_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="tools", to="accounts.agent"
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
                    models.UniqueConstraint(fields=("agent", "name"), name="tool_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("effect__in", ["read", "idempotent", "once"])), name="tool_effect"
                    ),
                ],
            },
        ),
    ]
