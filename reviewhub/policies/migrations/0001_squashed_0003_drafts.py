import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [("policies", "0001_initial"), ("policies", "0002_knowntool"), ("policies", "0003_drafts")]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
    ]

    operations = [
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("rules", models.TextField()),
                ("note", models.CharField(blank=True, max_length=400)),
                ("author_name", models.CharField(max_length=200)),
                ("restores", models.PositiveIntegerField(null=True)),
                ("published_at", models.DateTimeField(auto_now_add=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="policy_versions",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "number"), name="policy_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="KnownTool",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("schema_fingerprint", models.CharField(max_length=80)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.agent"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="known_tools",
                        to="policies.policyversion",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("version", "agent", "name"), name="known_tool_once"),
                    models.CheckConstraint(
                        condition=models.Q(("schema_fingerprint", ""), _negated=True),
                        name="known_tool_registered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PolicyDraft",
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
                            ("draft", "Draft"),
                            ("shadow", "Shadow"),
                            ("published", "Published"),
                            ("discarded", "Discarded"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("base", models.PositiveIntegerField()),
                ("rules", models.TextField()),
                ("note", models.CharField(blank=True, max_length=400)),
                ("author_name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("shadow_since", models.DateTimeField(null=True)),
                ("published_as", models.PositiveIntegerField(null=True)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="policy_drafts",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["draft", "shadow"])),
                        fields=("workspace",),
                        name="policy_draft_open_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["draft", "shadow", "published", "discarded"])),
                        name="policy_draft_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "shadow"), _negated=True),
                            ("shadow_since__isnull", False),
                            _connector="OR",
                        ),
                        name="policy_draft_shadow_since",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("published_as__isnull", False), ("state", "published")),
                            models.Q(
                                models.Q(("state", "published"), _negated=True),
                                ("published_as__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="policy_draft_published_as",
                    ),
                ],
            },
        ),
    ]
