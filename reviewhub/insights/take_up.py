"""A suggestion becomes a rule of a draft."""

from __future__ import annotations

from reviewhub.accounts.models import Workspace
from reviewhub.core.actors import Actor
from reviewhub.core.errors import NotFound
from reviewhub.insights.suggest import DAYS, Suggestion, suggestions
from reviewhub.policies import rules
from reviewhub.policies.drafts import open_draft
from reviewhub.policies.models import PolicyDraft
from reviewhub.policies.queries import current
from reviewhub.policies.reading import parse_policy, policy_text
from reviewhub.policies.rules import Policy, Rule
from reviewhub.policies.save_draft import save_draft


def take_up(*, workspace: Workspace, key: str, actor: Actor) -> PolicyDraft:
    """Saves the draft (or, where there is none, the policy in force) with the suggested rule where it can match.

    Raises:
        NotFound: history does not suggest it any more.
        Invalid, DraftChanged, NotAnyMore: as for `save_draft`.
    """
    one = next((one for one in suggestions(workspace.pk) if one.key == key), None)
    if one is None:
        raise NotFound("This is not suggested any more.")
    draft = open_draft(workspace.pk)
    source = draft or current(workspace.pk)
    policy = parse_policy(source.rules) if source else Policy()
    return save_draft(
        workspace=workspace,
        rules_text=policy_text(_with(policy, one)),
        note=(draft.note if draft else "")
        or f"{one.bounds.count} of {one.bounds.count} approved in {DAYS} days",
        replaces=draft.pk if draft else None,
        base=draft.base if draft else None,
        actor=actor,
    )


def _with(policy: Policy, one: Suggestion) -> Policy:
    """The policy with the rule before the one that answers such calls by now."""
    answer = rules.evaluate(Policy(rules=policy.rules), one.call)
    at = len(policy.rules) if answer.position is None else answer.position - 1
    rule = one.rule.model_copy(update={"name": _free(one.rule, policy.rules)})
    return policy.model_copy(update={"rules": (*policy.rules[:at], rule, *policy.rules[at:])})


def _free(rule: Rule, taken: tuple[Rule, ...]) -> str:
    """The rule's name, with a number behind it where another rule has it."""
    names = {one.name for one in taken}
    numbered = (f"{rule.name[:190]} ({number})" for number in range(2, len(names) + 3))
    return next(name for name in (rule.name, *numbered) if name not in names)
