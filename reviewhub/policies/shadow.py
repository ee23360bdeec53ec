"""What the draft in shadow would do with calls that are just made. It changes nothing, and may fail."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reviewhub.accounts.models import Agent
from reviewhub.policies import rules
from reviewhub.policies.compare import UNDECIDED, asks, change_of, undecided_words
from reviewhub.policies.evaluate import CallFacts, answer_of, call_of, in_force
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.reading import parse_policy
from reviewhub.policies.rules import Answer, Policy
from reviewhub.policies.states import DraftState

log = logging.getLogger(__name__)
FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Otherwise:
    """One call that the draft treats otherwise than the policy in force, or (`undecided`) could not decide. `at` is its
    place among the calls given, `asks` whom the draft asks, or which rules could not be decided and why."""

    at: int
    change: str
    rule: str = ""
    asks: str = ""


@dataclass(frozen=True)
class Shadowed:
    """Which draft was asked, and what it does otherwise."""

    draft_id: uuid.UUID
    found: list[Otherwise]


Between = Callable[[int, Policy | None, rules.Call, Answer], Answer]
"""What becomes of a version's answer to the call at a place, by what stands beside its text (limits, approvals that
stand)."""


def shadow(
    *, workspace_id: uuid.UUID, agent: Agent, environment: str, calls: Sequence[CallFacts], between: Between
) -> Shadowed | None:
    """What the draft in shadow says to calls of one agent; None when no draft is in shadow.

    A call on which the draft fails is among them as `failed`, with the rule if one fails by itself. What the draft lets
    run is a tool as it is registered now, as if it were published now.
    """
    drafts = PolicyDraft.objects.filter(workspace_id=workspace_id, state=DraftState.SHADOW)
    draft_id = drafts.values_list("id", flat=True).first()
    if draft_id is None:
        return None
    published = in_force(workspace_id)
    tools = frozenset((agent.pk, one.tool, one.schema_fingerprint) for one in calls if one.registered)
    found, draft = [], None
    for at, facts in enumerate(calls):
        asked = call_of(facts, agent=agent, environment=environment, tools=published.tools)
        before = between(at, published.policy, asked, answer_of(published, asked))
        try:
            draft, asked = (
                _read(draft_id),
                call_of(facts, agent=agent, environment=environment, tools=tools),
            )
            after = between(at, draft, asked, rules.evaluate(draft, asked))
        except Exception:
            log.exception("the draft in shadow failed on a call of %r", facts.tool)
            rule = rules.breaks_at(draft, asked) if draft is not None else ""
            found.append(Otherwise(at=at, change=FAILED, rule=rule))
            continue
        if words := undecided_words(after):
            found.append(Otherwise(at=at, change=UNDECIDED, asks=words))
        if change := change_of(before, after):
            found.append(Otherwise(at=at, change=change, rule=after.rule or "", asks=asks(after)))
    return Shadowed(draft_id, found)


@lru_cache(maxsize=8)
def _read(draft_id: uuid.UUID) -> Policy:
    """A draft; its text never changes."""
    return parse_policy(PolicyDraft.objects.values_list("rules", flat=True).get(pk=draft_id))
