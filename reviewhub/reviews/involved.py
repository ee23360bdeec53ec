"""Who has a hand in the call of a request: what four-eyes keeps apart from its approval."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import unescape
from urllib.parse import unquote
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from reviewhub.accounts.models import AgentKey, Member
from reviewhub.audit.models import Event
from reviewhub.checkpoints.forked_by import forked_by, forked_in
from reviewhub.policies.names import fold_look
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.rules import Involved
from reviewhub.runs.above import with_those_above
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion

_EDGE = r"""[\s<>(),;:"'\[\]]"""


def involved(row: ReviewRequest, required: Requirement) -> Involved:
    """The people behind a request's run and those above it, its agent and its keys, and all who edited what it is
    about now.

    Nobody, where four eyes are not required: then nothing asks for them.
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
        keys_made_by=_keys_made_by(agent.pk, runs),
        acts_for=_acts_for(row.workspace_id, runs),
        forked_by=forked_by(row.branch) | forked_in(_said_to_be_above(runs)),
        edited_by=frozenset(editor for editor in editors if editor is not None),
    )


def names(text: str, address: str) -> bool:
    """Whether a text that an agent wrote names an e-mail address, or an id, however it spells it.

    In wide letters or in such that look like them, with a name, quoted, escaped as in a URL or a page, after a sign: as
    long as it is no part of a longer one.
    """
    return any(_stands_in(fold(address), fold(text)) for fold in (_plain, _look))


def _stands_in(address: str, text: str) -> bool:
    return re.search(rf"(?<![\w.%+-]){re.escape(address)}(?![\w-]|\.\w)", text) is not None


def _look(text: str) -> str:
    """What a text looks like, word by word; blanks beside a sign are none."""
    words = " ".join(fold_look(word) for word in _plain(text).split())
    return re.sub(r" ?([@.]) ?(?=\w)", r"\1", words)


def _plain(text: str) -> str:
    while (read := unescape(unquote(text))) != text:
        text = read
    letters = unicodedata.normalize("NFKC", text).replace('"', "")
    return "".join(char for char in letters if unicodedata.category(char) != "Cf").casefold()


def has_hand_in(member_id: UUID, email: str) -> Q:
    """The same as a condition on requests, for lists: whether this member has a hand in it.

    An address in odd letters, runs above the request's own and a fork further back than its own branch are not looked
    for: such a request stays in the list, and the answer is refused by `involved`.
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
    members = Member.objects.filter(workspace_id=workspace_id).values_list("pk", "person__email")
    return frozenset(
        pk for pk, email in members if any(names(text, email) or names(text, str(pk)) for text in named)
    )


def _said_to_be_above(runs: Sequence[Run]) -> list[UUID]:
    """Those above the first run that says itself which one it was started by, and not on which of its branches."""
    said = next((at for at, run in enumerate(runs) if run.parent_id is not None and not run.depth), len(runs))
    return [run.pk for run in runs[said + 1 :]]
