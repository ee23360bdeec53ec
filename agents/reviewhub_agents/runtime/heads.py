"""Where a run of the engine is, and how much of that is saved."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from reviewhub_agents import canonical

from .errors import ReplayDiverged
from .modes import Checkpoints
from .store import Kept, Snapshot, Stop, Store, WrittenAs

logger = logging.getLogger(__name__)
END = "end"


class Behind:
    """Saves one snapshot in a thread while the next step runs: bounded, so who is faster waits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool: ThreadPoolExecutor | None = None
        self._under_way: Future[Snapshot] | None = None

    @property
    def lag(self) -> int:
        """How many steps the saved state is behind: 0 or 1."""
        return 1 if self._under_way is not None and not self._under_way.done() else 0

    def put(self, at: Snapshot) -> None:
        """Begins to save. Only when nothing is under way: call `land` first."""
        assert self._under_way is None, "one at a time"
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="agent-save")
        self._under_way = self._pool.submit(save, self._store, at)

    def land(self) -> Snapshot | None:
        """Waits for what is under way; the snapshot, or None when there was nothing. Raises what saving raised."""
        if self._under_way is None:
            return None
        future, self._under_way = self._under_way, None
        return future.result()

    def close(self) -> None:
        """Ends the thread."""
        if self._pool is not None:
            self._pool.submit(self._store.leave_thread)
            self._pool.shutdown()
            self._pool = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """The end of a step, as the log of an event-sourced agent has it: the next node and the hash of the state."""

    node: str
    digest: str


class Head:
    """The place of a run: what is saved (`saved`), and where the engine is by now (`at`, without id while unsaved)."""

    def __init__(
        self,
        store: Store,
        snapshot: Snapshot,
        *,
        mode: Checkpoints,
        snapshot_every: int,
        written_as: WrittenAs | None,
    ) -> None:
        self.saved = snapshot
        self.at = snapshot
        self._store = store
        self._mode = mode
        self._every = snapshot_every
        self._written_as = written_as
        self._due = False
        self._unit = False
        self._behind = Behind(store)

    @property
    def lag(self) -> int:
        """How many steps the saved state is behind while it is written by the side."""
        return self._behind.lag

    def finished_something(self) -> None:
        """A tool call has its result, or people have decided: worth a snapshot at the end of the step."""
        self._unit = True

    def arrive(self, *, node: str, state: str, milestone: bool) -> None:
        """The engine has come to the end of a step, or to a milestone in it."""
        came_from = self.at
        unit, self._unit = self._unit, False
        self.at = Snapshot(
            id="", node=node, step=came_from.step + 1, state=state, written_as=self._written_as
        )
        if self._mode is Checkpoints.EVENTS:
            self._log(came_from)
        if self._mode is Checkpoints.EVERY or milestone or node == END:
            self.flush()
        elif self._mode is Checkpoints.ASYNC:
            self._land()
            self._behind.put(self.at)
        elif self._mode is Checkpoints.UNIT:
            self._due = self._due or unit
        elif self._mode is Checkpoints.EVENTS and self.at.step - self.saved.step >= self._every:
            self.flush()

    def flush(self) -> None:
        """Saves where the engine is, unless it is saved."""
        self._land()
        if self.at.id == "":
            self.at = save(self._store, self.at)
        self._stand(self.at)

    def touch(self) -> None:
        """Something that costs begins: what is due is saved first."""
        if self._due:
            self.flush()

    def for_pause(self, *, needs_state: bool) -> Snapshot:
        """The snapshot at which to ask; one without id is to be saved in the commit of the pause.

        Args:
            needs_state: people look at it, or something happens that cannot be undone; a plain read asks at what
                is saved.
        """
        self._land()
        if needs_state:
            return self.at
        self.touch()
        return self.saved

    def asked(self, at: Snapshot, stop: Stop) -> None:
        """The pause is made, and with it perhaps the snapshot."""
        if at.id == "":
            self.at = replace(at, id=stop.checkpoint)
            self._stand(self.at)

    def _land(self) -> None:
        landed = self._behind.land()
        if landed is None:
            return
        if landed.step == self.at.step:
            self.at = landed
        self._stand(landed)

    def _stand(self, snapshot: Snapshot) -> None:
        self.saved, self._due = snapshot, False

    def _log(self, came_from: Snapshot) -> None:
        """Writes the event of this step, or compares with the one that is written: a replay has to come to the same."""
        key = event_key(came_from)
        event = Event(node=self.at.node, digest=canonical.body_digest(canonical.reread(self.at.state)))
        known = self._store.kept(key)
        if known is None:
            self._store.keep(key, event_kept(event))
        elif known != event_kept(event):
            raise ReplayDiverged(f"step {came_from.node} ended otherwise than the first time ({key})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What is under way is waited for; after an error its own error is only logged."""
        try:
            self._land()
        except Exception:
            if error is None:
                raise
            logger.warning("a snapshot was not saved", exc_info=True)
        finally:
            self._behind.close()


def save(store: Store, at: Snapshot) -> Snapshot:
    """Saves a snapshot, and says in the log how long that took."""
    begun = time.monotonic()
    made = store.save(node=at.node, step=at.step, state=at.state)
    logger.debug("saved step %d in %.4f s", at.step, time.monotonic() - begun)
    return made


def event_key(at: Snapshot) -> str:
    """Where the event of the step that began at `at` is kept."""
    return f"{at.step}/{at.node[:100]}/end"


def event_kept(event: Event) -> Kept:
    """How an event is kept."""
    return Kept(digest=event.digest, value=canonical.dumps(event.node))
