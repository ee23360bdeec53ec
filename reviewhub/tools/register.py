"""An agent describes one of its tools."""

from __future__ import annotations

from datetime import timedelta
from math import ceil

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core import clock
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.core.schemas.validate import check_schema
from reviewhub.tools.acts import PREFIX, reads_like_an_act
from reviewhub.tools.kinds import ToolChanged, ToolRegistered
from reviewhub.tools.models import DEFAULT_RISK, Effect, Risk, Tool
from reviewhub.tools.queries import locked_tool
from reviewhub.tools.rules import name_fault, schema_fingerprint

MAX_TIME_LIMIT = timedelta(days=7)
DEFAULT_TIME_LIMIT_SECONDS = 300
# What an agent says of a tool: the column, and what the record calls it.
_PARTS = {
    "description": "description",
    "schema": "schema",
    "result_schema": "result schema",
    "effect": "effect",
    "time_limit_seconds": "time limit",
    "retry": "retry policy",
}


def register(*, agent: Agent, name: str, body: wire.ToolRegister, actor: Actor) -> Tool:
    """Stores what an agent says of a tool, the first time or anew; sentence and risk stay the admins'.

    The same words again change nothing and are no event. A weaker effect does not lower the risk: where the default of
    the old effect was in force, it is written down and stays until an admin says otherwise. Nor does it loosen what
    policy asks by effect, until an admin takes it (`take_effect`), unless the agent's claims are trusted.

    Args:
        name: as calls name it; at most 200 characters, without control characters.

    Raises:
        Invalid: the name, a schema (with the path inside it) or the time limit is not as it should be.
    """
    if (fault := name_fault(name)) is not None:
        raise Invalid.at("/name", fault)
    if reads_like_an_act(name):
        raise Invalid.at("/name", f"reads like the server's own names, which begin with {PREFIX}", "reserved")
    described = _described(body)
    fingerprint = canonical.body_digest({"name": name, **described})
    with transaction.atomic():
        target = Target(workspace_id=agent.workspace_id, agent_id=agent.pk)
        still_may(actor, Action.TOOLS_DECLARE, target)
        made, _ = Tool.objects.get_or_create(
            agent=agent, name=name, defaults={"workspace_id": agent.workspace_id}
        )
        tool = locked_tool(made)
        if tool.fingerprint != fingerprint:
            _describe(tool, described, fingerprint, actor)
    return tool


def _described(body: wire.ToolRegister) -> dict[str, str | int]:
    """The columns of the description, checked."""
    limit = body.time_limit
    if limit is not None and limit > MAX_TIME_LIMIT:
        raise Invalid.at(
            "/time_limit", f"is {limit}; the limit is {MAX_TIME_LIMIT.days} days", code="too_large"
        )
    return {
        "description": body.description,
        "schema": _schema(body.parameters, "/schema"),
        "result_schema": _schema(body.result_schema, "/result_schema"),
        "effect": str(body.effect),
        "time_limit_seconds": ceil(limit.total_seconds()) if limit else DEFAULT_TIME_LIMIT_SECONDS,
        "retry": body.retry.to_text() if body.retry else "{}",
    }


def _schema(tree: canonical.Tree, path: str) -> str:
    if tree is None:
        return ""
    text = canonical.dumps(tree)
    if problems := check_schema(text):
        errors = [{**problem, "path": path + problem["path"]} for problem in problems]
        raise Invalid(f"{errors[0]['path']}: {errors[0]['message']}", errors=errors)
    return text


def _describe(tool: Tool, described: dict[str, str | int], fingerprint: str, actor: Actor) -> None:
    """Writes the description into the locked row and says in the record what it changed."""
    old = {column: getattr(tool, column) for column in described}
    effect, old_effect, old_fingerprint = (
        Effect(str(described["effect"])),
        Effect(tool.effect),
        tool.fingerprint,
    )
    first = tool.registered_at is None
    kept = "" if first else _risk_to_keep(tool, effect)
    written = {
        **described,
        "fingerprint": fingerprint,
        "schema_fingerprint": schema_fingerprint(
            name=tool.name, schema=str(described["schema"]), effect=str(effect)
        ),
        "risk": kept or tool.risk,
        "effect_held": "" if first or tool.agent.trusted_claims else _effect_to_hold(tool, effect),
        "registered_at": tool.registered_at or clock.now(),
    }
    for column, value in written.items():
        setattr(tool, column, value)
    tool.save(update_fields=list(written))
    data = (
        ToolRegistered(tool=tool.name, effect=effect, fingerprint=fingerprint)
        if first
        else ToolChanged(
            tool=tool.name,
            changed=[words for column, words in _PARTS.items() if old[column] != described[column]],
            effect=effect,
            effect_before=old_effect,
            fingerprint=fingerprint,
            fingerprint_before=old_fingerprint,
            risk_kept=kept,
            effect_held=tool.effect_held,
        )
    )
    record(
        "tool.registered" if first else "tool.changed",
        workspace_id=tool.workspace_id,
        actor=actor,
        data=data,
        agent_id=tool.agent_id,
        subject_id=tool.id,
    )


def _risk_to_keep(tool: Tool, effect: Effect) -> str:
    """The risk that a change of effect would lower behind the admins' back; empty when it lowers nothing."""
    order = list(Risk)
    before, after = Risk(tool.effective_risk), Risk(tool.risk or DEFAULT_RISK[effect])
    return before if order.index(after) < order.index(before) else ""


def _effect_to_hold(tool: Tool, effect: Effect) -> str:
    """The stronger effect by which policy goes on; empty when the new one is no weaker."""
    order = list(Effect)
    before = Effect(tool.policy_effect)
    return before if order.index(effect) < order.index(before) else ""
