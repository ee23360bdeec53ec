"""Somebody said no to exactly this call: that beats a standing approval, and in the same run also a rule.

Who changed it said no to it as it was. It is the same call however its numbers are written.
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

_IS_DECIDED, _WAS_CHANGED = (
    Q(tool_call__versions__version=F("version")),
    Q(tool_call__versions__version__lt=F("version")),
)
_NO = Q(_IS_DECIDED, state=RequestState.REJECTED) | Q(_WAS_CHANGED, state=RequestState.EDITED)
_YES = Q(_IS_DECIDED, state__in=(RequestState.APPROVED, RequestState.EDITED))


def hold_rejected(*, run: Run, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, where one that would run although people said no to exactly this one in this run needs a person."""
    alike = {one.proposal.likeness for one in prepared if one.answer.action in ("allow", "observe")}
    found = rejections(agent_id=agent.pk, alike=alike)
    return [_held(one, run, agent, found.get(one.proposal.likeness)) for one in prepared]


def rejections(*, agent_id: uuid.UUID, alike: Collection[str]) -> dict[str, ReviewRequest]:
    """Of these calls of an agent, those about which the last word of people was no, by `likeness`.

    Whoever changes a call says no to it as it was before.
    """
    if not alike:
        return {}
    rows = ReviewRequest.objects.filter(agent_id=agent_id, kind=ReviewRequest.Kind.APPROVAL)
    name = "tool_call__versions__likeness"
    ever = rows.filter(_NO, **{f"{name}__in": alike}).values_list(name, flat=True)
    found: dict[str, ReviewRequest] = {}
    for one in sorted(set(ever.distinct())):
        said = rows.filter(_NO | _YES, **{name: one}).annotate(at=F("tool_call__versions__version"))
        # Where an edit only spelled a number otherwise both versions are this call; the one that was decided counts.
        last = said.order_by("-decided_at", "-at")[0]
        if last.state == RequestState.REJECTED or last.at < last.version:
            found[one] = last
    return found


def rejection_text(request: ReviewRequest) -> str:
    """What was said, for people."""
    if request.state == RequestState.EDITED:
        return f"{request.edited_by_name} changed exactly this call (#{request.number})."
    return f"{request.decided_by_name} rejected exactly this call (#{request.number})."


def _held(one: Prepared, run: Run, agent: Agent, said: ReviewRequest | None) -> Prepared:
    if said is None or said.run_id != run.pk or one.answer.action not in ("allow", "observe"):
        return one
    held = hold(one.answer, agent=agent, because=rejection_text(said))
    return with_answer(one, replace(held, layer="rejection"))
