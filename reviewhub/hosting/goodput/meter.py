"""A store that measures: how long the engine's calls to it take, and what the agent's code takes between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from reviewhub_agents import weight
from reviewhub_agents.runtime import messages
from reviewhub_agents.runtime.state import StateText
from reviewhub_agents.runtime.store import (
    Call,
    Kept,
    Ledger,
    Loaded,
    Next,
    Permit,
    Proposal,
    Snapshot,
    Status,
    Stop,
)

from reviewhub.hosting.goodput.rules import Seen, Spent, Tally
from reviewhub.hosting.models import Shift
from reviewhub.hosting.store import BranchStore
from reviewhub.hosting.usage import usage_of
from reviewhub.resumptions.claim import Claimed
from reviewhub.toolcalls.models import Pause


class Meter:
    """Measures one shift. What other threads do for it is not its worker's time; their saves are only counted."""

    def __init__(self, shift: Shift, *, recovery: float, write: Callable[[Shift, Spent], None]) -> None:
        self.shift = shift
        self.failed = False
        self.ending = Shift.Ending.PAUSED
        self._write = write
        self._tally = Tally(time.monotonic(), recovery=recovery)
        self._lock = threading.Lock()
        self._thread = threading.get_ident()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around what runs the branch: an error that leaves it means that the work after the last save is lost."""
        try:
            yield
        except Exception:
            self.failed = True
            raise

    @contextmanager
    def timing(self, seen: Seen, *, state: str = "") -> Iterator[list[Seen]]:
        """Around one call to the store; the block may put another `Seen` into the list. `state` is what is saved."""
        made = state.seconds if isinstance(state, StateText) else 0.0
        says, begun = [seen], time.monotonic()
        yield says
        with self._lock:
            if threading.get_ident() == self._thread:
                self._tally.add(says[-1], begun, time.monotonic(), made=made)
            elif seen is Seen.SAVE:
                self._tally.aside(made=made)

    def tokens(self, *, paid: int = 0, spared: int = 0) -> None:
        """A model's answer was recorded, or found."""
        with self._lock:
            self._tally.tokens(paid=paid, spared=spared)

    def spent(self) -> Spent:
        """The figures up to now."""
        with self._lock:
            return self._tally.spent(time.monotonic(), kept=not self.failed)

    def write(self) -> None:
        """Writes the figures up to now down, for the case that this process dies."""
        self._write(self.shift, self.spent())


class MeteredStore(BranchStore):
    """Keeps the branch as `BranchStore` does, and measures it."""

    def __init__(self, claimed: Claimed, meter: Meter) -> None:
        super().__init__(claimed)
        self._meter = meter

    def load(self) -> Loaded:
        """Measured as recovery."""
        with self._meter.timing(Seen.LOAD):
            return super().load()

    def save(self, *, node: str, step: int, state: str) -> Snapshot:
        """Measured as saving."""
        with self._meter.timing(Seen.SAVE, state=state):
            return super().save(node=node, step=step, state=state)

    def pause(
        self, *, key: str, snapshot: Snapshot, proposals: Sequence[Proposal], begin: bool = False
    ) -> Stop:
        """Measured as ledger, as replay when it is one that was made before, and as saving when it saves on the way."""
        seen, state = (Seen.LEDGER, "") if snapshot.id else (Seen.SAVE, snapshot.state)
        with self._meter.timing(seen, state=state) as says:
            stop = super().pause(key=key, snapshot=snapshot, proposals=proposals, begin=begin)
            if Pause.objects.filter(pk=stop.id, created_at__lt=self._meter.shift.began_at).exists():
                says.append(Seen.FOUND)
            return stop

    def consume(self, call: Call, *, facts: dict[str, Any]) -> Permit:
        """Measured as ledger."""
        with self._meter.timing(Seen.LEDGER):
            return super().consume(call, facts=facts)

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
        """Measured as ledger."""
        with self._meter.timing(Seen.LEDGER):
            return super().outcome(
                call, attempt=attempt, status=status, result=result, error=error, then=then
            )

    def kept(self, key: str) -> Kept | None:
        """Measured as replay when it is there."""
        with self._meter.timing(Seen.MISSED) as says:
            found = super().kept(key)
            if found is not None:
                says.append(Seen.FOUND)
                self._meter.tokens(spared=_tokens(key, found))
            return found

    def keep(self, key: str, kept: Kept) -> None:
        """Measured as ledger."""
        with self._meter.timing(Seen.LEDGER):
            super().keep(key, kept)
        self._meter.tokens(paid=_tokens(key, kept))

    def start_child(self, *, key: str, graph: str, given: str, title: str) -> None:
        """Measured as ledger."""
        with self._meter.timing(Seen.LEDGER):
            super().start_child(key=key, graph=graph, given=given, title=title)

    def ledger(self, since: int) -> Ledger:
        """Measured as recovery."""
        with self._meter.timing(Seen.LOAD):
            return super().ledger(since)

    def places(self, since: int) -> set[str]:
        """Measured as recovery."""
        with self._meter.timing(Seen.LOAD):
            return super().places(since)

    def finish(self, *, result: str, call: str | None = None) -> None:
        """Measured as ledger: the last thing that is written."""
        with self._meter.timing(Seen.LEDGER):
            super().finish(result=result, call=call)
        self._meter.ending = Shift.Ending.FINISHED


def _tokens(key: str, kept: Kept) -> int:
    """Tokens of a recorded model call, by its provider's word, else estimated from the answer; 0 for other records."""
    used = usage_of(key=key, value=messages.kept_text(kept))
    return 0 if used is None else used.input_tokens + used.output_tokens or weight.tokens(kept.value)
