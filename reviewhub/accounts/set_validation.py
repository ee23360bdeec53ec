"""An admin says what becomes of an agent's states that are not what their schemas say."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.kinds import AgentValidationSet
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid


@transaction.atomic
def set_validation(*, agent: Agent, mode: str, actor: Actor) -> Agent:
    """Holds from the next save on; the same mode again changes and records nothing.

    Args:
        mode: `strict`, `warn` or `off`. What an agent asks for with a state can only be more.

    Raises:
        Invalid: there is no such mode.
    """
    if mode not in Agent.Validation.values:
        raise Invalid.at("/validation", f"must be one of {', '.join(Agent.Validation.values)}")
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=agent.workspace_id))
    row = Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
    if row.state_validation == mode:
        return row
    before, row.state_validation = row.state_validation, mode
    row.save(update_fields=["state_validation"])
    record(
        "agent.validation_set",
        workspace_id=row.workspace_id,
        actor=actor,
        agent_id=row.pk,
        subject_id=row.pk,
        data=AgentValidationSet(name=row.name, validation=mode, before=before),
    )
    return row
