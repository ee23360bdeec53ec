"""Reads of the tool registry."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from reviewhub.accounts.models import Agent
from reviewhub.accounts.permissions import Scope
from reviewhub.accounts.queries import agents_of
from reviewhub.core.display import segments
from reviewhub.core.errors import NotFound
from reviewhub.core.words import fold
from reviewhub.tools.models import Tool


@dataclass(frozen=True)
class Covered:
    """A tool on the list of what agents can do, with what is odd about its name."""

    tool: Tool
    oddities: list[str]

    @property
    def needs_description(self) -> bool:
        """Whether it is known from calls only: no schema checks its arguments, and every call needs approval."""
        return not self.tool.is_registered


def tools_of(scope: Scope) -> QuerySet[Tool]:
    """The tools that somebody with this scope may see: those of the agents that they see."""
    rows = Tool.objects.filter(workspace_id=scope.workspace_id)
    if scope.agent_id is not None or scope.team_ids is not None:
        rows = rows.filter(agent__in=agents_of(scope).order_by())
    return rows


def tool_names(scope: Scope) -> list[str]:
    """The names of the tools that may be seen, each once, sorted."""
    return list(tools_of(scope).order_by("name").values_list("name", flat=True).distinct())


def coverage(scope: Scope, *, search: str = "") -> list[Covered]:
    """Every tool that may be seen, those that nobody described first, then by agent and name.

    Schemas are not loaded.
    """
    tools = tools_of(scope)
    tools = tools.select_related("agent__team").defer("schema", "result_schema")
    fitting = (tool for tool in tools if fold(search) in fold(tool.name))
    rows = sorted(fitting, key=lambda tool: (tool.is_registered, tool.agent.name, tool.name))
    return [Covered(tool, segments.odd(segments.split(tool.name, mask=False))) for tool in rows]


def named(agent: Agent, names: Iterable[str]) -> dict[str, Tool]:
    """Those of an agent's tools that are known, by name."""
    return {tool.name: tool for tool in Tool.objects.filter(agent=agent, name__in=set(names))}


def tool_in(workspace_id: uuid.UUID, tool_id: uuid.UUID) -> Tool:
    """A tool of the workspace, with its agent and team. Raises NotFound, also for one of another workspace."""
    found = Tool.objects.select_related("agent__team").filter(workspace_id=workspace_id, pk=tool_id).first()
    if found is None:
        raise NotFound("There is no such tool.")
    return found


def locked_tool(tool: Tool) -> Tool:
    """The tool as stored now, locked until the caller's transaction ends."""
    return Tool.objects.select_for_update(no_key=True).get(pk=tool.pk)
