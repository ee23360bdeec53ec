"""What people are asked: review requests, votes, comments, questions, and the later look at what ran unasked."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from reviewhub.accounts.models import Agent, Member, Team, Workspace
from reviewhub.core.ids import uuid7
from reviewhub.core.transitions import Stateful
from reviewhub.reviews.states import (
    SEVERITIES,
    FollowUpKind,
    FollowUpState,
    PostReviewState,
    RequestState,
)
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import ToolCall
from reviewhub.tools.models import Risk


class ReviewRequest(Stateful):
    """One tool call waiting for people, with everything that the queue shows, so that a row needs no join to arguments.

    `kind` is `approval`, or `unknown` for a call that started and whose outcome nobody knows.
    """

    class Kind(models.TextChoices):
        APPROVAL = "approval"
        UNKNOWN = "unknown"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    number = models.BigIntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.APPROVAL)
    tool_call = models.ForeignKey(ToolCall, on_delete=models.PROTECT, related_name="requests")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="requests")
    branch = models.ForeignKey(Branch, on_delete=models.PROTECT, related_name="requests")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="requests")
    # The teams that may see and decide it: those that its requirement names or once named.
    teams: models.ManyToManyField[Team, Any] = models.ManyToManyField(Team, related_name="requests")
    state = models.CharField(max_length=16, choices=RequestState.choices, default=RequestState.PENDING)
    version = models.PositiveIntegerField(default=1)
    digest = models.CharField(max_length=80)
    again_of = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="asked_again")
    # Equal calls on other branches of the run that had acted when people were asked, and that the request names.
    repeats: models.ManyToManyField[ToolCall, Any] = models.ManyToManyField(ToolCall, related_name="+")
    tool_name = models.CharField(max_length=200)
    agent_name = models.CharField(max_length=120)
    environment = models.CharField(max_length=40)
    # Whom its run, or one above it, acts for, where the agent wrote that in odd characters (`reviews.named`).
    acts_for = models.TextField(blank=True)
    risk = models.CharField(max_length=8, choices=Risk.choices)
    # 0 low to 3 critical: what the queue sorts by.
    risk_rank = models.PositiveSmallIntegerField(default=0)
    # JSON text: the parts of the sentence (text, emphasis, hidden characters) as `core.display.sentence` makes them.
    sentence = models.TextField()
    plain_sentence = models.TextField()
    failed_checks = models.PositiveSmallIntegerField(default=0)
    requirement = models.TextField()
    approvals_needed = models.PositiveSmallIntegerField(default=1)
    approvals = models.PositiveSmallIntegerField(default=0)
    # Whose turn it is, in words.
    waits_for = models.CharField(max_length=400, blank=True)
    # The same by the ids of the teams, with those that stand in for them, each between two spaces.
    asks = models.TextField(blank=True)
    on_timeout = models.CharField(max_length=5, default="deny")
    deadline_at = models.DateTimeField(null=True)
    # When the next reminder and the next step of the escalation are due, how many steps were taken, and whether one of
    # them asked the managers.
    remind_at = models.DateTimeField(null=True)
    escalate_at = models.DateTimeField(null=True)
    escalated = models.PositiveSmallIntegerField(default=0)
    asks_managers = models.BooleanField(default=False)
    claimed_by = models.ForeignKey(Member, null=True, on_delete=models.SET_NULL, related_name="+")
    claimed_until = models.DateTimeField(null=True)
    decided_by_name = models.CharField(max_length=200, blank=True)
    # Who made the version that was approved, of one that was edited; the last vote may be somebody else's.
    edited_by_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "number"], name="request_number_once"),
            models.UniqueConstraint(
                fields=["tool_call"], condition=Q(state="pending"), name="request_pending_once"
            ),
            models.CheckConstraint(
                condition=Q(state="pending", decided_at__isnull=True)
                | (~Q(state="pending") & Q(decided_at__isnull=False)),
                name="request_decided_at",
            ),
            models.CheckConstraint(condition=Q(state__in=RequestState.values), name="request_state"),
            models.CheckConstraint(
                condition=Q(state="edited") | Q(edited_by_name=""), name="request_edited_by"
            ),
            models.CheckConstraint(
                condition=Q(kind="approval") | Q(deadline_at__isnull=True),
                name="request_unknown_never_expires",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "deadline_at", "id"],
                name="request_queue",
                condition=Q(state="pending"),
            ),
            # What waits for one tool, however much waits for others.
            models.Index(
                fields=["workspace", "tool_name", "deadline_at", "id"],
                name="request_tool",
                condition=Q(state="pending"),
            ),
            # The same for one risk: what is critical is rare.
            models.Index(
                fields=["workspace", "risk", "deadline_at", "id"],
                name="request_risk",
                condition=Q(state="pending"),
            ),
            models.Index(fields=["deadline_at"], name="request_due", condition=Q(state="pending")),
            # Few: what nobody answered, so that the managers are asked.
            models.Index(
                fields=["workspace", "deadline_at"],
                name="request_managers",
                condition=Q(state="pending", asks_managers=True),
            ),
            models.Index(
                fields=["remind_at"],
                name="request_remind",
                condition=Q(state="pending", remind_at__isnull=False),
            ),
            models.Index(
                fields=["escalate_at"],
                name="request_escalate",
                condition=Q(state="pending", escalate_at__isnull=False),
            ),
            models.Index(fields=["workspace", "-number"], name="request_newest"),
            models.Index(fields=["branch"], name="request_branch"),
            # What a day's figures are counted from.
            models.Index(fields=["created_at"], name="request_created"),
            models.Index(fields=["decided_at"], name="request_decided", condition=~Q(state="pending")),
            # How many requests of an agent wait.
            models.Index(fields=["agent", "kind"], name="request_waiting", condition=Q(state="pending")),
            # What people said of a tool's calls before.
            models.Index(
                fields=["agent", "tool_name", "-decided_at"],
                name="request_alike",
                condition=Q(state__in=["approved", "edited", "rejected", "responded"]),
            ),
            # What people said last about exactly one call.
            models.Index(
                fields=["agent", "digest", "-decided_at"],
                name="request_last_word",
                condition=Q(state__in=["approved", "edited", "rejected"]),
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.number} {self.plain_sentence}"


class Look(models.Model):
    """A member has a request open, until then at most (`reviews.look`)."""

    request = models.ForeignKey(ReviewRequest, on_delete=models.PROTECT, related_name="+")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "member"], name="look_once")]
        indexes = [models.Index(fields=["until"], name="look_until")]

    def __str__(self) -> str:
        return f"{self.member} looks until {self.until}"


class Asker(models.Model):
    """An agent that asked a team about a tool once: what the filters of the queue offer beside a team's own agents."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="+")
    agent_name = models.CharField(max_length=120)
    tool_name = models.CharField(max_length=200)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "agent_name", "tool_name"], name="asker_once")]

    def __str__(self) -> str:
        return f"{self.agent_name} {self.tool_name}"


