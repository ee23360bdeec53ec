"""Who may do what: the one function that the API, the pages and the sockets ask.

Pure: it reads the rows it is given and asks the database for nothing but a member's teams, and those of whoever lent
them votes, once. Lists are narrowed by `scope_of`, single things are checked by `require`. What a caller may not even
see is NotFound, so that ids of others tell nothing; what they see but may not do is Forbidden.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from reviewhub.accounts.lent import lent_to
from reviewhub.accounts.models import Agent, AgentKey, Member, Role
from reviewhub.core.errors import Forbidden, NotFound


class Action(StrEnum):
    """Everything that somebody may ask for."""

    QUEUE_READ = "queue.read"
    REQUEST_READ = "request.read"
    REQUEST_DECIDE = "request.decide"
    REQUEST_CLAIM = "request.claim"
    REQUEST_COMMENT = "request.comment"
    REQUEST_ASK = "request.ask"
    RUN_READ = "run.read"
    RUN_WRITE = "run.write"
    RUN_START = "run.start"
    RUN_CANCEL = "run.cancel"
    RUN_HALT = "run.halt"
    RUN_RESUME = "run.resume"
    OUTCOME_REPORT = "outcome.report"
    CHECKPOINT_READ = "checkpoint.read"
    CHECKPOINT_FORK = "checkpoint.fork"
    CHECKPOINT_REWRITE = "checkpoint.rewrite"
    CHECKPOINT_PIN = "checkpoint.pin"
    PLAN_RESTORE = "plan.restore"
    POST_REVIEW_GRADE = "post_review.grade"
    QUESTION_ANSWER = "question.answer"
    VOTES_LEND = "votes.lend"
    SECRET_REVEAL = "secret.reveal"  # noqa: S105  an action's name
    AUDIT_READ = "audit.read"
    INSIGHTS_READ = "insights.read"
    POLICY_READ = "policy.read"
    POLICY_EXPLAIN = "policy.explain"
    POLICY_EDIT = "policy.edit"
    GUARDRAILS_EDIT = "guardrails.edit"
    STANDING_READ = "standing.read"
    STANDING_REVOKE = "standing.revoke"
    PEOPLE_READ = "people.read"
    PEOPLE_EDIT = "people.edit"
    AGENTS_READ = "agents.read"
    AGENTS_EDIT = "agents.edit"
    AGENTS_STOP = "agents.stop"
    TOOLS_READ = "tools.read"
    TOOLS_DECLARE = "tools.declare"
    STATES_DECLARE = "states.declare"
    TOOLS_EDIT = "tools.edit"
    RETENTION_READ = "retention.read"
    RETENTION_EDIT = "retention.edit"
    RUN_HOLD = "run.hold"
    RUN_ERASE = "run.erase"


# What an agent's key may do to what is its own agent's. It decides nothing, whoever owns it.
AGENT: Final = frozenset(
    {
        Action.RUN_READ,
        Action.RUN_WRITE,
        Action.RUN_CANCEL,
        Action.OUTCOME_REPORT,
        Action.CHECKPOINT_READ,
        Action.CHECKPOINT_FORK,
        Action.QUESTION_ANSWER,
        Action.POLICY_EXPLAIN,
        Action.TOOLS_READ,
        Action.TOOLS_DECLARE,
        Action.STATES_DECLARE,
    }
)
# What is left of it when the agent is stopped: read, poll, and say how the calls ended that were under way.
STOPPED_AGENT: Final = frozenset(
    {Action.RUN_READ, Action.CHECKPOINT_READ, Action.TOOLS_READ, Action.OUTCOME_REPORT}
)

_SEEING: Final = frozenset(
    {
        Action.QUEUE_READ,
        Action.REQUEST_READ,
        Action.RUN_READ,
        Action.CHECKPOINT_READ,
        Action.POLICY_READ,
        Action.POLICY_EXPLAIN,
        Action.STANDING_READ,
        Action.AGENTS_READ,
        Action.TOOLS_READ,
    }
)
_TALKING: Final = frozenset({Action.REQUEST_COMMENT, Action.REQUEST_ASK, Action.CHECKPOINT_PIN})
_WATCHING: Final = frozenset(
    {
        Action.AUDIT_READ,
        Action.INSIGHTS_READ,
        Action.PEOPLE_READ,
        Action.RETENTION_READ,
        Action.RUN_HOLD,
        Action.POST_REVIEW_GRADE,
    }
)
# What answers for a team: only its members do these, whatever else their role allows.
_DECIDING: Final = frozenset(
    {
        Action.REQUEST_DECIDE,
        Action.REQUEST_CLAIM,
        Action.CHECKPOINT_REWRITE,
        Action.CHECKPOINT_FORK,
        Action.PLAN_RESTORE,
        Action.RUN_RESUME,
        Action.RUN_START,
        Action.SECRET_REVEAL,
    }
)
# What whoever votes in somebody's place may do in that one's teams: see what is asked, and answer it. What a manager
# may do to what was escalated to the managers.
_VOTING: Final = frozenset({Action.REQUEST_DECIDE, Action.REQUEST_CLAIM})
_LENT: Final = _SEEING | _TALKING | _VOTING
_RUNNING: Final = frozenset(
    {
        Action.POLICY_EDIT,
        Action.GUARDRAILS_EDIT,
        Action.PEOPLE_EDIT,
        Action.AGENTS_EDIT,
        Action.AGENTS_STOP,
        Action.TOOLS_EDIT,
        Action.RETENTION_EDIT,
        Action.RUN_ERASE,
    }
)

# What only ever stops something.
_ENDING: Final = frozenset({Action.RUN_CANCEL, Action.RUN_HALT, Action.STANDING_REVOKE})

# Role → what it may do in the teams it belongs to, and what anywhere in its workspace.
IN_OWN_TEAMS: Final[dict[str, frozenset[Action]]] = {
    Role.REVIEWER: _SEEING | _TALKING | _DECIDING | _ENDING | {Action.VOTES_LEND, Action.POST_REVIEW_GRADE},
    Role.MANAGER: frozenset(),
    Role.ADMIN: _DECIDING,
}
ANYWHERE: Final[dict[str, frozenset[Action]]] = {
    Role.REVIEWER: frozenset(),
    Role.MANAGER: _SEEING | _TALKING | _WATCHING,
    Role.ADMIN: _SEEING | _TALKING | _WATCHING | _RUNNING | _ENDING | {Action.VOTES_LEND},
}


class AgentStopped(Forbidden):
    """This agent was stopped. Its keys may read, poll and report outcomes, nothing else."""

    code = "agent_stopped"


@dataclass(frozen=True)
class AgentCaller:
    """A program that showed a key of its agent."""

    key: AgentKey
    agent: Agent

    is_authenticated = True

    @property
    def workspace_id(self) -> uuid.UUID:
        """The workspace that the key is good for."""
        return self.key.workspace_id


@dataclass(frozen=True)
class MemberCaller:
    """A signed-in person, in one of the workspaces they belong to."""

    member: Member

    is_authenticated = True

    @classmethod
    def knowing(cls, member: Member, *, lent: frozenset[uuid.UUID]) -> MemberCaller:
        """One for whom it was read already in which teams they may vote for somebody else."""
        made = cls(member)
        made.__dict__["lent_team_ids"] = lent
        return made

    @property
    def workspace_id(self) -> uuid.UUID:
        """The workspace that the membership is in."""
        return self.member.workspace_id

    @cached_property
    def team_ids(self) -> frozenset[uuid.UUID]:
        """The teams of the member, read once per caller; a caller lives as long as a request."""
        return frozenset(team.pk for team in self.member.teams.all())

    @cached_property
    def lent_team_ids(self) -> frozenset[uuid.UUID]:
        """The teams of those in whose place the member may vote now."""
        return frozenset(team for lent in lent_to(self.member) for team in lent.team_ids)

    @property
    def is_teamless(self) -> bool:
        """Whether this is a reviewer in no team, who therefore sees no run and no request."""
        return self.member.role == Role.REVIEWER and not (self.team_ids or self.lent_team_ids)


Caller = AgentCaller | MemberCaller


@dataclass(frozen=True, kw_only=True)
class Target:
    """What somebody wants to act on.

    `team_ids` are the teams that may see it: of a request those its requirement names or named; of a run its
    agent's team and the teams of its requests; none for what belongs to the whole workspace. `agent_id` is
    the agent whose it is, None for what belongs to no agent. `asks_managers`: a request that nobody answered, so that
    the managers are asked, too.
    """

    workspace_id: uuid.UUID
    team_ids: frozenset[uuid.UUID] = frozenset()
    agent_id: uuid.UUID | None = None
    asks_managers: bool = False


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What a caller's lists are narrowed to; None stands for no bound other than the workspace."""

    workspace_id: uuid.UUID
    team_ids: frozenset[uuid.UUID] | None = None
    agent_id: uuid.UUID | None = None


