import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_session_epoch"),
        ("accounts", "0003_names_once_in_any_case"),
        ("accounts", "0004_state_validation"),
        ("accounts", "0005_names_folded_here"),
        ("accounts", "0006_delegation"),
        ("accounts", "0007_sessions_end_by_workspace"),
        ("accounts", "0008_saved_view"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Person",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("is_active", models.BooleanField(default=True)),
                ("must_change_password", models.BooleanField(default=False)),
                ("single_keys", models.BooleanField(default=True)),
                (
                    "theme",
                    models.CharField(
                        blank=True, choices=[("light", "light"), ("dark", "dark")], max_length=5
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("folded", models.CharField(editable=False, max_length=400)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Workspace",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("slug", models.SlugField(max_length=40, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("request_numbers", models.BigIntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Member",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("reviewer", "Reviewer"), ("manager", "Manager"), ("admin", "Admin")],
                        max_length=10,
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("sessions_since", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("teams", models.ManyToManyField(related_name="members", to="accounts.team")),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="members",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "person"), name="member_once"),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["reviewer", "manager", "admin"])), name="member_role"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SignInFailure",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("account", models.CharField(max_length=254)),
                ("address", models.CharField(max_length=45)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "at"], name="signin_account"),
                    models.Index(fields=["address", "at"], name="signin_address"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("folded", models.CharField(editable=False, max_length=400)),
                ("description", models.TextField(blank=True)),
                (
                    "runner",
                    models.CharField(
                        choices=[("poll", "Poll"), ("hosted", "Hosted")], default="poll", max_length=10
                    ),
                ),
                ("graph", models.CharField(blank=True, max_length=200)),
                ("trusted_claims", models.BooleanField(default=False)),
                (
                    "state_validation",
                    models.CharField(
                        choices=[("strict", "Strict"), ("warn", "Warn"), ("off", "Off")],
                        default="warn",
                        max_length=6,
                    ),
                ),
                ("stopped_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="agents",
                        to="accounts.member",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="agents", to="accounts.team"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="agents",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "folded"), name="agent_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("graph", ""), ("runner", "poll")),
                            models.Q(("runner", "hosted"), models.Q(("graph", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="agent_graph",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("page", models.CharField(choices=[("queue", "Queue"), ("audit", "Audit")], max_length=10)),
                ("name", models.CharField(max_length=120)),
                ("folded", models.CharField(editable=False, max_length=400)),
                ("query", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="views",
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
                "constraints": [
                    models.UniqueConstraint(fields=("member", "page", "folded"), name="view_name_once"),
                    models.CheckConstraint(
                        condition=models.Q(("page__in", ["queue", "audit"])), name="view_page"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Delegation",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="delegations",
                        to="accounts.member",
                    ),
                ),
                (
                    "to",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="stands_in",
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="delegation_times"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("member", models.F("to")), _negated=True),
                        name="delegation_to_another",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("environment", models.CharField(default="production", max_length=40)),
                ("prefix", models.CharField(max_length=20)),
                ("key_hash", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="keys", to="accounts.agent"
                    ),
                ),
                (
                    "made_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
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
        ),
        migrations.AddField(
            model_name="team",
            name="workspace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="teams", to="accounts.workspace"
            ),
        ),
        migrations.AddConstraint(
            model_name="team",
            constraint=models.UniqueConstraint(fields=("workspace", "folded"), name="team_name_once"),
        ),
    ]