class Review(models.Model):
    """One person's vote on one version. A void vote stays on record and counts no more.

    `seats` are the stages it may count for, as JSON; empty for votes from before there were stages: they count for any.
    `for_teams` and `in_place_of` say the same in words. `reason` is the name of the preset one that was chosen.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    request = models.ForeignKey(ReviewRequest, on_delete=models.PROTECT, related_name="reviews")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="reviews")
    name = models.CharField(max_length=200)
    verdict = models.CharField(max_length=16)
    version = models.PositiveIntegerField()
    digest = models.CharField(max_length=80)
    message = models.TextField(blank=True)
    note = models.TextField(blank=True)
    reason = models.CharField(max_length=80, blank=True)
    seats = models.TextField(blank=True)
    for_teams = models.CharField(max_length=400, blank=True)
    in_place_of = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    voided_at = models.DateTimeField(null=True)
    voided_because = models.CharField(max_length=60, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request", "member"], condition=Q(voided_at__isnull=True), name="review_one_vote"
            )
        ]
        indexes = [models.Index(fields=["created_at"], name="review_created")]

    def __str__(self) -> str:
        return f"{self.name} {self.verdict}"


class Comment(models.Model):
    """What somebody wrote on a request, for the other reviewers."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    request = models.ForeignKey(ReviewRequest, on_delete=models.PROTECT, related_name="comments")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.text[:60]


