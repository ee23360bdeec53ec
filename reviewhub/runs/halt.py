"""A branch is halted: nothing starts for it until somebody resumes it."""

from __future__ import annotations

from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.runs.kinds import RunHalted, RunResumed
from reviewhub.runs.models import Branch, Halt
from reviewhub.runs.states import OPEN_BRANCH


def halt(*, branch: Branch, kind: str, reason: str, actor: Actor) -> bool:
    """Halts a branch, in the caller's transaction, which holds its lock. Its state, lease and waking stay as they are.

    What has started goes on to its end and its outcome is taken; people may decide what waits. A worker gives the
    branch back at its next write.

    Args:
        kind: one of `Halt.Kind`.
        reason: why, in words for people and the agent.

    Returns:
        False when it is not open, or halted already: then the first halt stands.
    """
    if branch.state not in OPEN_BRANCH or branch.is_halted:
        return False
    Halt.objects.create(
        workspace_id=branch.workspace_id,
        branch=branch,
        kind=kind,
        reason=reason,
        by_name=actor.name,
        began_at=now(),
    )
    Branch.objects.filter(pk=branch.pk).update(is_halted=True)
    branch.is_halted = True
    _say("run.halted", branch, RunHalted(branch=branch.name, cause=kind, reason=reason), actor)
    return True


def lift(*, branch: Branch, reason: str, actor: Actor) -> bool:
    """Ends the halt of a locked branch; false when it is not halted. Waking it is the caller's."""
    if not branch.is_halted:
        return False
    Halt.objects.filter(branch=branch, ended_at=None).update(ended_at=now())
    Branch.objects.filter(pk=branch.pk).update(is_halted=False)
    branch.is_halted = False
    _say("run.resumed", branch, RunResumed(branch=branch.name, reason=reason), actor)
    return True


def _say(kind: str, branch: Branch, data: RunHalted | RunResumed, actor: Actor) -> None:
    record(
        kind,
        workspace_id=branch.workspace_id,
        actor=actor,
        run_id=branch.run_id,
        agent_id=branch.run.agent_id,
        subject_id=branch.pk,
        data=data,
    )
