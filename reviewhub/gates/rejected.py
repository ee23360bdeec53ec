"""Somebody said no to exactly this call: that beats a standing approval, and in the same run also a rule.

It is the same call however its numbers are written.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from django.db.models import F, Q

from reviewhub.accounts.models import Agent
from reviewhub.gates.hold import hold
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Run

_SAID = (RequestState.APPROVED, RequestState.EDITED, RequestState.REJECTED)


def hold_rejected(*, run: Run, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, where one that would run although people rejected exactly this one in this run needs a person."""
    alike = {one.proposal.likeness for one in prepared if one.answer.action in ("allow", "observe")}
    found = rejections(agent_id=agent.pk, alike=alike)
    return [_held(one, run, agent, found.get(one.proposal.likeness)) for one in prepared]


def rejections(*, agent_id: uuid.UUID, alike: Collection[str]) -> dict[str, ReviewRequest]:
    """Of these calls of an agent, those about which the last word of people was no, by `likeness`."""
    if not alike:
        return {}
    rows = ReviewRequest.objects.filter(agent_id=agent_id, kind=ReviewRequest.Kind.APPROVAL)
    name = "tool_call__versions__likeness"
    ever = rows.filter(_decided(alike), state=RequestState.REJECTED).values_list(name, flat=True)
    found: dict[str, ReviewRequest] = {}
    for one in sorted(set(ever.distinct())):
        last = rows.filter(_decided([one]), state__in=_SAID).order_by("-decided_at")[0]
        if last.state == RequestState.REJECTED:
            found[one] = last
    return found


def _decided(alike: Collection[str]) -> Q:
    """The version that was decided is one of these."""
    return Q(tool_call__versions__version=F("version"), tool_call__versions__likeness__in=alike)


def rejection_text(request: ReviewRequest) -> str:
    """What was said, for people."""
    return f"{request.decided_by_name} rejected exactly this call (#{request.number})."


def _held(one: Prepared, run: Run, agent: Agent, said: ReviewRequest | None) -> Prepared:
    if said is None or said.run_id != run.pk or one.answer.action not in ("allow", "observe"):
        return one
    held = hold(one.answer, agent=agent, because=rejection_text(said))
    return with_answer(one, replace(held, layer="rejection"))