class Question(models.Model):
    """What a reviewer asks the agent; the request stays pending, deadline and version unchanged."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    request = models.ForeignKey(ReviewRequest, on_delete=models.PROTECT, related_name="questions")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    text = models.TextField()
    answer = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answer__isnull=True, answered_at__isnull=True)
                | Q(answer__isnull=False, answered_at__isnull=False),
                name="question_answered_at",
            )
        ]
        indexes = [
            models.Index(fields=["agent"], name="question_open", condition=Q(answered_at__isnull=True))
        ]

    def __str__(self) -> str:
        return self.text[:60]


class RejectReason(models.Model):
    """A reason for rejections that admins preset: a name for people and the record, the words that agents are told."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    place = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=80)
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="reject_reason_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class Snooze(models.Model):
    """A member does not want to see a request in their queue before `until`, as long as it is what it is."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    request = models.ForeignKey(
        ReviewRequest, on_delete=models.CASCADE, related_name="snoozes", db_index=False
    )
    member = models.ForeignKey(Member, on_delete=models.CASCADE, related_name="+")
    version = models.PositiveIntegerField()
    until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "member"], name="snooze_once"),
        ]
        indexes = [models.Index(fields=["until"], name="snooze_until")]

    def __str__(self) -> str:
        return f"until {self.until}"


class PostReview(Stateful):
    """The later review of an action that ran without waiting, with everything that the list shows."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    tool_call = models.OneToOneField(ToolCall, on_delete=models.PROTECT, related_name="post_review")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="post_reviews")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    tool_name = models.CharField(max_length=200)
    agent_name = models.CharField(max_length=120)
    environment = models.CharField(max_length=40)
    risk = models.CharField(max_length=8, choices=Risk.choices)
    # What the list sorts by: 0 low to 3 critical, 4 for what ran without the approval that it needed.
    rank = models.PositiveSmallIntegerField()
    # As those of a request.
    sentence = models.TextField()
    plain_sentence = models.TextField()
    state = models.CharField(max_length=8, choices=PostReviewState.choices, default=PostReviewState.DRAWN)
    drawn_because = models.CharField(max_length=400)
    # Of a hundred such calls so many are drawn, and this one's number among them, see `sampling`; none for what was
    # drawn whatever its number is.
    percent = models.PositiveSmallIntegerField(default=100)
    number = models.PositiveSmallIntegerField(null=True)
    severity = models.CharField(max_length=8, blank=True)
    note = models.TextField(blank=True)
    member = models.ForeignKey(Member, null=True, on_delete=models.PROTECT, related_name="+")
    member_name = models.CharField(max_length=200, blank=True)
    drawn_at = models.DateTimeField(auto_now_add=True)
    reviewed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="drawn", reviewed_at__isnull=True)
                | (~Q(state="drawn") & Q(reviewed_at__isnull=False)),
                name="post_review_reviewed_at",
            ),
            models.CheckConstraint(condition=Q(state__in=PostReviewState.values), name="post_review_state"),
            models.CheckConstraint(
                condition=~Q(state="flagged") | Q(severity__in=SEVERITIES), name="post_review_severity"
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "-rank", "id"], name="post_review_triage", condition=Q(state="drawn")
            ),
            models.Index(
                fields=["agent", "-rank", "id"], name="post_review_agent", condition=Q(state="drawn")
            ),
            models.Index(
                fields=["workspace", "tool_name", "-rank", "id"],
                name="post_review_tool",
                condition=Q(state="drawn"),
            ),
            # Of all states: SQLite takes none of those that leave one out.
            models.Index(
                fields=["workspace", "state", "-reviewed_at", "-id"],
                name="post_review_done",
            ),
            models.Index(
                fields=["agent", "state", "-reviewed_at", "-id"],
                name="post_review_agent_done",
            ),
            models.Index(
                fields=["workspace", "tool_name", "state", "-reviewed_at", "-id"],
                name="post_review_tool_done",
            ),
            models.Index(fields=["workspace", "reviewed_at"], name="post_review_reviewed"),
        ]

    def __str__(self) -> str:
        return f"post-review {self.state}"


class FollowUp(Stateful):
    """What came of a flag. A mail and a fork are done when they are made; what is handed on, and a rule that is
    suggested, stay open until somebody closes them."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    post_review = models.ForeignKey(PostReview, on_delete=models.PROTECT, related_name="follow_ups")
    kind = models.CharField(max_length=10, choices=FollowUpKind.choices)
    state = models.CharField(max_length=8, choices=FollowUpState.choices)
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    # To whom it was handed on, or who was written to, in words.
    to = models.ForeignKey(Member, null=True, on_delete=models.PROTECT, related_name="+")
    to_names = models.CharField(max_length=400, blank=True)
    branch = models.ForeignKey(Branch, null=True, on_delete=models.PROTECT, related_name="+")
    # The severity of the flag, 0 low to 2 high, which it keeps as long as something follows it: lists sort by it.
    rank = models.PositiveSmallIntegerField(default=0)
    # The guardrail that is suggested, as JSON of the policy's text.
    rule = models.TextField(blank=True)
    note = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True)
    done_by_name = models.CharField(max_length=200, blank=True)
    done_note = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", done_at__isnull=True) | Q(state="done", done_at__isnull=False),
                name="follow_up_done_at",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["escalate", "draft_rule"]) | Q(state="done"),
                name="follow_up_open_kinds",
            ),
            models.CheckConstraint(condition=Q(kind="escalate") | Q(to__isnull=True), name="follow_up_to"),
            models.UniqueConstraint(
                fields=["post_review", "kind"], condition=Q(state="open"), name="follow_up_open_once"
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "id"], name="follow_up_open", condition=Q(state="open")),
            models.Index(fields=["to", "-rank", "id"], name="follow_up_handed", condition=Q(state="open")),
            models.Index(
                fields=["workspace", "-rank", "id"],
                name="follow_up_escalated",
                condition=Q(state="open", kind="escalate"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"
