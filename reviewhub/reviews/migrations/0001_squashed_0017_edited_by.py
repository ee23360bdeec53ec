import django.db.models.deletion
from django.db import migrations, models

import reviewhub.core.ids


class Migration(migrations.Migration):
    """Everything at once, for a new installation; one that is older goes on by what this replaces."""

    replaces = [
        ("reviews", "0001_initial"),
        ("reviews", "0002_repeats"),
        ("reviews", "0003_stages"),
        ("reviews", "0004_last_word"),
        ("reviews", "0005_waiting"),
        ("reviews", "0006_whose_turn"),
        ("reviews", "0007_look"),
        ("reviews", "0008_figures"),
        ("reviews", "0009_looks_stand_alone"),
        ("reviews", "0010_triage"),
        ("reviews", "0011_reasons_snoozes_alike"),
        ("reviews", "0012_tool_waits"),
        ("reviews", "0013_snooze_until"),
        ("reviews", "0014_risk_waits"),
        ("reviews", "0015_managers_asked"),
        ("reviews", "0016_look_filters"),
        ("reviews", "0017_edited_by"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_squashed_0008_saved_view"),
        ("runs", "0001_squashed_0009_words"),
        ("toolcalls", "0001_squashed_0010_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="PostReview",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("tool_name", models.CharField(max_length=200)),
                ("agent_name", models.CharField(max_length=120)),
                ("environment", models.CharField(max_length=40)),
                (
                    "risk",
                    models.CharField(
                        choices=[
                            ("low", "Low"),
                            ("medium", "Medium"),
                            ("high", "High"),
                            ("critical", "Critical"),
                        ],
                        max_length=8,
                    ),
                ),
                ("rank", models.PositiveSmallIntegerField()),
                ("sentence", models.TextField()),
                ("plain_sentence", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("drawn", "Drawn"),
                            ("fine", "Fine"),
                            ("flagged", "Flagged"),
                            ("skipped", "Skipped"),
                        ],
                        default="drawn",
                        max_length=8,
                    ),
                ),
                ("drawn_because", models.CharField(max_length=400)),
                ("percent", models.PositiveSmallIntegerField(default=100)),
                ("number", models.PositiveSmallIntegerField(null=True)),
                ("severity", models.CharField(blank=True, max_length=8)),
                ("note", models.TextField(blank=True)),
                ("member_name", models.CharField(blank=True, max_length=200)),
                ("drawn_at", models.DateTimeField(auto_now_add=True)),
                ("reviewed_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.agent"
                    ),
                ),
                (
                    "member",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.member",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="post_reviews",
                        to="runs.run",
                    ),
                ),
                (
                    "tool_call",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="post_review",
                        to="toolcalls.toolcall",
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
                        condition=models.Q(("state", "drawn")),
                        fields=["workspace", "-rank", "id"],
                        name="post_review_triage",
                    ),
                    models.Index(
                        condition=models.Q(("state", "drawn")),
                        fields=["agent", "-rank", "id"],
                        name="post_review_agent",
                    ),
                    models.Index(
                        condition=models.Q(("state", "drawn")),
                        fields=["workspace", "tool_name", "-rank", "id"],
                        name="post_review_tool",
                    ),
                    models.Index(
                        fields=["workspace", "state", "-reviewed_at", "-id"], name="post_review_done"
                    ),
                    models.Index(
                        fields=["agent", "state", "-reviewed_at", "-id"], name="post_review_agent_done"
                    ),
                    models.Index(
                        fields=["workspace", "tool_name", "state", "-reviewed_at", "-id"],
                        name="post_review_tool_done",
                    ),
                    models.Index(fields=["workspace", "reviewed_at"], name="post_review_reviewed"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("reviewed_at__isnull", True), ("state", "drawn")),
                            models.Q(
                                models.Q(("state", "drawn"), _negated=True), ("reviewed_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="post_review_reviewed_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["drawn", "fine", "flagged", "skipped"])),
                        name="post_review_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "flagged"), _negated=True),
                            ("severity__in", ("low", "medium", "high")),
                            _connector="OR",
                        ),
                        name="post_review_severity",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FollowUp",
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
                        choices=[
                            ("notify", "Notify"),
                            ("draft_rule", "Draft Rule"),
                            ("fork", "Fork"),
                            ("escalate", "Escalate"),
                        ],
                        max_length=10,
                    ),
                ),
                ("state", models.CharField(choices=[("open", "Open"), ("done", "Done")], max_length=8)),
                ("name", models.CharField(max_length=200)),
                ("to_names", models.CharField(blank=True, max_length=400)),
                ("rule", models.TextField(blank=True)),
                ("note", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("done_by_name", models.CharField(blank=True, max_length=200)),
                ("done_note", models.TextField(blank=True)),
                (
                    "branch",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="runs.branch",
                    ),
                ),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.member"
                    ),
                ),
                (
                    "to",
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
                (
                    "post_review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="follow_ups",
                        to="reviews.postreview",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "open")),
                        fields=["workspace", "id"],
                        name="follow_up_open",
                    ),
                    models.Index(
                        condition=models.Q(("state", "open")), fields=["to", "id"], name="follow_up_handed"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("done_at__isnull", True), ("state", "open")),
                            models.Q(("done_at__isnull", False), ("state", "done")),
                            _connector="OR",
                        ),
                        name="follow_up_done_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["escalate", "draft_rule"]), ("state", "done"), _connector="OR"
                        ),
                        name="follow_up_open_kinds",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind", "escalate"), ("to__isnull", True), _connector="OR"),
                        name="follow_up_to",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")),
                        fields=("post_review", "kind"),
                        name="follow_up_open_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RejectReason",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("place", models.PositiveSmallIntegerField()),
                ("name", models.CharField(max_length=80)),
                ("text", models.TextField()),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.workspace"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "name"), name="reject_reason_name_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewRequest",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("number", models.BigIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("approval", "Approval"), ("unknown", "Unknown")],
                        default="approval",
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("approved", "Approved"),
                            ("edited", "Edited"),
                            ("rejected", "Rejected"),
                            ("responded", "Responded"),
                            ("expired", "Expired"),
                            ("withdrawn", "Withdrawn"),
                            ("cancelled", "Cancelled"),
                            ("happened", "Happened"),
                            ("did_not_happen", "Did Not Happen"),
                            ("skipped", "Skipped"),
                        ],
                        default="pending",
                        max_length=16,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("digest", models.CharField(max_length=80)),
                ("tool_name", models.CharField(max_length=200)),
                ("agent_name", models.CharField(max_length=120)),
                ("environment", models.CharField(max_length=40)),
                (
                    "risk",
                    models.CharField(
                        choices=[
                            ("low", "Low"),
                            ("medium", "Medium"),
                            ("high", "High"),
                            ("critical", "Critical"),
                        ],
                        max_length=8,
                    ),
                ),
                ("risk_rank", models.PositiveSmallIntegerField(default=0)),
                ("sentence", models.TextField()),
                ("plain_sentence", models.TextField()),
                ("failed_checks", models.PositiveSmallIntegerField(default=0)),
                ("requirement", models.TextField()),
                ("approvals_needed", models.PositiveSmallIntegerField(default=1)),
                ("approvals", models.PositiveSmallIntegerField(default=0)),
                ("waits_for", models.CharField(blank=True, max_length=400)),
                ("asks", models.TextField(blank=True)),
                ("on_timeout", models.CharField(default="deny", max_length=5)),
                ("deadline_at", models.DateTimeField(null=True)),
                ("remind_at", models.DateTimeField(null=True)),
                ("escalate_at", models.DateTimeField(null=True)),
                ("escalated", models.PositiveSmallIntegerField(default=0)),
                ("asks_managers", models.BooleanField(default=False)),
                ("claimed_until", models.DateTimeField(null=True)),
                ("decided_by_name", models.CharField(blank=True, max_length=200)),
                ("edited_by_name", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "again_of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="asked_again",
                        to="reviews.reviewrequest",
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="accounts.agent",
                    ),
                ),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="requests", to="runs.branch"
                    ),
                ),
                (
                    "claimed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.member",
                    ),
                ),
                ("repeats", models.ManyToManyField(related_name="+", to="toolcalls.toolcall")),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="requests", to="runs.run"
                    ),
                ),
                ("teams", models.ManyToManyField(related_name="requests", to="accounts.team")),
                (
                    "tool_call",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="toolcalls.toolcall",
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
                        condition=models.Q(("state", "pending")),
                        fields=["workspace", "deadline_at", "id"],
                        name="request_queue",
                    ),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["workspace", "tool_name", "deadline_at", "id"],
                        name="request_tool",
                    ),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["workspace", "risk", "deadline_at", "id"],
                        name="request_risk",
                    ),
                    models.Index(
                        condition=models.Q(("state", "pending")), fields=["deadline_at"], name="request_due"
                    ),
                    models.Index(
                        condition=models.Q(("asks_managers", True), ("state", "pending")),
                        fields=["workspace", "deadline_at"],
                        name="request_managers",
                    ),
                    models.Index(
                        condition=models.Q(("remind_at__isnull", False), ("state", "pending")),
                        fields=["remind_at"],
                        name="request_remind",
                    ),
                    models.Index(
                        condition=models.Q(("escalate_at__isnull", False), ("state", "pending")),
                        fields=["escalate_at"],
                        name="request_escalate",
                    ),
                    models.Index(fields=["workspace", "-number"], name="request_newest"),
                    models.Index(fields=["branch"], name="request_branch"),
                    models.Index(fields=["created_at"], name="request_created"),
                    models.Index(
                        condition=models.Q(("state", "pending"), _negated=True),
                        fields=["decided_at"],
                        name="request_decided",
                    ),
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["agent", "kind"],
                        name="request_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["approved", "edited", "rejected", "responded"])),
                        fields=["agent", "tool_name", "-decided_at"],
                        name="request_alike",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["approved", "edited", "rejected"])),
                        fields=["agent", "digest", "-decided_at"],
                        name="request_last_word",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("workspace", "number"), name="request_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "pending")),
                        fields=("tool_call",),
                        name="request_pending_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "pending")),
                            models.Q(
                                models.Q(("state", "pending"), _negated=True), ("decided_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="request_decided_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "pending",
                                    "approved",
                                    "edited",
                                    "rejected",
                                    "responded",
                                    "expired",
                                    "withdrawn",
                                    "cancelled",
                                    "happened",
                                    "did_not_happen",
                                    "skipped",
                                ],
                            )
                        ),
                        name="request_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state", "edited"), ("edited_by_name", ""), _connector="OR"),
                        name="request_edited_by",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind", "approval"), ("deadline_at__isnull", True), _connector="OR"
                        ),
                        name="request_unknown_never_expires",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("verdict", models.CharField(max_length=16)),
                ("version", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=80)),
                ("message", models.TextField(blank=True)),
                ("note", models.TextField(blank=True)),
                ("reason", models.CharField(blank=True, max_length=80)),
                ("seats", models.TextField(blank=True)),
                ("for_teams", models.CharField(blank=True, max_length=400)),
                ("in_place_of", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("voided_at", models.DateTimeField(null=True)),
                ("voided_because", models.CharField(blank=True, max_length=60)),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="accounts.member",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="reviews.reviewrequest",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="review_created")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("voided_at__isnull", True)),
                        fields=("request", "member"),
                        name="review_one_vote",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("answer", models.TextField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.agent"
                    ),
                ),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.member"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.workspace"
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="questions",
                        to="reviews.reviewrequest",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("answered_at__isnull", True)),
                        fields=["agent"],
                        name="question_open",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer__isnull", True), ("answered_at__isnull", True)),
                            models.Q(("answer__isnull", False), ("answered_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="question_answered_at",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Look",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("until", models.DateTimeField()),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.member"
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.reviewrequest",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["until"], name="look_until")],
                "constraints": [models.UniqueConstraint(fields=("request", "member"), name="look_once")],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.member"
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comments",
                        to="reviews.reviewrequest",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Snooze",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=reviewhub.core.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("until", models.DateTimeField()),
                (
                    "member",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.member"
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="snoozes",
                        to="reviews.reviewrequest",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["until"], name="snooze_until")],
                "constraints": [models.UniqueConstraint(fields=("request", "member"), name="snooze_once")],
            },
        ),
        migrations.CreateModel(
            name="Asker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("agent_name", models.CharField(max_length=120)),
                ("tool_name", models.CharField(max_length=200)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.team"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("team", "agent_name", "tool_name"), name="asker_once")
                ],
            },
        ),
    ]
