"""Who has a hand in the call of a request: what four-eyes keeps apart from its approval."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from reviewhub.accounts.models import AgentKey, Member
from reviewhub.checkpoints.forked_by import forked_by, forked_in
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.named import readings, stands_in
from reviewhub.reviews.rules import Involved
from reviewhub.runs.above import with_those_above
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion


def involved(row: ReviewRequest, required: Requirement) -> Involved:
    """The people behind a request's run and those above it, its agent and its keys, and all who edited what it is
    about now. Whoever the agent belonged to when the run began or the call was asked for is behind it for good.

    Nobody, where four eyes are not required: then nothing asks for them. Lists ask the same by `hands.has_hand_in`.
    """
    if not required.four_eyes:
        return Involved()
    agent, runs = row.agent, with_those_above(row.run)
    editors = CallVersion.objects.filter(
        tool_call_id=row.tool_call_id, version__lte=row.version, author_kind="person"
    ).values_list("author_id", flat=True)
    return Involved(
        runs_started_by=frozenset(run.started_by_id for run in runs if run.started_by_id is not None),
        agent_owned_by=agent.owner_id,
        agent_owned_then=_owners_then(row, runs),
        keys_made_by=_keys_made_by(agent.pk, runs),
        acts_for=_acts_for(row.workspace_id, runs),
        forked_by=forked_by(row.branch) | forked_in(_said_to_be_above(runs)),
        edited_by=frozenset(editor for editor in editors if editor is not None),
    )


def _owners_then(row: ReviewRequest, runs: Sequence[Run]) -> frozenset[UUID]:
    """Whose the agent was when the call was asked for, and when the runs began."""
    then = {row.tool_call.agent_owned_by_id, *(run.agent_owned_by_id for run in runs)}
    return frozenset(owner for owner in then if owner is not None)


def _keys_made_by(agent_id: UUID, runs: Sequence[Run]) -> frozenset[UUID]:
    """Who made a key that was good at some time of the runs: no call says which of them sent it."""
    since = min(run.created_at for run in runs)
    used = {run.key_id for run in runs if run.key_id is not None}
    good = Q(revoked_at__isnull=True) | Q(revoked_at__gte=since) | Q(pk__in=used)
    makers = AgentKey.objects.filter(good, agent_id=agent_id, made_by__isnull=False)
    return frozenset(maker for maker in makers.values_list("made_by_id", flat=True) if maker is not None)


def _acts_for(workspace_id: UUID, runs: Sequence[Run]) -> frozenset[UUID]:
    named = {run.on_behalf_of for run in runs if run.on_behalf_of}
    if not named:
        return frozenset()
    read = readings(sorted(named))
    members = Member.objects.filter(workspace_id=workspace_id).values_list("pk", "person__email")
    return frozenset(pk for pk, email in members if stands_in(email, read) or stands_in(str(pk), read))


def _said_to_be_above(runs: Sequence[Run]) -> list[UUID]:
    """Those above the first run that says itself which one it was started by, and not on which of its branches."""
    said = next((at for at, run in enumerate(runs) if run.parent_id is not None and not run.depth), len(runs))
    return [run.pk for run in runs[said + 1 :]]
