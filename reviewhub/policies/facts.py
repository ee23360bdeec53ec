"""What policy may know of a call, made in one place for pauses, edits, consumes and explanations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from reviewhub_agents import canonical

from reviewhub.core.schemas.validate import SchemaUnusable, validate_tree
from reviewhub.policies.evaluate import CallFacts
from reviewhub.tools.acts import act_of
from reviewhub.tools.models import Tool


@dataclass(frozen=True)
class Known:
    """The facts, and how the arguments break the tool's schema (paths within the arguments)."""

    facts: CallFacts
    errors: list[dict[str, str]]


@dataclass(frozen=True)
class Checked:
    """What a schema says to arguments: why it cannot be used, else how they break it (paths within them)."""

    problem: str = ""
    errors: list[dict[str, str]] = field(default_factory=list)


def checked(schema: str, tree: canonical.Tree) -> Checked:
    """The arguments of a call against the schema of its tool; nothing is wrong where it has none."""
    if not schema:
        return Checked()
    try:
        return Checked(errors=validate_tree(schema, tree))
    except SchemaUnusable as unusable:
        return Checked(problem=str(unusable))


def call_facts(
    *,
    tool: Tool,
    arguments: str,
    tree: canonical.Tree = None,
    by_schema: Checked | None = None,
    failed_checks: tuple[str, ...] = (),
    wished_decisions: tuple[str, ...] | None = None,
    wished_deadline_seconds: int | None = None,
    plan_step: str = "",
) -> Known:
    """Facts of the server about a call with these arguments (canonical text; `tree` is their value, `by_schema` what
    the tool's schema says to it, where that was found out already), and the agent's tightening claims.

    A schema that cannot be used makes a `schema_problem`, which holds the call; arguments that break a good schema are
    `errors`, for the caller to refuse.
    """
    if tree is None and tool.schema:
        tree = canonical.reread(arguments)
    by_schema = checked(tool.schema, tree) if by_schema is None else by_schema
    facts = replace(
        facts_of_tool(tool),
        arguments=arguments,
        tree=tree,
        schema_problem=by_schema.problem,
        failed_checks=failed_checks,
        wished_decisions=_sensible(tool, wished_decisions),
        wished_deadline_seconds=wished_deadline_seconds,
        plan_step=plan_step,
    )
    return Known(facts=facts, errors=by_schema.errors)


def _sensible(tool: Tool, wished: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The decisions that make sense: a question is answered, the end of a run is not edited."""
    act = act_of(tool.name)
    if act is None:
        return wished
    return tuple(one for one in act.decisions if wished is None or one in wished)


def facts_of_tool(tool: Tool) -> CallFacts:
    """What holds for every call of a tool."""
    return CallFacts(
        tool=tool.name,
        registered=tool.is_registered,
        effect=tool.policy_effect if tool.is_registered else None,
        schema_fingerprint=tool.schema_fingerprint,
    )
