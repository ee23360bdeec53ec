"""Who has a hand in the call of a request: what four-eyes keeps apart from its approval."""

from __future__ import annotations

from reviewhub.accounts.models import Member
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.rules import Involved
from reviewhub.toolcalls.models import CallVersion


def involved(row: ReviewRequest) -> Involved:
    """The people behind a request's run, agent and key, and all who edited what it is about now."""
    run, agent = row.run, row.agent
    editors = CallVersion.objects.filter(
        tool_call_id=row.tool_call_id, version__lte=row.version, author_kind="person"
    ).values_list("author_id", flat=True)
    acts_for = Member.objects.filter(
        workspace_id=row.workspace_id, person__email__iexact=run.on_behalf_of
    ).first()
    return Involved(
        run_started_by=run.started_by_id,
        agent_owned_by=agent.owner_id,
        key_made_by=run.key.made_by_id if run.key else None,
        acts_for=acts_for.pk if run.on_behalf_of and acts_for else None,
        edited_by=frozenset(editor for editor in editors if editor is not None),
    )
