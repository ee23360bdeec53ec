"""Recorded calls, made row by row."""

from __future__ import annotations

from datetime import timedelta

from reviewhub.accounts.models import Agent
from reviewhub.core.clock import now
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.save_draft import save_draft
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.tools.models import Tool
from tests.cast import ALICE, Cast


def known_tools(agent: Agent, *names: str) -> None:
    """Registers tools whose schema asks for an amount."""
    for name in names:
        Tool.objects.create(
            workspace=agent.workspace, agent=agent, name=name, registered_at=now(), effect="once",
            schema='{"properties":{"amount":{"type":"number"}},"type":"object"}', schema_fingerprint=f"sha256:{name}",
        )  # fmt: skip


def recorded(
    agent: Agent, tool: str, *amounts: float, decided: str = "", days_ago: float = 1
) -> list[ToolCall]:
    """One call for each amount, and a decision of Alice on each."""
    run = Run.objects.create(workspace=agent.workspace, agent=agent, environment="production")
    branch = Branch.objects.create(workspace=agent.workspace, run=run, name="main")
    made = []
    for at, amount in enumerate(amounts):
        call = ToolCall.objects.create(
            workspace=agent.workspace, agent=agent, run=run, branch=branch, mode="observed", tool_name=tool,
            effect="once", state="succeeded", digest=f"sha256:{tool}{at}", idempotency_key=f"{tool}{at}",
        )  # fmt: skip
        CallVersion.objects.create(
            tool_call=call,
            version=1,
            arguments=f'{{"amount":{amount}}}',
            digest=call.digest,
            author_kind="agent",
        )
        if decided:
            Decision.objects.create(
                workspace=agent.workspace, tool_call=call, type=decided, version=1, digest=call.digest,
                by_kind="person", by_name="Alice", decided_at=now(),
            )  # fmt: skip
        ToolCall.objects.filter(pk=call.pk).update(created_at=now() - timedelta(days=days_ago))
        made.append(call)
    return made


def draft_of(cast: Cast, text: str) -> PolicyDraft:
    """The draft of Northwind."""
    return save_draft(workspace=cast.workspace, rules_text=text, note="", replaces=None, actor=ALICE)
