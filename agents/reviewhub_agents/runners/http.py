"""The engine's store outside of the hub: the same agent in its author's own process, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from reviewhub_agents import canonical, wire
from reviewhub_agents.client import Client
from reviewhub_agents.errors import ApiError, Invalid, NotFound
from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.errors import PlanChanged
from reviewhub_agents.runtime.hints import Saved, saved
from reviewhub_agents.runtime.replay import step_of
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

R = TypeVar("R")


class HttpStore:
    """Keeps one branch of one run, whose lease it takes; a second process that claims it later shuts this one out."""

    def __init__(self, client: Client, run: UUID, *, branch: str = "main", owner: str = "") -> None:
        """Claims the branch. Raises Fenced when another process holds it, or it has ended."""
        self._client = client
        self._run = run
        found = client.get_run(run)
        self._input = canonical.dumps(found.input)
        self.graph = found.graph
        self._name = branch
        self._written_as: WrittenAs | None = None
        self._ungated_until = 0.0
        self._branch = next(one.id for one in found.branches if one.name == branch)
        with _translated():
            held = client.claim_branch(
                self._branch, wire.ClaimBody(owner=owner) if owner else wire.ClaimBody()
            )
        self._epoch = held.epoch
        self._saved: Saved | None = None
        self._head = next(one.head for one in client.get_run(run).branches if one.name == branch)

    def load(self) -> Loaded:
        """The head of the branch."""
        if self._head is None:
            return Loaded(input=self._input, snapshot=None)
        with _translated():
            head = self._client.get_checkpoint(self._head, state="full")
        return Loaded(input=self._input, snapshot=messages.snapshot_of(head))

    def declare(self, declaration: Declaration) -> None:
        """Says what the states are that are saved from now on."""
        with _translated():
            self._client.register_state(*messages.registration(declaration))
        self._written_as = declaration.written_as

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """Saves a snapshot as the new head; only on top of the head that this process knows."""
        parent = str(self._head) if self._head else None
        body = messages.checkpoint_save(
            branch=self._name,
            parent=parent,
            node=node,
            step=step,
            state=state,
            epoch=self._epoch,
            written_as=self._written_as,
            after=self._saved,
        )
        with _translated():
            made = self._client.save_checkpoint(self._run, body)
        self._head, self._saved = made.id, saved(state, made.hash)
        return Snapshot(id=str(self._head), node=node, step=step, state=state, written_as=self._written_as)

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """Asks for calls, or finds the pause made under the same key; a new snapshot is saved before it."""
        if snapshot.id == "":
            snapshot = self.save(node=snapshot.node, step=snapshot.step, state=snapshot.state)
        body = messages.pause_body(
            branch=self._name,
            checkpoint=wire.CheckpointIn(id=UUID(snapshot.id)),
            proposals=list(proposals),
            kind=wire.ResumeKind.POLL,
            epoch=self._epoch,
        )
        with _translated():
            made = self._client.pause(self._run, body, key=f"{self._branch}/{key}")
        return messages.stop_of(made, list(proposals))

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """Uses the grant of an allowed call; the client's key of this attempt lives in memory only."""
        body = wire.ConsumeBody.from_text(
            canonical.dumps({"digest": call.digest, "facts": facts, "epoch": self._epoch})
        )
        with _translated():
            taken = self._client.consume(UUID(call.id), body)
        return Permit(
            arguments=taken.arguments_text, idempotency_key=taken.tool_idempotency_key, attempt=taken.attempt
        )

    def progress(self, call: Call, *, partial: str) -> None:
        """Keeps what a running tool has got so far."""
        with _translated():
            self._client.progress(UUID(call.id), wire.ProgressBody(partial=canonical.reread(partial)))

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
        """Writes down how a started call ended; taken whoever holds the branch by now."""
        with _translated():
            self._client.outcome(
                UUID(call.id),
                messages.outcome_body(attempt=attempt, status=status, result=result, error=error),
            )
        return None

    def kept(self, key: str) -> Kept | None:
        """A recorded result of this branch."""
        try:
            with _translated():
                found = self._client.get_record(self._branch, key)
        except NotFound:
            return None
        return messages.kept_of(canonical.dumps(found.value))

    def keep(self, key: str, kept: Kept) -> None:
        """Records a result; the first one under a key stays."""
        body = wire.RecordBody(value=canonical.reread(messages.kept_text(kept)), epoch=self._epoch)
        with _translated():
            self._client.record(self._branch, key, body)

    def ledger(self, since: int) -> Ledger:
        """What this branch recorded at places of step `since` and later; older pages are not asked for."""
        records = {
            row.key: messages.kept_of(canonical.dumps(row.value))
            for row in _newer(self._records(), since, lambda row: row.key)
        }
        calls = _newer(self._calls(), since, lambda call: call.call_id)
        return Ledger(records=records, calls={call.call_id: messages.call_of(call) for call in calls})

    def places(self, since: int) -> set[str]:
        """Where that was."""
        return self.ledger(since).places()

    def _records(self) -> Iterator[wire.RecordOut]:
        cursor: str | None = None
        while cursor != "":
            with _translated():
                page = self._client.list_records(self._branch, cursor=cursor)
            yield from page.items
            cursor = page.next or ""

    def _calls(self) -> Iterator[wire.ToolCallOut]:
        cursor: str | None = None
        while cursor != "":
            with _translated():
                page = self._client.list_tool_calls(self._branch, cursor=cursor)
            yield from page.items
            cursor = page.next or ""

    def nearest(self, step: int) -> Snapshot | None:
        """The newest snapshot of this branch that is not after `step`."""
        cursor: str | None = None
        while cursor != "":
            with _translated():
                page = self._client.list_checkpoints(self._run, branch=str(self._branch), cursor=cursor)
            for one in page.items:
                if one.step <= step:
                    with _translated():
                        return messages.snapshot_of(self._client.get_checkpoint(one.id, state="full"))
            cursor = page.next or ""
        return None

    def now(self) -> datetime:
        """By this process's own clock: the hub is not asked."""
        return datetime.now(UTC)

    def sleep(self, *, until: str) -> bool:
        """Whether it is that time; if not, `GET /resumptions` has the branch then."""
        body = wire.SleepBody(until=datetime.fromisoformat(until), epoch=self._epoch)
        with _translated():
            return self._client.sleep(self._branch, body).due

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """Starts a child run, or finds it; `GET /resumptions` has its branch then."""
        body = wire.ChildStart(
            key=key, graph=graph, input=canonical.reread(given), title=title, epoch=self._epoch
        )
        with _translated():
            self._client.start_child(self._branch, body)

    def wait_for(self, children: Sequence[str] | None) -> list[ChildEnd] | None:
        """How children ended; if one goes on, `GET /resumptions` has this branch when none does."""
        given: dict[str, Any] = {} if children is None else {"keys": list(children)}
        with _translated():
            said = self._client.wait_for(self._branch, wire.WaitBody(epoch=self._epoch, **given))
        return [messages.child_end(one) for one in said.children] if said.over else None

    def leave_thread(self) -> None:
        """The client's connections are shared by all threads."""

    def plan(self) -> Plan | None:
        """The plan in force; None when there is none."""
        with _translated():
            version = self._plan_version()
            return None if version is None else messages.plan_of(self._client.get_plan(self._run, version))

    def write_plan(self, *, key: str, intent: Intent, base: int | None, call: str | None = None) -> int:
        """Writes the next version, or finds the one written under the same key."""
        body = messages.plan_body(branch=self._name, intent=intent, base=base, epoch=self._epoch, call=call)
        with _translated():
            return self._client.write_plan(self._run, body, key=f"{self._branch}/{key}").version

    def mark_step(self, *, step: str, status: str, note: str) -> None:
        """Says how far a step of the plan in force is."""
        body = messages.marks_body(step=step, status=status, note=note, epoch=self._epoch)
        version = self._plan_version()
        if version is None:
            raise PlanChanged("there is no plan")
        try:
            with _translated():
                self._client.mark_steps(self._run, version, body)
        except Invalid as error:
            if messages.has_step(self.plan(), step):
                raise
            raise PlanChanged(f"the plan in force has no step {step}") from error

    def _plan_version(self) -> int | None:
        found = self._client.get_run(self._run).branches
        return next(one.plan for one in found if one.id == self._branch)

    def signals(self) -> Signals:
        """What speaks against the plan in force."""
        with _translated():
            return messages.signals_of(self._client.signals(self._branch))

    def judged(self, call: Call, came: Came) -> None:
        """Writes down what a verifier said."""
        with _translated():
            self._client.give_verdict(UUID(call.id), messages.verdict_body(came))

    def enter(self, *, node: str, step: int) -> str | None:
        """What has to be asked before a step. That policy is about no step is believed for a second."""
        if time.monotonic() < self._ungated_until:
            return None
        with _translated():
            said = self._client.enter(self._branch, wire.EnterBody(node=node[:100], step=step))
        if not said.gated:
            self._ungated_until = time.monotonic() + UNGATED_SECONDS
        return said.arguments_text

    def finish(self, *, result: str, call: str | None = None) -> None:
        """Ends the branch as succeeded."""
        given: dict[str, Any] = {"call": UUID(call)} if call else {}
        body = wire.FinishBody(result=canonical.reread(result), epoch=self._epoch, **given)
        with _translated():
            self._client.finish(self._branch, body)

    def fail(self, *, error: str) -> None:
        """Ends the branch as failed."""
        with _translated():
            self._client.fail(self._branch, wire.FailBody(error=error, epoch=self._epoch))

    def heartbeat(self) -> None:
        """Renews the lease; raises Fenced when another process holds the branch, or it goes on elsewhere."""
        with _translated():
            self._client.heartbeat(self._branch, wire.HeartbeatBody(epoch=self._epoch))


def _newer(rows: Iterable[R], since: int, key: Callable[[R], str]) -> Iterator[R]:
    """Those of step `since` and later, from rows of which the newest come first. Keys of other hands are passed by."""
    for row in rows:
        step = step_of(key(row))
        if 0 <= step < since:
            return
        if step >= since:
            yield row


@contextmanager
def _translated() -> Iterator[None]:
    """Refusals of the hub in the engine's words; what the engine has no word for stays what it is."""
    try:
        yield
    except ApiError as error:
        known = messages.translated(error.problem.code, str(error), error.problem.extra)
        if known is None:
            raise
        raise known from error
