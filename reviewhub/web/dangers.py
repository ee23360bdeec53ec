"""Which arguments a rule looked at when it held a call: those that a reviewer should look at, too."""

from __future__ import annotations

import uuid

from reviewhub.core.display.exact import below
from reviewhub.policies.evaluate import as_of
from reviewhub.policies.model import Condition
from reviewhub.reviews.requirement import Stored


def dangers(workspace_id: uuid.UUID, stored: Stored) -> dict[str, str]:
    """JSON pointers of arguments → what the rule says of them, by the version of the policy that answered."""
    if not stored.rule:
        return {}
    policy = as_of(workspace_id, stored.policy_version).policy
    if policy is None:
        return {}
    rules = (rule for rule in (*policy.guardrails, *policy.rules) if rule.name == stored.rule)
    return {_pointer(one): f"The rule looks at this: {one}." for rule in rules for one in rule.when}


def _pointer(condition: Condition) -> str:
    return "".join(below(key) for key in condition.path.split("."))
