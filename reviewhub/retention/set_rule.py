"""An admin says how long checkpoints are kept."""

from __future__ import annotations

import re
import uuid

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict, Invalid, NotFound
from reviewhub.retention.kinds import RuleRemoved, RuleSet
from reviewhub.retention.rules import Limits
from reviewhub.retention.survey import as_limits
from reviewhub.runs.models import RetentionRule

MOST_RULES = 200
MOST_DAYS = 36_500
_CLASS = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class RuleChanged(Conflict):
    """The rule is another by now; look again."""

    code = "changed"


@transaction.atomic
def set_rule(
    *,
    workspace_id: uuid.UUID,
    agent_id: uuid.UUID | None,
    run_class: str,
    limits: Limits | None,
    base: int,
    actor: Actor,
) -> RetentionRule | None:
    """Makes, changes or (without limits) removes the rule of an agent, or of all, for a class of runs, or for all.

    Args:
        run_class: a name that agents may give their runs; "" for all runs.
        base: the version that was looked at; 0 for a rule that is not there yet.

    Raises:
        Invalid: a name or a number is not as it should be, or there are too many rules.
        NotFound: no such agent is in the workspace, or no such rule.
        RuleChanged: somebody else was there first.
        NotAnyMore: who acts may not do so any more.
    """
    _check(run_class, limits)
    still_may(actor, Action.RETENTION_EDIT, Target(workspace_id=workspace_id))
    agent = _agent(workspace_id, agent_id)
    rules = RetentionRule.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id)
    row = rules.filter(agent=agent, run_class=run_class).first()
    if (row.version if row else 0) != base:
        raise RuleChanged
    if limits is None:
        if row is None:
            raise NotFound("There is no such rule.")
        _recorded(row, actor, before=as_limits(row).text, limits=None)
        row.delete()
        return None
    if row is None and rules.count() >= MOST_RULES:
        raise Invalid.at("/", f"A workspace has at most {MOST_RULES} rules.", "too_large")
    before = as_limits(row).text if row else ""
    row = row or RetentionRule(workspace_id=workspace_id, agent=agent, run_class=run_class, version=0)
    for name in Limits.__dataclass_fields__:
        setattr(row, name, getattr(limits, name))
    row.version += 1
    row.author_name = actor.name[:200]
    row.save()
    _recorded(row, actor, before=before, limits=limits)
    return row


def _agent(workspace_id: uuid.UUID, agent_id: uuid.UUID | None) -> Agent | None:
    if agent_id is None:
        return None
    found = Agent.objects.filter(pk=agent_id, workspace_id=workspace_id).first()
    if found is None:
        raise NotFound("There is no such agent.")
    return found


def _check(run_class: str, limits: Limits | None) -> None:
    if run_class and not _CLASS.fullmatch(run_class):
        raise Invalid.at("/run_class", "needs 1 to 40 of a-z, 0-9, - and _")
    for name in Limits.__dataclass_fields__ if limits else ():
        value = getattr(limits, name)
        least = 1 if name == "keep_last" else 0
        if value is not None and not least <= value <= MOST_DAYS:
            raise Invalid.at(f"/{name}", f"needs a whole number from {least} to {MOST_DAYS}")


def _recorded(row: RetentionRule, actor: Actor, *, before: str, limits: Limits | None) -> None:
    about = f"{row.agent.name if row.agent else 'all agents'}, {row.run_class or 'all runs'}"
    data: RuleSet | RuleRemoved
    if limits is None:
        kind, data = "retention.rule_removed", RuleRemoved(about=about, before=before, version=row.version)
    else:
        kind = "retention.rule_set"
        data = RuleSet(about=about, words=limits.words, rule=limits.text, before=before, version=row.version)
    record(
        kind,
        workspace_id=row.workspace_id,
        actor=actor,
        agent_id=row.agent_id,
        subject_id=row.pk,
        data=data,
    )
