"""What the policy in force says to the calls of one agent. Fails closed: whatever goes wrong here means approval."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

from django.db import connection, transaction
from reviewhub_agents.canonical import Tree

from reviewhub.accounts.models import Agent, Team
from reviewhub.policies import rules
from reviewhub.policies.arguments import Arguments
from reviewhub.policies.expressions import BadExpression, compiled
from reviewhub.policies.known_tools import Known, known_to
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.queries import newest, numbered
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Answer, Policy
from reviewhub.tools.acts import VERDICT, act_of

log = logging.getLogger(__name__)

UNREADABLE = "the policy could not be read"
NONE_YET = "no policy is published"


@dataclass(frozen=True, kw_only=True)
class CallFacts:
    """What policy may know of a call, apart from whose it is.

    `arguments` are their canonical text: what conditions look at is what runs; `tree` is the value of that text, for
    whoever has read it already. `registered`, `schema_fingerprint` and
    `schema_problem` are facts of the server, `effect` is the registered one or a stronger one that the agent claims
    (`rules.effective_effect`); `plan_step` is the open step of an approved plan that asks, by the server's record; the
    rest are the agent's claims, which hold a call back and never let one through. Times are in seconds.
    """

    tool: str
    registered: bool
    effect: str | None
    schema_fingerprint: str = ""
    arguments: str = "{}"
    tree: Tree = field(default=None, compare=False, repr=False)
    schema_problem: str = ""
    failed_checks: tuple[str, ...] = ()
    wished_decisions: tuple[str, ...] | None = None
    wished_deadline_seconds: int | None = None
    plan_step: str = ""


@dataclass(frozen=True, kw_only=True)
class Then:
    """What was known of a call, beside its arguments, when it was answered: kept with the answer, since tools, agents
    and teams change. `known`: the tool was as it was registered when the policy was published."""

    agent: str
    agent_team: str
    registered: bool
    known: bool
    effect: str | None
    schema_problem: str
    wished_decisions: tuple[str, ...] | None
    wished_deadline_seconds: int | None
    failed_checks: tuple[str, ...] | None = None
    plan_step: str = ""

    @classmethod
    def of(cls, call: rules.Call) -> Then:
        """What is known of a call that is answered now."""
        return cls(**{one.name: getattr(call, one.name) for one in fields(cls)})


@dataclass(frozen=True, kw_only=True)
class Resolved(Answer):
    """An answer with the version that gave it (0: none did), and the teams of its requirement: `team_ids` of its stages
    and `step_ids` of its escalation, in their order; None for the managers. `then` is what it was given on."""

    policy_version: int
    team_ids: tuple[uuid.UUID, ...] = ()
    step_ids: tuple[uuid.UUID | None, ...] = ()
    then: Then | None = field(default=None, compare=False)


@dataclass(frozen=True)
class InForce:
    """A policy as read with the tools that it knows, or the reason why there is none to ask."""

    number: int
    policy: Policy | None
    why_not: str = ""
    tools: Known = frozenset()


def evaluate(
    *,
    workspace_id: uuid.UUID,
    agent: Agent,
    environment: str,
    calls: Sequence[CallFacts],
    now: InForce | None = None,
) -> list[Resolved]:
    """The answers to `calls`, in their order, all by the same version of the policy.

    Never raises for what a policy or a call may hold: no policy, an unreadable one, a rule that fails or a time-out
    of the database become one approval by the agent's team, and a line in the log. `undecided` says what failed.

    Args:
        agent: whose calls; with its team loaded or not.
        environment: that of the agent's key, never one that the agent claims.
        now: which policy is in force, where the caller has just looked.
    """
    now = in_force(workspace_id) if now is None else now
    asked = [call_of(facts, agent=agent, environment=environment, tools=now.tools) for facts in calls]
    answers = [answer_of(now, call) for call in asked]
    teams = team_ids(workspace_id, answers, agent=agent)
    return [
        replace(resolve(answer, number=now.number, agent=agent, teams=teams), then=Then.of(call))
        for call, answer in zip(asked, answers, strict=True)
    ]


def in_force(workspace_id: uuid.UUID) -> InForce:
    """The policy of the workspace; never raises. Which one it is is asked each time, what it says is read once."""
    return _found(workspace_id, lambda: newest(workspace_id))


def names_verdicts(workspace_id: uuid.UUID) -> bool:
    """Whether a rule of the policy in force may be about what a verifier says."""
    policy = in_force(workspace_id).policy
    lines = (*policy.guardrails, *policy.rules) if policy else ()
    return any(rule.tool.casefold().startswith(VERDICT) for rule in lines)


def as_of(workspace_id: uuid.UUID, number: int) -> InForce:
    """One version, whether it is in force or not; never raises. 0 is what held before there was any."""
    return _found(workspace_id, lambda: numbered(workspace_id, number))


def _found(workspace_id: uuid.UUID, find: Callable[[], tuple[uuid.UUID, int] | None]) -> InForce:
    number = 0
    try:
        # Inside a transaction by a savepoint, so that an error of the database does not take the caller's work along.
        with transaction.atomic() if connection.in_atomic_block else nullcontext():
            latest = find()
            if latest is None:
                return InForce(0, None, NONE_YET)
            version_id, number = latest
            return _read(version_id)
    except Exception:
        log.exception("policy of workspace %s cannot be read; everything needs approval", workspace_id)
        return InForce(number, None, UNREADABLE)


@lru_cache(maxsize=64)
def _read(version_id: uuid.UUID) -> InForce:
    """One version. Versions never change, and the id of one that was rolled back is never that of another."""
    version = PolicyVersion.objects.get(pk=version_id)
    policy = parse_policy(version.rules)
    for rule in (*policy.guardrails, *policy.rules):
        if rule.expression is not None:
            # Compiled now, and not within the first call; one that is not taken any more holds the calls it is about.
            with suppress(BadExpression):
                compiled(rule.expression)
    return InForce(version.number, policy, tools=known_to(version_id))


def call_of(facts: CallFacts, *, agent: Agent, environment: str, tools: Known) -> rules.Call:
    """The facts with whose they are, as the pure rules take them; `tools` are those that the policy knows."""
    given = {one.name: getattr(facts, one.name) for one in fields(facts)}
    mark, text, tree = (given.pop(name) for name in ("schema_fingerprint", "arguments", "tree"))
    return rules.Call(
        agent=agent.name,
        agent_team=agent.team.name,
        environment=environment,
        known=facts.registered and (act_of(facts.tool) is not None or (agent.pk, facts.tool, mark) in tools),
        arguments=Arguments(text, tree),
        **given,
    )


def resolve(answer: Answer, *, number: int, agent: Agent, teams: dict[str, uuid.UUID]) -> Resolved:
    """The answer with the ids of its teams. A stage whose team is gone is left to the agent's own, and no time-out lets
    the call run then; a step of the escalation whose team is gone is left out."""
    given = {one.name: getattr(answer, one.name) for one in fields(answer)}
    needed = answer.requirement
    if needed is None:
        return Resolved(**given, policy_version=number)
    gone = [name for name in needed.teams() if name not in teams]
    if gone:
        stages = tuple(
            stage if stage.team in teams else stage.model_copy(update={"team": agent.team.name})
            for stage in needed.stages
        )
        needed = needed.model_copy(update={"stages": stages, "on_timeout": "deny"})
        missing = f"there is no team {' and no team '.join(gone)} any more"
        given["text"] = f"{needed}: {missing}, so the agent's team decides. ({answer.text})"
        given["held_because"] = (*answer.held_because, missing)
    steps = tuple(step for step in needed.escalation if step.team is None or step.team in teams)
    given["requirement"] = needed.model_copy(update={"escalation": steps})
    return Resolved(
        **given,
        policy_version=number,
        team_ids=tuple(teams[stage.team] for stage in needed.stages),
        step_ids=tuple(teams[step.team] if step.team is not None else None for step in steps),
    )


def answer_of(now: InForce, call: rules.Call) -> Answer:
    """What a version says to one call; never raises."""
    if now.policy is None:
        return without_policy(now, call)
    try:
        return rules.evaluate(now.policy, call)
    except Exception:
        log.exception("policy v%d failed on a call of %r; it needs approval", now.number, call.tool)
        return _unreadable(call)


def _unreadable(call: rules.Call) -> Answer:
    answer = rules.everything_else(call, because=UNREADABLE)
    return replace(answer, undecided=(*answer.undecided, UNREADABLE))


def without_policy(now: InForce, call: rules.Call) -> Answer:
    """The answer where there is no policy to ask: none is published, or it cannot be read and everything is held."""
    return rules.unmatched(call, because=NONE_YET) if now.why_not == NONE_YET else _unreadable(call)


def team_ids(workspace_id: uuid.UUID, answers: Sequence[Answer], *, agent: Agent) -> dict[str, uuid.UUID]:
    """The teams that the answers name, by name; a name that is missing here is no team of this workspace.

    The agent's own is known, and mostly the only one.
    """
    own = {agent.team.name: agent.team_id}
    names = {
        name
        for answer in answers
        if answer.requirement is not None
        for name in (*answer.requirement.teams(), *(step.team for step in answer.requirement.escalation))
    }
    others = [name for name in names if name and name not in own]
    if not others:
        return own
    named = Team.objects.filter(workspace_id=workspace_id, name__in=others)
    return own | dict(named.values_list("name", "id"))
