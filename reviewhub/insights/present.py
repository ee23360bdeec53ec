"""Drafts, backtests and suggestions as the API shows them."""

from __future__ import annotations

import uuid
from typing import Any, cast

from reviewhub_agents import canonical, wire

from reviewhub.insights.queries import Report
from reviewhub.insights.suggest import DAYS, suggestions
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.present import looked_at
from reviewhub.policies.reading import parse_policy, rule_text
from reviewhub.toolcalls.shadowed import shadowed


def draft_out(draft: PolicyDraft) -> wire.DraftOut:
    """The draft, with what it did in shadow."""
    fields: dict[str, Any] = {
        "id": draft.pk,
        "state": draft.state,
        "base": draft.base,
        "policy": canonical.reread(draft.rules),
        "note": draft.note,
        "author": draft.author_name,
        "created_at": draft.created_at,
        **looked_at(parse_policy(draft.rules), draft.workspace_id),
    }
    if (shadow := shadowed(draft)) is not None:
        fields |= {
            "shadow_since": draft.shadow_since,
            "shadow_calls": shadow.calls,
            "in_shadow": [wire.CountOut(change=one.heading, calls=one.count) for one in shadow.groups],
            "shadow_undecided": _undecided(shadow.undecided),
        }
    return wire.DraftOut(**fields)


def _undecided(found: list[tuple[str, int]]) -> list[wire.UndecidedOut]:
    return [wire.UndecidedOut(says=words, calls=calls) for words, calls in found]


def backtest_out(found: Report) -> wire.BacktestOut:
    """A backtest, as far as it is."""
    row = found.backtest
    fields: dict[str, Any] = {
        "id": row.pk,
        "draft": row.draft_id,
        "state": row.state,
        "against": row.number,
        "days": row.days,
        "total": row.total,
        "looked_at": row.looked_at,
        "waits_now": found.tally.waits_now,
        "waits_then": found.tally.waits_then,
        "groups": [
            wire.BacktestGroupOut(
                change=one.heading, calls=one.count, tool_calls=[call.tool_call_id for call in one.calls]
            )
            for one in found.groups
        ],
        "undecided": found.undecided_calls,
        "undecided_rules": _undecided(found.undecided),
        "teams": [
            wire.TeamLoadOut(
                team=one.team,
                now=round(one.now, 3),
                then=round(one.then, 3),
                extra_minutes=round(one.minutes, 3),
            )
            for one in found.teams
        ],
        "by": row.by_name,
        "created_at": row.created_at,
    }
    if row.ended_at is not None:
        fields["ended_at"] = row.ended_at
    return wire.BacktestOut(**fields)


def suggestion_list(workspace_id: uuid.UUID) -> wire.SuggestionList:
    """What history suggests now."""
    return wire.SuggestionList(
        days=DAYS,
        items=[
            wire.SuggestionOut(
                key=one.key,
                approved=one.bounds.count,
                rule=cast("dict[str, Any]", canonical.reread(rule_text(one.rule))),
            )
            for one in suggestions(workspace_id)
        ],
    )