def allowed(caller: Caller, action: Action, target: Target) -> bool:
    """Whether `caller` may do `action` to `target`."""
    if not sees(caller, target):
        return False
    if isinstance(caller, AgentCaller):
        return action in (STOPPED_AGENT if caller.agent.stopped_at else AGENT)
    role = caller.member.role
    if action in ANYWHERE[role] or (target.asks_managers and role == Role.MANAGER and action in _VOTING):
        return True
    return action in IN_OWN_TEAMS[role] and _concerns(caller, action, target)


def sees(caller: Caller, target: Target) -> bool:
    """Whether `caller` may know that `target` is there."""
    if not _is_active(caller) or target.workspace_id != caller.workspace_id:
        return False
    if isinstance(caller, AgentCaller):
        return target.agent_id in (None, caller.agent.pk)
    if caller.member.role in (Role.MANAGER, Role.ADMIN) or not target.team_ids:
        return True
    return _is_of(target, caller.team_ids) or _is_of(target, caller.lent_team_ids)


def require(caller: Caller, action: Action, target: Target) -> None:
    """Returns when `caller` may do `action` to `target`.

    Raises:
        NotFound: the caller may not know that it is there.
        AgentStopped: the agent could, were it not stopped.
        Forbidden: the caller sees it and may not do this.
    """
    if allowed(caller, action, target):
        return
    if not sees(caller, target):
        raise NotFound()
    if isinstance(caller, AgentCaller) and caller.agent.stopped_at and action in AGENT:
        raise AgentStopped()
    raise Forbidden()


