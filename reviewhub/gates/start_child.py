"""A branch starts a child run: once for each key, whatever starts the step again."""

from __future__ import annotations

import uuid

from django.db import transaction
from reviewhub_agents import canonical

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action, Target
from reviewhub.audit.record import record
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.errors import IdempotencyConflict, Invalid
from reviewhub.core.text import check_text
from reviewhub.gates.errors import BranchPaused
from reviewhub.gates.fork_children import inherit, known_at
from reviewhub.gates.wake import wake
from reviewhub.resumptions.acknowledge import acknowledge
from reviewhub.runs.fence import check, check_not_halted
from reviewhub.runs.kinds import RunStarted
from reviewhub.runs.models import Branch, Child, Run
from reviewhub.runs.note import note_run
from reviewhub.runs.start import MAIN
from reviewhub.runs.states import BranchState
from reviewhub.toolcalls.locks import lock_branch

MOST_OPEN = 200
MOST_DEEP = 8
MAX_KEY, MAX_GRAPH, MAX_TITLE = 255, 120, 400


def start_child(
    *,
    branch_id: uuid.UUID,
    key: str,
    graph: str,
    given: canonical.Tree,
    title: str,
    epoch: int | None,
    actor: Actor,
) -> Child:
    """Starts a run of the same agent below this one, or finds the one that the branch started under `key`.

    On a fork it is the child of the branch before, from where the checkpoint pinned it, or from its beginning on a
    branch of its own when the checkpoint knew nothing of it: then an equal `once` call of both is seen.

    Args:
        graph: which of the agent's graphs it is.
        given: its input.
        epoch: the holder's; None for an agent that claimed nothing.

    Raises:
        IdempotencyConflict: the key was used for another graph or input.
        Invalid: key or title are not as they should be, or there are too many children, or too many above this one.
        Halted: nothing starts for the branch until a person resumes it.
        BranchPaused, Superseded, StaleEpoch, RunEnded: this caller may not write for the branch now.
        NotAnyMore, AgentStopped: the caller may not write any more.
    """
    _check(key, graph, title)
    digest = canonical.body_digest({"graph": graph, "input": given})
    with transaction.atomic():
        branch = lock_branch(branch_id)
        check(branch, epoch)
        target = Target(workspace_id=branch.workspace_id, agent_id=branch.run.agent_id)
        still_may(actor, Action.RUN_WRITE, target)
        found = Child.objects.filter(parent_branch=branch, key=key).select_related("branch").first()
        if found is not None:
            if found.digest != digest:
                raise IdempotencyConflict(f"{key} started another child before.")
            return found
        if branch.state == BranchState.PAUSED:
            raise BranchPaused
        acknowledge(branch=branch)
        check_not_halted(branch)
        _check_room(branch)
        made = _inherited(branch, key, digest, actor) or _new(branch, key, graph, given, title, digest, actor)
        Branch.objects.filter(pk=branch.pk).update(has_children=True)
        faults.point("start_child.before_commit")
    faults.point("start_child.after_commit")
    return made


def _check(key: str, graph: str, title: str) -> None:
    for path, text, most in (("/key", key, MAX_KEY), ("/graph", graph, MAX_GRAPH)):
        if not 0 < len(text) <= most or not text.isprintable():
            raise Invalid.at(path, f"1 to {most} characters that can be seen; {len(text)} given")
    check_text(title, path="/title")
    if len(title) > MAX_TITLE:
        raise Invalid.at("/title", f"at most {MAX_TITLE} characters; {len(title)} given")


def _check_room(branch: Branch) -> None:
    if branch.run.depth >= MOST_DEEP:
        raise Invalid.at("/graph", f"a child run has at most {MOST_DEEP} runs above it")
    if Child.objects.filter(parent_branch=branch, outcome="").count() >= MOST_OPEN:
        raise Invalid.at("/graph", f"a branch has at most {MOST_OPEN} child runs that go on")


def _inherited(branch: Branch, key: str, digest: str, actor: Actor) -> Child | None:
    """The child that the branch before this fork started in the same place, if it is the same one."""
    fork = Checkpoint.objects.defer("content").filter(pk=branch.fork_of).first() if branch.fork_of else None
    if fork is None:
        return None
    origin = Child.objects.filter(parent_branch=fork.branch_id, key=key, digest=digest).first()
    if origin is None:
        return None
    return inherit(
        child=origin, by=branch, born_after=_number(branch), pin=known_at(fork, origin), actor=actor
    )


def _new(
    branch: Branch, key: str, graph: str, given: canonical.Tree, title: str, digest: str, actor: Actor
) -> Child:
    above = branch.run
    run = Run.objects.create(
        workspace_id=above.workspace_id,
        agent_id=above.agent_id,
        agent_owned_by_id=above.agent.owner_id,
        key_id=above.key_id,
        environment=above.environment,
        parent=above,
        graph=graph,
        root_id=above.root_id or above.pk,
        depth=above.depth + 1,
        title=title or graph,
        on_behalf_of=above.on_behalf_of,
        labels=above.labels,
        retention_class=above.retention_class,
        input=canonical.dumps(given),
        started_by_id=above.started_by_id,
        spend_limit_micros=0,
        time_limit_seconds=above.time_limit_seconds,
    )
    begun = Branch.objects.create(workspace_id=run.workspace_id, run=run, name=MAIN)
    note_run(run)
    record(
        "run.started",
        workspace_id=run.workspace_id,
        actor=actor,
        run_id=run.pk,
        agent_id=run.agent_id,
        subject_id=run.pk,
        data=RunStarted(
            title=str(run),
            external_id="",
            environment=run.environment,
            on_behalf_of=run.on_behalf_of,
            parent=str(above.pk),
        ),
    )
    wake(branch=begun, agent=above.agent)
    return Child.objects.create(
        workspace_id=run.workspace_id,
        parent_branch=branch,
        key=key,
        graph=graph,
        digest=digest,
        branch=begun,
        born_after=_number(branch),
    )


def _number(branch: Branch) -> int:
    """The number of its head; 0 before the first checkpoint."""
    if branch.head is None:
        return 0
    return Checkpoint.objects.values_list("number", flat=True).get(pk=branch.head)
