"""Somebody said no to exactly this call: that beats a standing approval, and in the same run also a rule."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from reviewhub.accounts.models import Agent
from reviewhub.gates.hold import hold
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Run

_SAID = (RequestState.APPROVED, RequestState.EDITED, RequestState.REJECTED)


def hold_rejected(*, run: Run, agent: Agent, prepared: Sequence[Prepared]) -> list[Prepared]:
    """The calls, where one that would run although people rejected exactly this one in this run needs a person."""
    digests = {one.proposal.digest for one in prepared if one.answer.action in ("allow", "observe")}
    found = rejections(agent_id=agent.pk, digests=digests)
    return [_held(one, run, agent, found.get(one.proposal.digest)) for one in prepared]


def rejections(*, agent_id: uuid.UUID, digests: Collection[str]) -> dict[str, ReviewRequest]:
    """Of these calls of an agent, those about which the last word of people was no, by digest."""
    if not digests:
        return {}
    rows = ReviewRequest.objects.filter(agent_id=agent_id, kind=ReviewRequest.Kind.APPROVAL)
    ever = rows.filter(digest__in=digests, state=RequestState.REJECTED).values_list("digest", flat=True)
    found: dict[str, ReviewRequest] = {}
    for digest in sorted(set(ever.distinct())):
        last = rows.filter(digest=digest, state__in=_SAID).order_by("-decided_at")[0]
        if last.state == RequestState.REJECTED:
            found[digest] = last
    return found


def rejection_text(request: ReviewRequest) -> str:
    """What was said, for people."""
    return f"{request.decided_by_name} rejected exactly this call (#{request.number})."


def _held(one: Prepared, run: Run, agent: Agent, said: ReviewRequest | None) -> Prepared:
    if said is None or said.run_id != run.pk or one.answer.action not in ("allow", "observe"):
        return one
    held = hold(one.answer, agent=agent, because=rejection_text(said))
    return with_answer(one, replace(held, layer="rejection"))
