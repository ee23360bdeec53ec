"""The guardrail that a flag suggests goes into the draft of the policy, where an admin sees what it would do."""

from __future__ import annotations

import uuid

from django.db import transaction

from reviewhub.accounts.models import Workspace
from reviewhub.core.actors import Actor
from reviewhub.core.errors import NotFound
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.model import Policy, Rule
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.save_draft import save_draft
from reviewhub.reviews.close_follow_up import close_follow_up
from reviewhub.reviews.models import FollowUp
from reviewhub.reviews.states import FollowUpKind, FollowUpState


@transaction.atomic
def take_up_rule(*, workspace: Workspace, follow_up_id: uuid.UUID, actor: Actor) -> PolicyDraft:
    """Saves the draft (or, where there is none, the policy in force) with the guardrail, and closes the suggestion.

    Raises:
        NotFound: nothing of this workspace suggests it any more.
        Invalid, DraftChanged, NotAnyMore: as for `save_draft`.
    """
    rows = FollowUp.objects.filter(
        workspace=workspace, kind=FollowUpKind.DRAFT_RULE, state=FollowUpState.OPEN
    )
    one = rows.filter(pk=follow_up_id).first()
    if one is None:
        raise NotFound("This is not suggested any more.")
    close_follow_up(follow_up_id=one.pk, note="It is in the draft of the policy.", actor=actor)
    draft = open_draft(workspace.pk)
    source = draft or current(workspace.pk)
    policy = parse_policy(source.rules) if source else Policy()
    return save_draft(
        workspace=workspace,
        rules_text=policy_text(_with(policy, Rule.model_validate_json(one.rule))),
        note=(draft.note if draft else "") or "A flag on a call that ran without waiting",
        replaces=draft.pk if draft else None,
        base=draft.base if draft else None,
        actor=actor,
    )


def _with(policy: Policy, rule: Rule) -> Policy:
    """The policy with the guardrail, unless it has it."""
    if any(one.name == rule.name for one in policy.guardrails):
        return policy
    return policy.model_copy(update={"guardrails": (*policy.guardrails, rule)})
