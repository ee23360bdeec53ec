"""Child runs: each with its own checkpoints and gates, started once, waited for by nobody's time."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest
from django.db import transaction
from reviewhub_agents import wire

from reviewhub.audit.models import Event
from reviewhub.checkpoints.models import Checkpoint, ChildHead
from reviewhub.core import faults
from reviewhub.core.actors import SYSTEM
from reviewhub.gates.cancel import cancel
from reviewhub.gates.errors import Unsettled
from reviewhub.gates.finish import finish
from reviewhub.gates.fork import fork
from reviewhub.gates.halt import halt
from reviewhub.gates.resume import resume
from reviewhub.gates.rewrite import rewrite
from reviewhub.hosting.rescue import rescue
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Child, Run
from tests.hosting import families
from tests.hosting.conftest import Hosted, run_out


@pytest.fixture
def family(hosted: Hosted, settings: Any) -> Hosted:
    settings.HOSTED_GRAPHS = {"payer": "tests.hosting.families:desk"}
    settings.RESUME_ATTEMPTS = 1
    families.DONE.clear()
    return hosted


def until_idle(family: Hosted) -> None:
    while family.work():
        pass


def root() -> Run:
    return Run.objects.get(parent=None)


def states() -> dict[str, str]:
    """Run title → state of its newest branch."""
    return {
        run.title: Branch.objects.filter(run=run).order_by("-created_at", "-id")[0].state
        for run in Run.objects.order_by("created_at")
    }


def test_a_gate_in_a_child_stops_only_what_depends_on_it(family: Hosted) -> None:
    run = family.start()
    until_idle(family)
    # The parent did its own work, the other child ended, and nobody holds anything.
    assert states() == {"test": "resuming", "Page a": "succeeded", "Page b!": "paused"}
    assert families.DONE == ["a"]
    assert Branch.objects.filter(lease_until__isnull=False).count() == 0
    assert json.loads(run.branches.get().checkpoints.get(step=2).node and "1")
    assert (rescue(), family.work()) == (0, 0)
    family.decide("approve")
    until_idle(family)
    run.refresh_from_db()
    assert (run.state, json.loads(run.result)["texts"]) == ("succeeded", ["seen a", "seen b!, done"])
    assert families.DONE == ["a", "b!"]
    assert set(Resumption.objects.values_list("state", flat=True)) == {"done"}
    kinds = Event.objects.filter(run_id=run.pk).values_list("kind", flat=True)
    assert list(kinds).count("branch.awaiting") == 1


def test_a_child_is_a_run_of_its_own_below_the_one_that_started_it(family: Hosted) -> None:
    run = family.start()
    family.work()
    child = Run.objects.get(title="Page a")
    assert (child.parent, child.root, child.depth, child.graph) == (run, run, 1, "reader")
    assert (child.agent, child.environment) == (run.agent, run.environment)
    assert child.branches.get().checkpoints.count() == 0


def test_a_child_that_fails_is_told_and_one_that_is_set_aside_is_waited_for(family: Hosted) -> None:
    family.start(pages=["x", "b!"])
    until_idle(family)
    assert states() == {"test": "resuming", "Page x": "quarantined", "Page b!": "paused"}
    cancel(run_id=Run.objects.get(title="Page x").pk, reason="no such page", actor=SYSTEM)
    family.decide("reject", message="closed")
    until_idle(family)
    texts = json.loads(root().result)["texts"]
    assert texts == ["cancelled: no such page", "seen b!, refused"]


@pytest.mark.parametrize(
    "point",
    [
        "start_child.before_commit",
        "start_child.after_commit",
        "wait_for.before_commit",
        "wait_for.after_commit",
        "child_ended.before_commit",
    ],
)
def test_a_crash_anywhere_starts_each_child_once_and_loses_none(
    family: Hosted, settings: Any, point: str
) -> None:
    settings.RESUME_ATTEMPTS = 5
    run = family.start(pages=["a", "b"])
    left = [2]

    def die() -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise faults.Fault(point)

    with faults.armed(point, die):
        for _ in range(12):
            family.work()
            run_out()
    run.refresh_from_db()
    assert left[0] < 2
    assert (run.state, json.loads(run.result)["texts"]) == ("succeeded", ["seen a", "seen b"])
    assert Run.objects.count() == 3
    assert sorted(families.DONE) == ["a", "b"]


def test_the_end_of_a_parent_ends_its_children(family: Hosted) -> None:
    run = family.start(pages=["a!", "b!"])
    until_idle(family)
    assert cancel(run_id=run.pk, reason="not wanted", actor=SYSTEM)
    assert set(states().values()) == {"cancelled"}
    assert set(Child.objects.values_list("outcome", "error")) == {("cancelled", "not wanted")}
    assert not Resumption.objects.open().exists()
    assert Event.objects.filter(kind="run.cancelled").count() == 3
    assert not cancel(run_id=run.pk, reason="again", actor=SYSTEM)


def test_a_branch_with_children_that_go_on_does_not_end(family: Hosted) -> None:
    run = family.start(pages=["a!"])
    until_idle(family)
    branch = run.branches.get()
    with pytest.raises(Unsettled, match="wait for them"), transaction.atomic():
        finish(branch_id=branch.pk, body=wire.FinishBody(epoch=branch.epoch), actor=SYSTEM)


def test_a_halt_holds_the_children_too(family: Hosted) -> None:
    run = family.start(pages=["a!"])
    until_idle(family)
    halt(run_id=run.pk, reason="wait", actor=SYSTEM)
    family.decide("approve")
    assert family.work() == 0
    assert resume(run_id=run.pk, reason="go on", actor=SYSTEM)
    until_idle(family)
    assert set(states().values()) == {"succeeded"}


def at(run: Run, step: int) -> Checkpoint:
    return run.branches.get(name="main").checkpoints.get(step=step)


def test_forking_a_checkpoint_forks_the_children_from_where_it_pinned_them(family: Hosted) -> None:
    run = family.start()
    until_idle(family)
    pinned = {pin.child.key: pin.head for pin in ChildHead.objects.filter(checkpoint=at(run, 1))}
    assert list(pinned.values()) == [None, None]  # they had just begun
    fork(
        checkpoint=at(run, 1), body=wire.ForkBody(reason="look again"), key=secrets.token_hex(8), actor=SYSTEM
    )
    until_idle(family)
    forked = run.branches.get(name="fork-1")
    twins = {child.key: child.branch for child in Child.objects.filter(parent_branch=forked)}
    assert [branch.name for branch in twins.values()] == ["again-1", "again-1"]
    assert Run.objects.count() == 3  # branches of the same runs
    assert sorted(families.DONE) == ["a", "a"]
    for _ in range(2):
        family.decide_first("approve")
        until_idle(family)
    assert {branch.state for branch in Branch.objects.all()} == {"succeeded"}
    assert json.loads(root().result)["texts"] == ["seen a", "seen b!, done"]


def test_a_fork_that_dies_before_its_commit_leaves_nothing_and_may_be_asked_for_again(family: Hosted) -> None:
    run = family.start()
    until_idle(family)
    checkpoint, key, body = at(run, 1), secrets.token_hex(8), wire.ForkBody(reason="look again")

    def there() -> list[int]:
        return [model.objects.count() for model in (Branch, Child, Checkpoint, Resumption, Event)]

    before = there()
    with faults.armed("fork.before_commit"), pytest.raises(faults.Fault):
        fork(checkpoint=checkpoint, body=body, key=key, actor=SYSTEM)
    assert there() == before
    assert family.work() == 0
    # Its key was not used up, and now it is: one fork with one twin of each child, however often it is asked for.
    first = fork(checkpoint=checkpoint, body=body, key=key, actor=SYSTEM)
    made = there()
    assert fork(checkpoint=checkpoint, body=body, key=key, actor=SYSTEM) == first
    assert there() == made
    assert Child.objects.filter(parent_branch=first[0]).count() == 2


def test_a_fork_takes_ended_children_as_they_ended_and_others_from_their_heads(family: Hosted) -> None:
    family.start(pages=["a", "b!"])
    until_idle(family)
    run = root()
    # A checkpoint of the parent that is saved now knows one child as over and the other at its pause.
    branch = run.branches.get()
    last = at(run, 2)
    ChildHead.objects.filter(checkpoint=last).delete()
    waiting = Child.objects.get(outcome="", parent_branch=branch)
    ChildHead.objects.create(checkpoint=last, child=waiting, head_id=waiting.branch.head)
    done = list(families.DONE)
    rewrite(checkpoint=last, changes=[], reason="the same again", actor=SYSTEM)
    until_idle(family)
    assert done == families.DONE  # what was over is not done again
    new = run.branches.exclude(pk=branch.pk).get()
    links = {child.key: child for child in Child.objects.filter(parent_branch=new)}
    over, going = (links[key] for key in sorted(links))
    assert (over.outcome, over.branch.name) == ("done", "main")
    assert (going.branch.name, going.branch.fork_of) == ("fork-1", waiting.branch.head)
    waiting.refresh_from_db()
    assert (waiting.outcome, waiting.branch.state) == ("cancelled", "cancelled")
    family.decide("approve")
    until_idle(family)
    assert json.loads(root().result)["texts"] == ["seen a", "seen b!, done"]


def test_a_rewritten_child_is_the_same_child(family: Hosted) -> None:
    family.start(pages=["b!"])
    until_idle(family)
    child = Child.objects.get()
    head = Checkpoint.objects.get(pk=child.branch.head)
    changes = [wire.Change.from_tree({"op": "set", "path": "/text", "value": "read anew"})]
    rewrite(checkpoint=head, changes=changes, reason="better", actor=SYSTEM)
    until_idle(family)
    family.decide("approve")
    until_idle(family)
    assert json.loads(root().result)["texts"] == ["read anew, done"]


def test_a_step_done_again_on_a_fork_takes_the_same_child_up_or_starts_another(family: Hosted) -> None:
    run = family.start(pages=["a"])
    until_idle(family)
    changes = [wire.Change.from_tree({"op": "set", "path": "/pages", "value": ["a", "c"]})]
    body = wire.ForkBody(reason="one more", changes=changes)
    fork(checkpoint=at(run, 0), body=body, key=secrets.token_hex(8), actor=SYSTEM)
    until_idle(family)
    runs = {child.title: child.branches.count() for child in Run.objects.filter(parent=run)}
    assert runs == {"Page a": 2, "Page c": 1}
    assert json.loads(root().result)["texts"] == ["seen a", "seen c"]
