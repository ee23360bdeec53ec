"""Which tools a published version lets run: those that were registered then, as they were registered then.

A tool that turns up later, under another name, with another schema or another effect is none that anybody looked at
when the version was published. Calls of it wait until the policy is published again.
"""

from __future__ import annotations

import uuid

from reviewhub.policies.models import KnownTool, PolicyVersion
from reviewhub.policies.names import matches_exactly, matches_folded
from reviewhub.policies.rules import Policy
from reviewhub.tools.models import Tool

Known = frozenset[tuple[uuid.UUID, str, str]]
"""Agent, name and schema fingerprint of each tool."""


def remember(version: PolicyVersion, policy: Policy) -> None:
    """Writes down, for a version just made, the registered tools that one of its rules may let run."""
    KnownTool.objects.bulk_create(
        [
            KnownTool(version=version, agent_id=agent_id, name=name, schema_fingerprint=mark)
            for agent_id, name, mark in sorted(registered(version.workspace_id))
            if may_run(policy, name)
        ]
    )


def carry_over(before: PolicyVersion, version: PolicyVersion) -> None:
    """Gives a version just made the known tools of the one before it."""
    KnownTool.objects.bulk_create(
        KnownTool(version=version, agent_id=agent_id, name=name, schema_fingerprint=mark)
        for agent_id, name, mark in sorted(known_to(before.pk))
    )


def known_to(version_id: uuid.UUID) -> Known:
    """What `remember` wrote down for a version."""
    rows = KnownTool.objects.filter(version_id=version_id)
    return frozenset(rows.values_list("agent_id", "name", "schema_fingerprint"))


def registered(workspace_id: uuid.UUID) -> Known:
    """The tools of a workspace as they are registered now."""
    rows = Tool.objects.filter(workspace_id=workspace_id, registered_at__isnull=False)
    return frozenset(rows.values_list("agent_id", "name", "schema_fingerprint"))


def may_run(policy: Policy, name: str) -> bool:
    """Whether a rule lets a tool of this name run without anybody's yes, be it because nobody answers in time."""
    return any(
        matches_exactly(rule.tool, name)
        if rule.lets_run
        else rule.on_timeout == "allow" and matches_folded(rule.tool, name)
        for rule in policy.rules
    )
