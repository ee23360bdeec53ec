"""Whether a step of an agent's graph may be entered without asking."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents import canonical

from reviewhub.gates.acts import answer_to, step_arguments
from reviewhub.policies.evaluate import NONE_YET, in_force
from reviewhub.runs.models import Branch
from reviewhub.tools import acts


@dataclass(frozen=True, kw_only=True)
class Entry:
    """`arguments`: what `rh.step/NODE` has to be asked with; None when it need not be.

    `is_gated` says whether policy is about any step of any agent, so that who asks often knows when not to.
    """

    is_gated: bool
    arguments: str | None = None


def enter(*, branch: Branch, node: str, step: int) -> Entry:
    """What policy says to entering a step. Nothing is stored.

    Args:
        node: the step's name in the graph.
        step: how many steps the run has made before.
    """
    now = in_force(branch.workspace_id)
    if now.policy is None and now.why_not == NONE_YET:
        return Entry(is_gated=False)
    if now.policy is not None and not any(
        _is_about_steps(rule.tool) for _, layer in now.policy.layers for rule in layer
    ):
        return Entry(is_gated=False)
    # Who holds it may have held it for long, and its agent may have another team by now.
    fresh = Branch.objects.select_related("run__agent__team").get(pk=branch.pk)
    arguments = step_arguments(branch=fresh, node=node, step=step)
    answer = answer_to(branch=fresh, name=f"{acts.STEP}{node}", arguments=arguments)
    if answer.action == "allow":
        return Entry(is_gated=True)
    return Entry(is_gated=True, arguments=canonical.dumps(arguments))


def _is_about_steps(pattern: str) -> bool:
    folded = pattern.casefold()
    return folded.startswith(acts.PREFIX) and folded not in (acts.PLAN, acts.FINISH, acts.ASK)