def roles_for(action: Action) -> list[str]:
    """The roles that may do `action`, at least in their own teams."""
    return [role for role in Role.values if action in ANYWHERE[role] | IN_OWN_TEAMS[role]]


def is_for_teams(action: Action) -> bool:
    """Whether only members of a team that something belongs to do this to it, whatever their role."""
    return action in _DECIDING


def scope_of(caller: Caller) -> Scope:
    """What `caller`'s lists hold at most; for somebody inactive that is nothing.

    Raises:
        NotFound: the caller is no longer active.
    """
    if not _is_active(caller):
        raise NotFound()
    if isinstance(caller, AgentCaller):
        return Scope(workspace_id=caller.workspace_id, agent_id=caller.agent.pk)
    if caller.member.role in (Role.MANAGER, Role.ADMIN):
        return Scope(workspace_id=caller.workspace_id)
    return Scope(workspace_id=caller.workspace_id, team_ids=caller.team_ids | caller.lent_team_ids)


def _is_active(caller: Caller) -> bool:
    if isinstance(caller, AgentCaller):
        same = caller.key.agent_id == caller.agent.pk and caller.key.workspace_id == caller.agent.workspace_id
        return same and caller.key.revoked_at is None
    return caller.member.is_active and caller.member.person.is_active


def _concerns(caller: MemberCaller, action: Action, target: Target) -> bool:
    """Deciding needs a team in common; seeing what belongs to the whole workspace does not."""
    if not target.team_ids:
        return action not in _DECIDING
    return _is_of(target, caller.team_ids) or (action in _LENT and _is_of(target, caller.lent_team_ids))


def _is_of(target: Target, team_ids: frozenset[uuid.UUID]) -> bool:
    return not target.team_ids.isdisjoint(team_ids)
