"""Who has a hand in the call of a request: what four-eyes keeps apart from its approval."""

from __future__ import annotations

import re
import unicodedata
from uuid import UUID

from django.db.models import Q

from reviewhub.accounts.models import AgentKey, Member
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.rules import Involved
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion

_ADDRESS = re.compile(r"""[^\s<>()\[\],;:"']+@[^\s<>()\[\],;:"']+""")


def involved(row: ReviewRequest) -> Involved:
    """The people behind a request's run, agent and its keys, and all who edited what it is about now."""
    run, agent = row.run, row.agent
    editors = CallVersion.objects.filter(
        tool_call_id=row.tool_call_id, version__lte=row.version, author_kind="person"
    ).values_list("author_id", flat=True)
    return Involved(
        run_started_by=run.started_by_id,
        agent_owned_by=agent.owner_id,
        keys_made_by=_keys_made_by(run),
        acts_for=_acts_for(run),
        edited_by=frozenset(editor for editor in editors if editor is not None),
    )


def addresses(text: str) -> frozenset[str]:
    """The e-mail addresses in a text that an agent wrote, however it spells them: with a name, in wide letters."""
    plain = unicodedata.normalize("NFKC", text)
    seen = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return frozenset(_ADDRESS.findall(seen.casefold()))


def _keys_made_by(run: Run) -> frozenset[UUID]:
    """Who made a key that was good at some time of the run: no call says which of them sent it."""
    good = Q(revoked_at__isnull=True) | Q(revoked_at__gte=run.created_at) | Q(pk=run.key_id)
    makers = AgentKey.objects.filter(good, agent_id=run.agent_id, made_by__isnull=False)
    return frozenset(maker for maker in makers.values_list("made_by_id", flat=True) if maker is not None)


def _acts_for(run: Run) -> frozenset[UUID]:
    named = addresses(run.on_behalf_of)
    if not named:
        return frozenset()
    members = Member.objects.filter(workspace_id=run.workspace_id).values_list("pk", "person__email")
    return frozenset(pk for pk, email in members if addresses(email) & named)
