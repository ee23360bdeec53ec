"""People, workspaces, teams, agents and their keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Q

from reviewhub.accounts.fields import FoldedName
from reviewhub.core.ids import uuid7


class PersonManager(BaseUserManager["Person"]):
    """Makes people; used by first start and invitations."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> Person:
        """A person who signs in with `email` (compared in lower case); no password means none fits yet."""
        person = self.model(email=email.strip().lower(), **fields)
        person.set_password(password)
        person.save(using=self._db)
        return person


class Person(AbstractBaseUser):
    """Somebody who signs in. What they may do is said by their memberships."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120)
    is_active = models.BooleanField(default=True)
    must_change_password = models.BooleanField(default=False)
    single_keys = models.BooleanField(default=True)
    # The zone that they read times in, by its IANA name: of the browser last seen, unless they chose one.
    zone = models.CharField(max_length=64, blank=True)
    zone_is_chosen = models.BooleanField(default=False)
    theme = models.CharField(max_length=5, blank=True, choices=[("light", "light"), ("dark", "dark")])
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]
    objects: ClassVar[PersonManager] = PersonManager()

    def __str__(self) -> str:
        return self.name


class Workspace(models.Model):
    """The tenant boundary: every row belongs to one, nothing crosses."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=120)
    request_numbers = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Team(models.Model):
    """People who look after the same agents or decide the same requests."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="teams")
    name = models.CharField(max_length=120)
    folded = FoldedName()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        # Finance and finance would be two teams that nobody can tell apart.
        constraints = [models.UniqueConstraint(fields=["workspace", "folded"], name="team_name_once")]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do: `accounts.permissions` says it in full."""

    REVIEWER = "reviewer"
    MANAGER = "manager"
    ADMIN = "admin"


class Member(models.Model):
    """A person in a workspace."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="members")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    teams: models.ManyToManyField[Team, Any] = models.ManyToManyField(Team, related_name="members")
    is_active = models.BooleanField(default=True)
    # A session in which the password was last shown before this may nothing in the workspace.
    sessions_since = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "person"], name="member_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="member_role"),
        ]

    def __str__(self) -> str:
        return f"{self.person.name} ({self.role})"

    def takes(self, signed_in_at: datetime | None) -> bool:
        """Whether a session in which the password was last shown then counts in this workspace."""
        if self.sessions_since is None:
            return True
        return signed_in_at is not None and signed_in_at > self.sessions_since


class Delegation(models.Model):
    """One member votes in the place of another for a while, in that one's teams; `ended_at` is set when it was ended
    early. Rows stay: the record names them."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="delegations")
    to = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="stands_in")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=models.F("starts_at")), name="delegation_times"),
            models.CheckConstraint(condition=~Q(member=models.F("to")), name="delegation_to_another"),
        ]

    def __str__(self) -> str:
        return f"{self.member} to {self.to}"


class SavedView(models.Model):
    """What a member narrows a page down to, under a name of their own: nobody else sees it."""

    class Page(models.TextChoices):
        QUEUE = "queue"
        AUDIT = "audit"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    member = models.ForeignKey(Member, on_delete=models.PROTECT, related_name="views")
    page = models.CharField(max_length=10, choices=Page.choices)
    name = models.CharField(max_length=120)
    folded = FoldedName()
    # As the page's address has it, without the question mark.
    query = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["member", "page", "folded"], name="view_name_once"),
            models.CheckConstraint(condition=Q(page__in=["queue", "audit"]), name="view_page"),
        ]

    def __str__(self) -> str:
        return self.name


class Agent(models.Model):
    """A registered program. It can ask, never decide."""

    class Runner(models.TextChoices):
        """How a run of this agent goes on after a pause."""

        POLL = "poll"
        HOSTED = "hosted"

    class Validation(models.TextChoices):
        """What becomes of a state that is not what its schema says. An agent may ask for more, and never for less."""

        STRICT = "strict"
        WARN = "warn"
        OFF = "off"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="agents")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="agents")
    owner = models.ForeignKey(Member, null=True, on_delete=models.SET_NULL, related_name="agents")
    name = models.CharField(max_length=120)
    folded = FoldedName()
    description = models.TextField(blank=True)
    runner = models.CharField(max_length=10, choices=Runner.choices, default=Runner.POLL)
    graph = models.CharField(max_length=200, blank=True)
    trusted_claims = models.BooleanField(default=False)
    state_validation = models.CharField(max_length=6, choices=Validation.choices, default=Validation.WARN)
    stopped_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "folded"], name="agent_name_once"),
            models.CheckConstraint(
                condition=Q(runner="poll", graph="") | (Q(runner="hosted") & ~Q(graph="")), name="agent_graph"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AgentKey(models.Model):
    """A key of one agent in one environment; only its hash is kept (`accounts.keys`)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="keys")
    name = models.CharField(max_length=120)
    environment = models.CharField(max_length=40, default="production")
    prefix = models.CharField(max_length=20)
    key_hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(Member, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.agent} {self.prefix}"


class SignInFailure(models.Model):
    """A failed sign-in, kept to slow guessing down; swept after a day."""

    account = models.CharField(max_length=254)
    address = models.CharField(max_length=45)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["account", "at"], name="signin_account"),
            models.Index(fields=["address", "at"], name="signin_address"),
        ]

    def __str__(self) -> str:
        return f"{self.account} from {self.address}"
