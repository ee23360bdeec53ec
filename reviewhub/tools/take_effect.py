"""An admin takes an agent's word that a tool does less harm than it did."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.tools.kinds import EffectTaken
from reviewhub.tools.models import Tool
from reviewhub.tools.queries import locked_tool


@transaction.atomic
def take_effect(*, tool: Tool, actor: Actor) -> Tool:
    """Policy goes by the effect that the agent says, from the next call on; where it did already, nothing changes."""
    stored = locked_tool(tool)
    still_may(actor, Action.TOOLS_EDIT, Target(workspace_id=stored.workspace_id, agent_id=stored.agent_id))
    if not stored.effect_held:
        return stored
    data = EffectTaken(tool=stored.name, effect=stored.effect, before=stored.effect_held)
    stored.effect_held = ""
    stored.save(update_fields=["effect_held"])
    record(
        "tool.effect_taken",
        workspace_id=stored.workspace_id,
        actor=actor,
        data=data,
        agent_id=stored.agent_id,
        subject_id=stored.id,
    )
    return stored
