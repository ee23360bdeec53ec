"""Who has a hand in the call of a request: what four-eyes keeps apart from its approval."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from reviewhub.accounts.models import AgentKey, Member
from reviewhub.audit.models import Event
from reviewhub.checkpoints.forked_by import forked_by
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.rules import Involved
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion

_EDGE = r"""[\s<>(),;:"'\[\]]"""


def involved(row: ReviewRequest, required: Requirement) -> Involved:
    """The people behind a request's run, agent and its keys, and all who edited what it is about now.

    Nobody, where four eyes are not required: then nothing asks for them.
    """
    if not required.four_eyes:
        return Involved()
    run, agent = row.run, row.agent
    editors = CallVersion.objects.filter(
        tool_call_id=row.tool_call_id, version__lte=row.version, author_kind="person"
    ).values_list("author_id", flat=True)
    return Involved(
        run_started_by=run.started_by_id,
        agent_owned_by=agent.owner_id,
        keys_made_by=_keys_made_by(run),
        acts_for=_acts_for(run),
        forked_by=forked_by(row.branch),
        edited_by=frozenset(editor for editor in editors if editor is not None),
    )


def names(text: str, address: str) -> bool:
    """Whether a text that an agent wrote names an e-mail address, or an id, however it spells it.

    In wide letters, with a name, quoted, escaped as in a URL, after a sign: as long as it is no part of a longer one.
    """
    whole = rf"(?<![\w.%+-]){re.escape(_plain(address))}(?![\w-]|\.\w)"
    return re.search(whole, _plain(text)) is not None


def _plain(text: str) -> str:
    while (read := unquote(text)) != text:
        text = read
    letters = unicodedata.normalize("NFKC", text).replace('"', "")
    return "".join(char for char in letters if unicodedata.category(char) != "Cf").casefold()


def has_hand_in(member_id: UUID, email: str) -> Q:
    """The same as a condition on requests, for lists: whether this member has a hand in it.

    An address in odd letters and a fork further back than the request's own branch are not looked for: such a request
    stays in the list, and the answer is refused by `involved`.
    """
    good = (
        Q(revoked_at__isnull=True)
        | Q(revoked_at__gte=OuterRef("run__created_at"))
        | Q(pk=OuterRef("run__key_id"))
    )
    keys = AgentKey.objects.filter(good, agent_id=OuterRef("agent_id"), made_by_id=member_id)
    edits = CallVersion.objects.filter(
        tool_call_id=OuterRef("tool_call_id"),
        version__lte=OuterRef("version"),
        author_kind="person",
        author_id=member_id,
    )
    named = rf"({re.escape(email)}|{member_id})"
    acts_for = Q(run__on_behalf_of__iregex=rf"(^|{_EDGE}){named}($|{_EDGE})")
    forks = Event.objects.filter(
        workspace_id=OuterRef("workspace_id"),
        subject_id=OuterRef("branch_id"),
        kind="checkpoint.forked",
        actor_kind="person",
        actor_id=member_id,
    )
    began = Q(run__started_by_id=member_id) | Q(agent__owner_id=member_id)
    return began | Exists(keys) | Exists(edits) | Exists(forks) | acts_for


def _keys_made_by(run: Run) -> frozenset[UUID]:
    """Who made a key that was good at some time of the run: no call says which of them sent it."""
    good = Q(revoked_at__isnull=True) | Q(revoked_at__gte=run.created_at) | Q(pk=run.key_id)
    makers = AgentKey.objects.filter(good, agent_id=run.agent_id, made_by__isnull=False)
    return frozenset(maker for maker in makers.values_list("made_by_id", flat=True) if maker is not None)


def _acts_for(run: Run) -> frozenset[UUID]:
    if not run.on_behalf_of:
        return frozenset()
    members = Member.objects.filter(workspace_id=run.workspace_id).values_list("pk", "person__email")
    named = run.on_behalf_of
    return frozenset(pk for pk, email in members if names(named, email) or names(named, str(pk)))
