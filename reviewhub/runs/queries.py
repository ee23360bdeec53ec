"""Reads of runs and branches for the API and the pages."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from reviewhub.accounts.models import Agent, AgentKey
from reviewhub.core import keyset
from reviewhub.core.errors import NotFound
from reviewhub.core.keyset import Page
from reviewhub.core.rows import one_or_none
from reviewhub.core.words import words_asked
from reviewhub.runs.models import Branch, Halt, Run, Words
from reviewhub.runs.states import OPEN_BRANCH


def runs_of(key: AgentKey) -> QuerySet[Run]:
    """What a key reaches: the runs of its agent in its environment. What belongs to a run is found by these."""
    return Run.objects.filter(agent_id=key.agent_id, environment=key.environment)


def run_for_key(key: AgentKey, run_id: uuid.UUID) -> Run:
    """A run that this key reaches. Raises NotFound, also for a run of another agent or environment."""
    run = one_or_none(runs_of(key).select_related("workspace", "agent").filter(pk=run_id))
    if run is None:
        raise NotFound("There is no such run of this agent in this key's environment.")
    return run


def by_external_id(agent_id: uuid.UUID, external_id: str) -> QuerySet[Run]:
    """The run (one or none) that an agent started under this id, which is not empty."""
    # The second condition is that of the partial unique index: without it SQLite reads all runs of the agent.
    return Run.objects.filter(agent_id=agent_id, external_id=external_id).exclude(external_id="")


def run_called(workspace_id: uuid.UUID, external_id: str) -> uuid.UUID | None:
    """The newest run of the workspace that an agent started under this id."""
    agents = Agent.objects.filter(workspace_id=workspace_id).values_list("pk", flat=True)
    found = (by_external_id(agent, external_id).values_list("created_at", "pk").first() for agent in agents)
    return max((one for one in found if one is not None), default=(None, None))[1]


def branch_for_key(key: AgentKey, branch_id: uuid.UUID) -> Branch:
    """A branch of a run that this key reaches. Raises NotFound, also for one of another agent or environment."""
    branch = one_or_none(
        Branch.objects.select_related("run__agent").filter(run__in=runs_of(key), pk=branch_id)
    )
    if branch is None:
        raise NotFound("There is no such branch of this agent in this key's environment.")
    return branch


def branch_of(run: Run, name: str) -> Branch:
    """The branch that `name` means in this run: its name, or its id as text. Raises NotFound."""
    named = Q(name=name)
    with contextlib.suppress(ValueError):  # A name that is no id.
        named |= Q(pk=uuid.UUID(name))
    branch = run.branches.filter(named).order_by("created_at").first()
    if branch is None:
        raise NotFound(f"The run has no branch {name!r}.")
    branch.run = run  # It is this one, so nobody needs to read it again.
    return branch


def locked_branch(branch_id: uuid.UUID) -> Branch:
    """The branch, locked until the caller's transaction ends; the first lock that any write takes. Raises NotFound."""
    branch = one_or_none(Branch.objects.select_for_update(no_key=True).filter(pk=branch_id))
    if branch is None:
        raise NotFound("There is no such branch.")
    return branch


def branches_of(run_id: uuid.UUID) -> list[Branch]:
    """All branches of a run, the oldest first."""
    return list(Branch.objects.filter(run_id=run_id).order_by("created_at", "id"))


def open_halts(branches: Iterable[Branch]) -> list[Halt]:
    """The halts that keep these branches from going on; a branch that is over needs no more."""
    halted = [branch for branch in branches if branch.is_halted and branch.state in OPEN_BRANCH]
    if not halted:
        return []
    return list(Halt.objects.filter(branch__in=halted, ended_at=None).select_related("branch"))


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What a list of runs is narrowed down to; empty values do not narrow."""

    state: str = ""
    agent: uuid.UUID | None = None
    environment: str = ""
    text: str = ""  # words of the title, of the agent's own id or of for whom it is, or the run's id


def _is_run(text: str) -> Q:
    """The run whose id this is, if it is one."""
    try:
        return Q(pk=uuid.UUID(text.strip()))
    except ValueError:
        return Q(pk__in=[])


def listed(visible: QuerySet[Run], *, filters: Filters, cursor: str = "", limit: int = 50) -> Page[Run]:
    """A page of runs, the newest first, without what they began and ended with: that may be megabytes each.

    Args:
        visible: the runs that the reader may see (the caller's permission decides that).
        cursor: the `next` of the page before.

    Raises:
        Invalid: the cursor is none of ours.
    """
    found = visible.select_related("agent").defer("input", "result")
    if filters.state:
        found = found.filter(state=filters.state)
    if filters.agent:
        found = found.filter(agent_id=filters.agent)
    if filters.environment:
        found = found.filter(environment=filters.environment)
    if filters.text:
        named = Words.objects.filter(call_id=None, words__holds=words_asked(filters.text)).values("run_id")
        found = found.filter(Q(pk__in=named) | _is_run(filters.text))
    return keyset.newest_first(found, cursor=cursor, limit=limit)
