"""An admin keeps a policy that is not in force yet."""

from __future__ import annotations

import hashlib
import uuid

from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.models import Workspace
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.transitions import move
from reviewhub.policies.drafts import another, locked_draft, open_draft
from reviewhub.policies.kinds import DraftSaved
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.publish import check_length, checked, refuse_unknown_teams
from reviewhub.policies.queries import current_number
from reviewhub.policies.reading import policy_text
from reviewhub.policies.states import DRAFT_EDGES, DraftState


def save_draft(
    *,
    workspace: Workspace,
    rules_text: str,
    note: str,
    replaces: uuid.UUID | None,
    actor: Actor,
    base: int | None = None,
) -> PolicyDraft:
    """Keeps a policy as the draft of the workspace, out of shadow, in the place of the one before.

    Args:
        note: what changes and why, as far as the author knows by now; for whoever publishes.
        replaces: the draft that the author started from, or says to replace; None where there is none yet.
        base: the number of the version that the author started from; None is the one in force.

    Raises:
        Invalid: as for `publish`; a draft that could not be published is not kept.
        DraftChanged: another draft is there by now; `extra` says its id, author and time.
        NotAnyMore: the author may not edit policy any more.
    """
    check_length(note)
    policy = checked(rules_text, workspace)
    text = policy_text(policy)
    with transaction.atomic():
        still_may(actor, Action.POLICY_EDIT, Target(workspace_id=workspace.id))
        refuse_unknown_teams(policy, workspace)
        in_force = current_number(workspace.id)
        if replaces is not None:
            move(locked_draft(workspace.id, replaces), to=DraftState.DISCARDED, table=DRAFT_EDGES)
        draft = PolicyDraft(
            workspace=workspace,
            base=in_force if base is None else min(base, in_force),
            rules=text,
            note=note,
            author_name=actor.name[:200],
        )
        try:
            with transaction.atomic():
                draft.save(force_insert=True)
        except IntegrityError as error:
            raise another(open_draft(workspace.id)) from error
        digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        record(
            "policy.draft_saved",
            workspace_id=workspace.id,
            actor=actor,
            subject_id=draft.pk,
            data=DraftSaved(number=in_force + 1, digest=digest, note=draft.note),
        )
    return draft
