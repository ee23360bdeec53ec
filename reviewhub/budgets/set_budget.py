"""An admin says what the fields of an agent's states may weigh before people and the agent are warned."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from reviewhub_agents import canonical

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.budgets.kinds import BudgetRemoved, BudgetSet
from reviewhub.budgets.models import FieldBudget
from reviewhub.budgets.queries import forget, read_budget
from reviewhub.budgets.rules import Budget, check_budget, lines
from reviewhub.checkpoints.models import StateSchema
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid


@transaction.atomic
def set_budget(*, agent: Agent, schema_name: str, budget: Budget | None, actor: Actor) -> None:
    """Sets the budget of an agent's states of one schema (of all others, if that is empty); None: the default again.

    The same budget again changes and records nothing. In force for the next save; in other processes seconds later.

    Raises:
        Invalid: a limit is none, or the agent has registered no schema of this name.
    """
    if budget is not None:
        check_budget(budget)
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=agent.workspace_id))
    # Of two admins who set one budget the second waits here, and records what the first one set as `before`.
    locked = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if schema_name and not StateSchema.objects.filter(agent=locked, name=schema_name).exists():
        raise Invalid.at("/schema", f"{locked.name} has registered no schema of this name.", "not_found")
    row = FieldBudget.objects.filter(agent=locked, schema_name=schema_name).first()
    before = read_budget(row) if row else None
    if budget == before:
        return
    _write(locked, schema_name, row, budget)
    data: BudgetSet | BudgetRemoved
    old = lines(before) if before else []
    if budget is None:
        data = BudgetRemoved(agent=locked.name, state=schema_name, before=old)
    else:
        data = BudgetSet(agent=locked.name, state=schema_name, limits=lines(budget), before=old)
    record(
        "budget.removed" if budget is None else "budget.set",
        workspace_id=locked.workspace_id,
        actor=actor,
        agent_id=locked.pk,
        subject_id=locked.pk,
        data=data,
    )
    transaction.on_commit(partial(forget, locked.pk), robust=True)


def _write(agent: Agent, schema_name: str, row: FieldBudget | None, budget: Budget | None) -> None:
    if budget is None:
        if row is not None:
            row.delete()
        return
    row = row or FieldBudget(workspace_id=agent.workspace_id, agent=agent, schema_name=schema_name)
    row.field_bytes, row.step_bytes = budget.field_bytes, budget.step_bytes
    row.fields = canonical.dumps(dict(budget.fields))
    row.save()
