"""Somebody said no to exactly this call: that beats a standing approval, and in the same run also a rule.

Who changed it said no to it as it was, also while it waits for others. It is the same call however its numbers are
written.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from reviewhub.accounts.models import Agent
from reviewhub.gates.hold import hold
from reviewhub.gates.prepare import Prepared, with_answer
from reviewhub.reviews.asked_before import only_spelled
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion

_AS_DECIDED = Q(at=F("version"))
# Where an edit only spelled a number otherwise both versions are this call; what was decided counts.
_WAS_CHANGED = Q(at__lt=F("version")) & ~only_spelled()
_NO = Q(_AS_DECIDED, state=RequestState.REJECTED) | _WAS_CHANGED
_YES = Q(_AS_DECIDED, state__in=(RequestState.APPROVED, RequestState.EDITED))


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
    name = "tool_call__versions"
    rows = ReviewRequest.objects.filter(
        agent_id=agent_id, kind=ReviewRequest.Kind.APPROVAL, **{f"{name}__likeness__in": alike}
    ).annotate(alike=F(f"{name}__likeness"), at=F(f"{name}__version"))
    found: dict[str, ReviewRequest] = {}
    for one in sorted(set(rows.filter(_NO).values_list("alike", flat=True).distinct())):
        said = rows.filter(_NO | _YES, alike=one)
        last = said.annotate(next=_next(), said_at=_said_at()).order_by("-said_at", "-at", "number").first()
        if last is not None and (last.state == RequestState.REJECTED or last.at < last.version):
            found[one] = last
    return found


def rejection_text(request: ReviewRequest) -> str:
    """What was said, for people, of a request that `rejections` found."""
    changed_by = getattr(request, "next", None)
    if changed_by is not None:
        return f"{changed_by} changed exactly this call (#{request.number})."
    return f"{request.decided_by_name} rejected exactly this call (#{request.number})."


def _next() -> Subquery:
    """Who made the next version of the call, while the request was about it."""
    after = CallVersion.objects.filter(tool_call=OuterRef("tool_call"), version=OuterRef("at") + 1)
    return Subquery(after.filter(version__lte=OuterRef("version")).values("author_name"))


def _said_at() -> Coalesce:
    """When: an edit says no as soon as it is made, whatever becomes of the request."""
    after = CallVersion.objects.filter(tool_call=OuterRef("tool_call"), version=OuterRef("at") + 1)
    return Coalesce(
        Subquery(after.filter(version__lte=OuterRef("version")).values("created_at")), F("decided_at")
    )


def _held(one: Prepared, run: Run, agent: Agent, said: ReviewRequest | None) -> Prepared:
    if said is None or said.run_id != run.pk or one.answer.action not in ("allow", "observe"):
        return one
    held = hold(one.answer, agent=agent, because=rejection_text(said))
    return with_answer(one, replace(held, layer="rejection"))
