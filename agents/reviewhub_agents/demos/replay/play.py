"""Playing one conversation: every step may have been done before by a process that died."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from reviewhub_agents import wire
from reviewhub_agents.client import Client
from reviewhub_agents.errors import (
    AlreadyConsumed,
    Conflict,
    FactsChanged,
    GrantExpired,
    NotAllowed,
    OutcomeConflict,
    PolicyChanged,
    Superseded,
)
from reviewhub_agents.exchange import announce

from .ledger import Ledger
from .recording import Conversation, Step, Turn

_LOOK_AGAIN = (AlreadyConsumed, FactsChanged, GrantExpired, NotAllowed, PolicyChanged)
_LIVE = frozenset({wire.RunState.RUNNING, wire.RunState.PAUSED})
_IN_DOUBT = frozenset({wire.CallState.WAITING, wire.CallState.STARTED, wire.CallState.UNKNOWN})
_OPEN_BRANCH = frozenset({wire.BranchState.RUNNING, wire.BranchState.PAUSED, wire.BranchState.RESUMING})
_POLL_SECONDS = 0.5
_LONG_POLL_SECONDS = 30.0


class Ended(Exception):
    """The replay of this conversation ends here; the argument says why."""


@dataclass(frozen=True)
class Player:
    """How conversations are played."""

    client: Client
    ledger: Ledger
    pause_reads: bool = False
    tool_seconds: float = 0.0

    def play(self, conversation: Conversation) -> str:
        """Play one conversation to its end, from wherever it stands, and say how it ended.

        Raises `ReviewHubError` when the server refuses or cannot be had; the next start goes on from there.
        """
        run = self.client.start_run(
            wire.RunStart(
                external_id=conversation.external_id,
                title=f"Replay of {conversation.name}",
                labels={"recording": conversation.external_id.rpartition("/")[0]},
            )
        )
        if run.state not in _LIVE:
            return f"over before ({run.state})"
        one = _One(self, conversation, run)
        try:
            for turn in conversation.turns:
                one.turn(turn)
            ending = "complete"
        except Ended as ended:
            ending = str(ended)
        except Superseded as rewritten:
            ending = "rewritten by a person"
            if rewritten.continue_from is not None:
                one.branches.add(rewritten.continue_from.branch)
        one.finish(ending)
        return ending


class _One:
    """One conversation on its way."""

    def __init__(self, player: Player, conversation: Conversation, run: wire.RunOut) -> None:
        self.player = player
        self.client = player.client
        self.conversation = conversation
        self.run = run
        self.parent: UUID | None = None
        self.branches = {"main"}

    def turn(self, turn: Turn) -> None:
        """All calls of one assistant message. Raises `Ended` after it when a write did not run as recorded."""
        reads, writes = turn.some(writes=False), turn.some(writes=True)
        if self.player.pause_reads:
            reads, writes = [], list(turn.steps)
        for number, chunk in _chunks(reads):
            self._observe(turn, number, chunk)
        for number, chunk in _chunks(writes):
            self._pause(turn, number, chunk)

    def finish(self, ending: str) -> None:
        """End the run on the branch it is on by now. People's forks, and what they ended meanwhile, stay."""
        for branch in self.client.get_run(self.run.id).branches:
            if branch.name in self.branches and branch.state in _OPEN_BRANCH:
                try:
                    self.client.finish(branch.id, wire.FinishBody(result={"replay": ending}))
                except Conflict:
                    if self.client.get_run(self.run.id).state in _LIVE:
                        raise

    def _key(self, what: str, turn: Turn, number: int) -> str:
        """The same for the same place of the same run, also after a restart."""
        place = f"{self.conversation.external_id}\n{what}\n{turn.position}\n{number}"
        return f"replay-{sha256(place.encode()).hexdigest()[:40]}"

    def _observe(self, turn: Turn, number: int, steps: Sequence[Step]) -> None:
        calls = [
            wire.ObservedCall(
                tool=step.tool,
                arguments_text=step.arguments_text,
                call_id=step.call_id,
                effect=wire.Effect.READ,
                outcome=wire.HowItEnded(**_ended(step)),
            )
            for step in steps
        ]
        body = wire.ObservationBody(tool_calls=calls)
        self.client.observe(self.run.id, body, key=self._key("observe", turn, number))

    def _pause(self, turn: Turn, number: int, steps: Sequence[Step]) -> None:
        state = {"messages": self.conversation.messages[: turn.position + 1]}
        body = wire.PauseBody(
            checkpoint=wire.CheckpointIn(
                parent=self.parent, node=steps[0].tool, step=turn.position, state=state
            ),
            tool_calls=[
                wire.ToolCallIn(
                    tool=step.tool,
                    arguments_text=step.arguments_text,
                    call_id=step.call_id,
                    effect=wire.Effect.ONCE if step.is_write else wire.Effect.READ,
                    reason=f"Message {turn.position} of the recording.",
                )
                for step in steps
            ],
        )
        pause = self.client.pause(self.run.id, body, key=self._key("pause", turn, number))
        if pause.checkpoint is not None:
            self.parent = pause.checkpoint.id
        announce(pause)
        pause = self.client.wait(pause.id)
        endings = [self._write(turn, step, pause.id, place) for place, step in enumerate(steps)]
        ending = next((ending for ending in endings if ending), None)
        if ending:
            raise Ended(ending)

    def _write(self, turn: Turn, step: Step, pause: UUID, place: int) -> str | None:
        """Bring one write to its end. Returns why it did not run as recorded, or None when it did."""
        about: dict[str, Any] = {
            "run": self.conversation.external_id,
            "position": turn.position,
            "tool": step.tool,
            "write": step.is_write,
        }
        note, mine = self.player.ledger.note, 0
        while True:
            call = self.client.get_pause(pause).tool_calls[place]
            for attempt in range(1, call.attempt + 1):
                note("attempt", call=str(call.id), attempt=attempt, **about)
            if call.state is wire.CallState.ALLOWED:
                if call.decision is not None and call.decision.edited:
                    note("refusal", call=str(call.id), why="edit", **about)
                    return f"edited at message {turn.position} ({step.tool})"
                mine = self._run(call, step, about)
            elif call.state is wire.CallState.SUCCEEDED:
                note("effect", call=str(call.id), attempt=call.attempt, by_person=not mine, **about)
                return None
            elif call.state is wire.CallState.FAILED:
                note("failure", call=str(call.id), attempt=call.attempt, **about)
                return None
            elif call.state in _IN_DOUBT:
                self._in_doubt(call, pause)
            else:
                why = call.decision.type.value if call.decision is not None else call.state.value
                note("refusal", call=str(call.id), why=why, **about)
                return f"{why} at message {turn.position} ({step.tool})"

    def _run(self, call: wire.ToolCallOut, step: Step, about: dict[str, Any]) -> int:
        """Consume, act, record. Returns the attempt, or 0 when the call may not run (any more): look again."""
        digest = call.grant.digest if call.grant is not None else call.digest
        try:
            granted = self.client.consume(call.id, wire.ConsumeBody(digest=digest))
        except _LOOK_AGAIN:
            time.sleep(_POLL_SECONDS)
            return 0
        identity: dict[str, Any] = {"call": str(call.id), "attempt": granted.attempt}
        self.player.ledger.note("attempt", **identity, **about)
        time.sleep(self.player.tool_seconds)
        if step.error is None:
            self.player.ledger.note("act", **identity, arguments=granted.arguments_text, **about)
        outcome = wire.OutcomeBody(**_ended(step), attempt=granted.attempt)
        self.client.outcome(call.id, outcome)
        kind = "failure" if outcome.status is wire.OutcomeStatus.FAILED else "effect"
        self.player.ledger.note(kind, **identity, **about)
        return granted.attempt

    def _in_doubt(self, call: wire.ToolCallOut, pause: UUID) -> None:
        """Waiting again, or started by a process that is no more: say so, and let people find out what happened."""
        if call.state is wire.CallState.STARTED:
            body = wire.OutcomeBody(
                status=wire.OutcomeStatus.UNKNOWN,
                error="The process that started it was killed.",
                attempt=call.attempt,
            )
            try:
                self.client.outcome(call.id, body)
            except OutcomeConflict:
                return  # It ended in this very moment: the next look shows how.
        time.sleep(_POLL_SECONDS)
        self.client.get_pause(pause, wait=_LONG_POLL_SECONDS)


def _chunks(steps: Sequence[Step]) -> Iterator[tuple[int, Sequence[Step]]]:
    most = wire.Limits().tool_calls
    for start in range(0, len(steps), most):
        yield start, steps[start : start + most]


def _ended(step: Step) -> dict[str, Any]:
    """How the recording says that a call ended."""
    if step.error is not None:
        return {"status": wire.OutcomeStatus.FAILED, "error": step.error}
    return {"status": wire.OutcomeStatus.SUCCEEDED, "result": step.result}
