"""An admin says how risky a tool is."""

from __future__ import annotations

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.tools.kinds import RiskSet
from reviewhub.tools.models import Risk, Tool
from reviewhub.tools.queries import locked_tool


@transaction.atomic
def set_risk(*, tool: Tool, risk: str, actor: Actor) -> Tool:
    """Sets the risk of `tool`, from the next call on; empty means the default for its effect.

    Raises:
        Invalid: there is no such risk.
    """
    if risk and risk not in Risk.values:
        raise Invalid.at("/risk", f"must be one of {', '.join(Risk.values)}, or empty")
    stored = locked_tool(tool)
    still_may(actor, Action.TOOLS_EDIT, Target(workspace_id=stored.workspace_id, agent_id=stored.agent_id))
    if stored.risk == risk:
        return stored
    data = RiskSet(tool=stored.name, risk=risk, before=stored.risk)
    stored.risk = risk
    stored.save(update_fields=["risk"])
    record(
        "tool.risk_set",
        workspace_id=stored.workspace_id,
        actor=actor,
        data=data,
        agent_id=stored.agent_id,
        subject_id=stored.id,
    )
    return stored
