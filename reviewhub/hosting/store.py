"""The engine's store inside a worker: the database itself, by the same verbs that the API uses."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from reviewhub_agents import canonical, wire
from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.errors import LetGo, PlanChanged
from reviewhub_agents.runtime.hints import Saved
from reviewhub_agents.runtime.hints import saved as remembered
from reviewhub_agents.runtime.store import (
    UNGATED_SECONDS,
    Call,
    ChildEnd,
    Declaration,
    Intent,
    Kept,
    Ledger,
    Loaded,
    Next,
    Permit,
    Plan,
    Proposal,
    Signals,
    Snapshot,
    Status,
    Stop,
    WrittenAs,
)
from reviewhub_agents.runtime.verifiers import Came

from reviewhub.checkpoints.queries import head_of, up_to_step
from reviewhub.core import clock, faults
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid, NotFound, ReviewHubError
from reviewhub.gates.begin import Begin
from reviewhub.gates.checkpoint import checkpoint
from reviewhub.gates.consume import Consumed, consume
from reviewhub.gates.enter import enter
from reviewhub.gates.fail import fail
from reviewhub.gates.finish import finish
from reviewhub.gates.mark_steps import mark_steps
from reviewhub.gates.outcome import outcome_and_begin
from reviewhub.gates.pause import pause
from reviewhub.gates.plan import plan
from reviewhub.gates.present import pause_out
from reviewhub.gates.present_plans import plan_out
from reviewhub.gates.present_runs import child_out
from reviewhub.gates.progress import progress
from reviewhub.gates.set_aside import setting_aside
from reviewhub.gates.sleep import sleep
from reviewhub.gates.start_child import start_child
from reviewhub.gates.wait_for import wait_for
from reviewhub.hosting.declare import declare
from reviewhub.hosting.drain import this_worker
from reviewhub.hosting.keep_record import keep_record
from reviewhub.hosting.ledger import ledger_since, places_since, snapshot_of
from reviewhub.hosting.outlast import outlast
from reviewhub.hosting.queries import record_of
from reviewhub.plans.queries import in_force
from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.complete import complete
from reviewhub.runs.fence import check, check_not_halted
from reviewhub.runs.models import Branch
from reviewhub.runs.queries import locked_branch
from reviewhub.verdicts.give import give
from reviewhub.verdicts.queries import signals


class BranchStore:
    """Keeps the branch that this process claimed, in the epoch in which it claimed it."""

    def __init__(self, claimed: Claimed) -> None:
        self._resumption = claimed.resumption
        self._branch = claimed.branch
        self._epoch = claimed.branch.epoch
        self._run = claimed.branch.run
        self._agent = self._run.agent
        self._actor = Actor(kind="agent", id=self._agent.pk, name=self._agent.name)
        self._written_as: WrittenAs | None = None
        self._ungated_until = 0.0
        self._saved: Saved | None = None

    @setting_aside()
    def load(self) -> Loaded:
        """The head of the branch, exactly as it was saved (its hash is checked)."""
        head = head_of(self._branch)
        if head is None:
            return Loaded(input=self._run.input, snapshot=None)
        return Loaded(input=self._run.input, snapshot=snapshot_of(head))

    def declare(self, declaration: Declaration) -> None:
        """Says what the states are that are saved from now on."""
        with _translated():
            declare(agent=self._agent, declaration=declaration, actor=self._actor)
        self._written_as = declaration.written_as

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """Saves a snapshot as the new head; only on top of the head that this process knows."""
        body = messages.checkpoint_save(
            branch=self._branch.name,
            parent=str(self._branch.head) if self._branch.head else None,
            node=node,
            step=step,
            state=state,
            epoch=self._epoch,
            written_as=self._written_as,
            after=self._saved,
        )
        # A worker may hold a run for long, and what an admin set meanwhile holds from the next save on.
        self._agent.refresh_from_db(fields=["state_validation"])
        with _translated():
            saved = checkpoint(run=self._run, body=body, key=None, actor=self._actor)
        self._branch.head = saved.checkpoint.pk
        self._saved = remembered(state, saved.checkpoint.state_hash)
        self._go_on(saved.checkpoint.branch)
        return Snapshot(
            id=str(saved.checkpoint.pk),
            node=node,
            step=step,
            state=state,
            written_as=self._written_as,
        )

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """Asks for calls, or finds the pause made under the same key."""
        at = messages.checkpoint_in(
            parent=str(self._branch.head) if self._branch.head else None,
            snapshot=snapshot,
            written_as=self._written_as,
        )
        body = messages.pause_body(
            branch=self._branch.name,
            checkpoint=at,
            proposals=list(proposals),
            kind=wire.ResumeKind.HOSTED,
            epoch=self._epoch,
        )
        with _translated():
            made = pause(
                run=self._run,
                agent=self._agent,
                body=body,
                body_digest=messages.asked_digest(body),
                key=f"{self._branch.pk}/{key}",
                actor=self._actor,
                begin=self._begin(facts=proposals[0].facts) if begin and not this_worker.is_on else None,
            )
        if made.created and snapshot.id == "":
            self._branch.head, self._saved = made.pause.checkpoint_id, None
        stop = messages.stop_of(pause_out(made.pause, made.fresh), list(proposals))
        return replace(stop, permit=_permit(made.begun))

    def _begin(
        self, *, facts: dict[str, Any], call_id: uuid.UUID | None = None, digest: str | None = None
    ) -> Begin:
        """The intent to run a call; the key of this attempt lives in this call's memory only."""
        return Begin(
            call_id=call_id,
            digest=digest,
            key=secrets.token_urlsafe(24),
            facts=canonical.reread(canonical.dumps(facts)),
            epoch=self._epoch,
        )

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """Uses the grant of an allowed call; the key of this attempt lives in this call's memory only."""
        self._go_on()
        key, declared = secrets.token_urlsafe(24), canonical.reread(canonical.dumps(facts))
        with _translated():
            taken = outlast(
                lambda: consume(
                    call_id=uuid.UUID(call.id),
                    digest=call.digest,
                    key=key,
                    facts=declared,
                    epoch=self._epoch,
                    actor=self._actor,
                )
            )
        return Permit(arguments=taken.arguments, idempotency_key=taken.idempotency_key, attempt=taken.attempt)

    def progress(self, call: Call, *, partial: str) -> None:
        """Keeps what a running tool has got so far."""
        progress(call_id=uuid.UUID(call.id), partial=partial)

    def outcome(
        self,
        call: Call,
        *,
        attempt: int,
        status: Status,
        result: str | None = None,
        error: str = "",
        then: Next | None = None,
    ) -> Permit | None:
        """Writes down how a started call ended, taken whoever holds the branch by now; `then` begins with it."""
        body = messages.outcome_body(attempt=attempt, status=status, result=result, error=error)
        begin = None
        if then is not None and not this_worker.is_on:
            begin = self._begin(call_id=uuid.UUID(then.call.id), digest=then.call.digest, facts=then.facts)
        with _translated():
            _, begun = outlast(
                lambda: outcome_and_begin(
                    call_id=uuid.UUID(call.id), body=body, begin=begin, actor=self._actor
                )
            )
        return _permit(begun)

    def kept(self, key: str) -> Kept | None:
        """A recorded result of this branch."""
        try:
            return messages.kept_of(record_of(branch=self._branch, key=key).value)
        except NotFound:
            return None

    def keep(self, key: str, kept: Kept) -> None:
        """Records a result; the first one under a key stays."""
        with _translated():
            row, _ = keep_record(
                branch_id=self._branch.pk, key=key, value=messages.kept_text(kept), epoch=self._epoch
            )
        self._go_on(row.branch)

    def ledger(self, since: int) -> Ledger:
        """What this branch recorded at places of step `since` and later."""
        return ledger_since(branch=self._branch, step=since)

    def places(self, since: int) -> set[str]:
        """Where something was recorded, without reading what it is."""
        return places_since(branch=self._branch, step=since)

    @setting_aside()
    def nearest(self, step: int) -> Snapshot | None:
        """The newest snapshot of this branch that is not after `step`."""
        found = up_to_step(self._branch, step)
        return None if found is None else snapshot_of(found)

    def now(self) -> datetime:
        """By the database's clock, as all timers are."""
        return clock.now()

    def sleep(self, *, until: str) -> bool:
        """Whether it is that time; if not, this waking is done and another one will be due."""
        with _translated(), transaction.atomic():
            return sleep(
                branch_id=self._branch.pk,
                until=datetime.fromisoformat(until),
                epoch=self._epoch,
                kind="hosted",
                actor=self._actor,
                waking=self._resumption,
            )

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """Starts a child run, or finds it; a worker takes it up after the commit."""
        self._go_on()
        with _translated():
            start_child(
                branch_id=self._branch.pk,
                key=key,
                graph=graph,
                given=canonical.reread(given),
                title=title,
                epoch=self._epoch,
                actor=self._actor,
            )

    def wait_for(self, children: Sequence[str] | None) -> list[ChildEnd] | None:
        """How children ended; if one goes on, this waking is done and its end makes another one due."""
        with _translated():
            over = wait_for(
                branch_id=self._branch.pk,
                keys=children,
                epoch=self._epoch,
                kind="hosted",
                actor=self._actor,
                waking=self._resumption,
            )
        return None if over is None else [messages.child_end(child_out(one)) for one in over]

    def leave_thread(self) -> None:
        """Closes the thread's own connections to the database."""
        connections.close_all()

    def plan(self) -> Plan | None:
        """The plan in force; None when there is none."""
        found = in_force(self._branch.pk)
        return None if found is None else messages.plan_of(plan_out(found))

    def write_plan(self, *, key: str, intent: Intent, base: int | None, call: str | None = None) -> int:
        """Writes the next version, or finds the one written under the same key."""
        body = messages.plan_body(
            branch=self._branch.name, intent=intent, base=base, epoch=self._epoch, call=call
        )
        with _translated():
            row = plan(run=self._run, body=body, key=f"{self._branch.pk}/{key}", actor=self._actor)
        return row.number

    def mark_step(self, *, step: str, status: str, note: str) -> None:
        """Says how far a step of the plan in force is."""
        body = messages.marks_body(step=step, status=status, note=note, epoch=self._epoch)
        version = in_force(self._branch.pk)
        if version is None:
            raise PlanChanged("there is no plan")
        try:
            with _translated():
                mark_steps(run=self._run, version=version, body=body, actor=self._actor)
        except Invalid as error:
            if messages.has_step(self.plan(), step):
                raise
            raise PlanChanged(f"the plan in force has no step {step}") from error

    def signals(self) -> Signals:
        """What speaks against the plan in force."""
        return messages.signals_of(signals(self._branch))

    def judged(self, call: Call, came: Came) -> None:
        """Writes down what a verifier said."""
        with _translated():
            give(call_id=uuid.UUID(call.id), body=messages.verdict_body(came), actor=self._actor)

    def enter(self, *, node: str, step: int) -> str | None:
        """What has to be asked before a step. That policy is about no step is believed for a second."""
        if time.monotonic() < self._ungated_until:
            return None
        said = enter(branch=self._branch, node=node, step=step)
        if not said.is_gated:
            self._ungated_until = time.monotonic() + UNGATED_SECONDS
        return said.arguments

    def finish(self, *, result: str, call: str | None = None) -> None:
        """Ends branch and waking in one transaction."""
        given: dict[str, Any] = {"call": uuid.UUID(call)} if call else {}
        body = wire.FinishBody(epoch=self._epoch, result=canonical.reread(result), **given)
        faults.point("resume.before_settle")
        with _translated(), transaction.atomic():
            check(locked_branch(self._branch.pk), self._epoch)
            complete(resumption=self._resumption)
            finish(branch_id=self._branch.pk, body=body, actor=self._actor)

    def fail(self, *, error: str) -> None:
        """Ends branch and waking in one transaction."""
        with _translated(), transaction.atomic():
            check(locked_branch(self._branch.pk), self._epoch)
            complete(resumption=self._resumption)
            body = wire.FailBody(epoch=self._epoch, error=error)
            fail(branch_id=self._branch.pk, body=body, actor=self._actor)

    def _go_on(self, branch: Branch | None = None) -> None:
        """Between two things that a step does: whether this process does the next one. Raises LetGo."""
        if this_worker.is_on:
            raise LetGo("this worker was told to stop")
        if branch is not None:
            with _translated():
                check_not_halted(branch)

    def heartbeat(self) -> None:
        """Raises Fenced when somebody else has the branch. Leases are renewed by `hosting.heart`, in a thread."""
        with _translated(), transaction.atomic():
            check(locked_branch(self._branch.pk), self._epoch)


def _permit(taken: Consumed | None) -> Permit | None:
    if taken is None:
        return None
    return Permit(arguments=taken.arguments, idempotency_key=taken.idempotency_key, attempt=taken.attempt)


@contextmanager
def _translated() -> Iterator[None]:
    """Refusals of the hub in the engine's words; what the engine has no word for stays what it is."""
    try:
        yield
    except ReviewHubError as error:
        known = messages.translated(error.code, error.message, error.extra)
        if known is None:
            raise
        raise known from error
