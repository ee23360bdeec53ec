"""A call that waits may be denied by a policy that was published meanwhile: then no approval of it could let it run."""

from __future__ import annotations

from reviewhub.limits.by_now import answer_now
from reviewhub.policies.evaluate import Resolved, in_force
from reviewhub.policies.index import is_about
from reviewhub.policies.rules import Policy
from reviewhub.reviews.errors import DeniedByNow
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.toolcalls.models import ToolCall


def may_be_denied(call: ToolCall) -> bool:
    """Whether any line of the policy in force could deny a call of this tool: one query, whatever the policy says."""
    policy = in_force(call.workspace_id).policy
    return policy is not None and _denies_some(policy, call.tool_name)


def denied_now(call: ToolCall, ahead: Ahead | None = None) -> Resolved | None:
    """The answer of the policy in force, if it denies the call as it is now; the same that a consume would be given.

    One query where no line of the policy denies calls of this tool; a few where one does.

    Args:
        ahead: what was read of the current version before.
    """
    by = in_force(call.workspace_id)
    if by.policy is None or not _denies_some(by.policy, call.tool_name):
        return None
    answer = answer_now(call, ahead, by=by)
    return answer if answer.action == "deny" else None


def check_not_denied(call: ToolCall, ahead: Ahead | None = None) -> None:
    """Refuses an approval that nothing would come of; within the decision's transaction, after its locks.

    Raises:
        DeniedByNow: with the version and the rule that deny the call.
    """
    answer = denied_now(call, ahead)
    if answer is not None:
        raise refusal(answer)


def refusal(answer: Resolved) -> DeniedByNow:
    """What whoever approves is told of an answer that denies."""
    return DeniedByNow(
        f"Policy v{answer.policy_version} denies this call by now. {answer.text} No approval of it is taken.",
        policy_version=answer.policy_version,
        rule=answer.rule,
    )


def _denies_some(policy: Policy, tool: str) -> bool:
    """Whether a guardrail, a rule or a limit that is about this tool may deny its calls."""
    lines = (*policy.guardrail_index.about(tool), *policy.index.about(tool))
    return any(rule.action == "deny" for _, rule in lines) or any(
        limit.then == "deny" and is_about(limit, tool) for limit in policy.limits
    )
