"""Who has a hand in the calls of requests, as a condition for lists: what `involved` finds out about one request."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, UUIDField, Value

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.forked_by import ForkedBy
from reviewhub.core.sql import Holds, Matches
from reviewhub.reviews.named import ODD, plainly, sought
from reviewhub.runs.above import ABOVE
from reviewhub.toolcalls.models import CallVersion, ToolCall


class _Behind(Holds):
    """Whether a member is behind a run or one above it. One walk up, whatever is asked of the runs: who started them,
    whose their agent was then, whom they act for, who made a key that was good in their time, and who forked one that
    is above because the run below said so."""

    sql = """EXISTS (ABOVE
SELECT 1 FROM above
WHERE above.started_by_id = {me} OR above.agent_owned_by_id = {me}
    OR (above.on_behalf_of <> '' AND NOT above.on_behalf_of {odd}
        AND (above.on_behalf_of {email} OR above.on_behalf_of {id}))
    OR EXISTS (SELECT 1 FROM accounts_agentkey made WHERE made.agent_id = {agent} AND made.made_by_id = {me}
        AND (made.revoked_at IS NULL OR made.revoked_at >= above.created_at OR made.id = above.key_id))
    OR (above.is_said = 1 AND EXISTS (SELECT 1 FROM audit_event forked WHERE forked.run_id = above.id
        AND forked.kind = 'checkpoint.forked' AND forked.actor_kind = 'person' AND forked.actor_id = {me}))
)""".replace("ABOVE", ABOVE)


def has_hand_in(member_id: UUID, email: str) -> Q:
    """Whether this member has a hand in the call of a request; nothing of it is a query of its own."""
    edits = CallVersion.objects.filter(
        tool_call_id=OuterRef("tool_call_id"),
        version__lte=OuterRef("version"),
        author_kind="person",
        author_id=member_id,
    )
    me = Value(member_id, output_field=UUIDField())
    # By their ids and not as joins, which a database may begin with, and look at every request for a page of fifty.
    owns = Agent.objects.filter(pk=OuterRef("agent_id"), owner_id=member_id)
    owned = ToolCall.objects.filter(pk=OuterRef("tool_call_id"), agent_owned_by_id=member_id)
    return (
        Exists(owns)
        | Exists(owned)
        | _is_named_oddly(member_id, email)
        | Exists(edits)
        | Q(_behind(member_id, email))
        | Q(ForkedBy(branch=F("branch_id"), workspace=F("workspace_id"), who=me))
    )


def _is_named_oddly(member_id: UUID, email: str) -> Q:
    """Whom a run acts for in odd characters was read when people were asked."""
    found = Q()
    for text in (*sought(email), *sought(str(member_id))):
        found |= Q(acts_for__contains=text)
    return found


def _behind(member_id: UUID, email: str) -> _Behind:
    return _Behind(
        run=F("run_id"),
        agent=F("agent_id"),
        me=Value(member_id, output_field=UUIDField()),
        odd=Matches(ODD, case_matters=True),
        email=Matches(plainly(email)),
        id=Matches(plainly(str(member_id))),
    )
