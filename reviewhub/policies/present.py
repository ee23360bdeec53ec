"""Policy as the API shows it."""

from __future__ import annotations

import uuid
from typing import Any, cast

from reviewhub_agents import canonical, wire

from reviewhub.core.keyset import Page
from reviewhub.policies.cautions import all_cautions
from reviewhub.policies.difference import difference
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.newly_known import newly_known
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Policy


def policy_out(version: PolicyVersion | None) -> wire.PolicyOut:
    """One version; None is what there is before the first."""
    if version is None:
        return wire.PolicyOut(number=0, policy={"rules": []})
    return wire.PolicyOut(policy=cast("dict[str, Any]", canonical.reread(version.rules)), **_about(version))


def version_list(page: Page[PolicyVersion]) -> wire.PolicyVersionList:
    """A page of versions."""
    fields: dict[str, Any] = {"items": [wire.PolicyVersionOut(**_about(row)) for row in page.rows]}
    if page.next:
        fields["next"] = page.next
    return wire.PolicyVersionList(**fields)


def looked_at(policy: Policy, workspace_id: uuid.UUID) -> dict[str, Any]:
    """What a policy changes against the one in force, and what to look at before it is published."""
    latest = current(workspace_id)
    before = parse_policy(latest.rules) if latest else Policy()
    return {
        "changes": [
            wire.PolicyChangeOut(
                kind=change.kind,
                layer=change.layer,
                rule=change.rule,
                fields=[field.name for field in change.fields],
            )
            for change in difference(before, policy)
        ],
        "cautions": [
            wire.CautionOut(
                layer=one.layer, position=one.position, rule=one.rule, code=one.code, message=one.message
            )
            for one in all_cautions(policy, workspace_id)
        ],
        "frees": [
            wire.FreedOut(agent=one.agent, tool=one.tool, says=one.says)
            for one in newly_known(policy, workspace_id)
        ],
    }


def _about(version: PolicyVersion) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "number": version.number,
        "note": version.note,
        "author": version.author_name,
        "published_at": version.published_at,
    }
    return fields | ({"restores": version.restores} if version.restores else {})
