"""What policy with its limits says now to a call that was proposed before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reviewhub.limits.weigh import Weighing, look, weigh
from reviewhub.policies.evaluate import InForce, Resolved, call_of, in_force
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.toolcalls.models import ToolCall
from reviewhub.toolcalls.today import Today, today


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """A call as policy with its limits sees it now, and what it is to take of them."""

    found: Today
    weighing: Weighing


def weighed_now(call: ToolCall, ahead: Ahead | None = None) -> Weighed:
    """What policy with its limits says now to the current version of a locked call; `ahead` was read of it before."""
    by = in_force(call.workspace_id)
    found = today(call, ahead, by=by)
    (weighing,) = weigh(
        agent=call.agent,
        environment=call.run.environment,
        calls=[(found.facts, found.answer)],
        policy=by.policy,
        again=call.pk,
    )
    return Weighed(found=replace(found, answer=weighing.answer), weighing=weighing)


def answer_now(call: ToolCall, ahead: Ahead | None = None, *, by: InForce) -> Resolved:
    """The answer of `weighed_now` by this policy, for whoever lets nothing start: no limit is locked."""
    found = today(call, ahead, by=by)
    asked = call_of(found.facts, agent=call.agent, environment=call.run.environment, tools=frozenset())
    return look(policy=by.policy, agent=call.agent, call=asked, answer=found.answer, again=call.pk).answer
