"""Recorded calls, read in batches as policy takes them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import F, Q

from reviewhub.accounts.models import Agent
from reviewhub.insights.models import Backtest
from reviewhub.policies.evaluate import CallFacts
from reviewhub.policies.facts import call_facts
from reviewhub.toolcalls.claims import failed_checks
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.tools.models import Tool


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One call with what policy may know of it, and what people last decided on it (empty: nothing)."""

    id: uuid.UUID
    at: datetime
    agent: Agent
    environment: str
    facts: CallFacts
    decided: str
    state: str
    run_id: uuid.UUID
    digest: str


class Reader:
    """Reads the calls of one workspace. Agents and tools are as they are now, and are read once.

    Args:
        with_steps: whether the step of a plan that each call was asked for in is wanted, as it was written down then.
    """

    def __init__(self, workspace_id: uuid.UUID, *, with_steps: bool = False) -> None:
        self._with_steps = with_steps
        agents = Agent.objects.filter(workspace_id=workspace_id).select_related("team")
        self._agents = {agent.pk: agent for agent in agents}
        tools = Tool.objects.filter(workspace_id=workspace_id)
        self._tools = {(tool.agent_id, tool.name): tool for tool in tools}

    def batch(self, backtest: Backtest, most: int) -> list[Recorded]:
        """The next calls of a backtest, the oldest first; empty when there are no more. Three queries, or
        four."""
        rows = ToolCall.objects.filter(
            workspace_id=backtest.workspace_id, created_at__gte=backtest.since, created_at__lte=backtest.until
        )
        if backtest.cursor_at is not None:
            rows = rows.filter(created_at__gte=backtest.cursor_at).filter(
                Q(created_at__gt=backtest.cursor_at) | Q(id__gt=backtest.cursor_id)
            )
        fields = (
            "id", "created_at", "agent_id", "tool_name", "claims", "run__environment", "state", "run_id", "digest"
        )  # fmt: skip
        found = list(rows.order_by("created_at", "id").values_list(*fields)[:most])
        ids = [row[0] for row in found]
        arguments, decided = _arguments(ids), _decided(ids)
        steps = _steps(ids) if self._with_steps else {}
        return [
            Recorded(
                id=row[0],
                at=row[1],
                agent=self._agents[row[2]],
                environment=row[5],
                facts=replace(self._facts(row, arguments.get(row[0], "{}")), plan_step=steps.get(row[0], "")),
                decided=decided.get(row[0], ""),
                state=row[6],
                run_id=row[7],
                digest=row[8],
            )
            for row in found
        ]

    def _facts(self, row: tuple[Any, ...], arguments: str) -> CallFacts:
        agent_id, name, claims = row[2:5]
        tool = self._tools.get((agent_id, name)) or Tool(agent_id=agent_id, name=name)
        checks = failed_checks(claims) if "checks" in claims else ()
        known = call_facts(tool=tool, arguments=arguments, failed_checks=checks)
        if known.errors:
            # As when a grant is used: what no longer fits the schema is held, as what cannot be checked.
            return replace(known.facts, schema_problem=known.errors[0]["message"])
        return known.facts


def _arguments(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    versions = CallVersion.objects.filter(tool_call_id__in=ids, version=F("tool_call__version"))
    return dict(versions.values_list("tool_call_id", "arguments"))


def _steps(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The steps of plans that calls were asked for in; an edited call is in none, as when it was edited."""
    rows = ToolCall.objects.filter(pk__in=ids, version=1, because__contains='"plan_step":"')
    rows = rows.exclude(because__contains='"plan_step":""')
    return {
        call_id: str((json.loads(because).get("then") or {}).get("plan_step", ""))
        for call_id, because in rows.values_list("pk", "because")
    }


def _decided(ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, str]:
    rows = Decision.objects.filter(tool_call_id__in=ids, by_kind="person").order_by("decided_at")
    return dict(rows.values_list("tool_call_id", "type"))
