"""Who waits in this process for what: topics, and the hints that the tailer publishes to them.

A hint says "there may be something new to read", never what to believe: whoever gets one reads the tables again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Final
from uuid import UUID

RESYNC: Final = "resync"
"""Kind of the hint that stands for "more than can be listed": read everything shown again."""

PUBLISHED: Final = "policy.published"
"""Kind of the event after which a call that waits may be answered otherwise."""

BACKLOG = 500
"""Hints kept for one subscriber that is slow to fetch them; beyond that it gets one RESYNC instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """One audit event as the tailer saw it: ids only. `event_id` is 0 for RESYNC."""

    event_id: int
    kind: str
    workspace_id: UUID | None = None
    run_id: UUID | None = None
    pause_id: UUID | None = None
    request_id: UUID | None = None
    agent_id: UUID | None = None

    def topics(self) -> list[str]:
        """The topics that this hint belongs to: `workspace:<uuid>`, `run:<uuid>` and so on; `policy:<uuid>` of a
        workspace whose policy changed."""
        named = (
            ("workspace", self.workspace_id),
            ("run", self.run_id),
            ("pause", self.pause_id),
            ("request", self.request_id),
            ("agent", self.agent_id),
            ("policy", self.workspace_id if self.kind == PUBLISHED else None),
        )
        return [f"{name}:{value}" for name, value in named if value is not None]


class Subscription:
    """One waiter on one event loop. Use it as a context manager; made by `Hub.subscribe`."""

    def __init__(self, hub: Hub, topics: frozenset[str]) -> None:
        self.topics = topics
        self.loop = asyncio.get_running_loop()
        self._hub = hub
        self._hints: deque[Hint] = deque()
        self._arrived = asyncio.Event()
        self.closed = False

    async def wait(self, seconds: float | None = None) -> list[Hint]:
        """The hints since the last call, waiting up to `seconds` for the first (None: without limit).

        Empty after a time-out, and at once when the hub is closed because the process is stopping (`closed`).
        """
        if not self.closed:
            try:
                await asyncio.wait_for(self._arrived.wait(), seconds)
            except TimeoutError:
                return []
        self._arrived.clear()
        hints = list(self._hints)
        self._hints.clear()
        return hints

    def offer(self, hint: Hint) -> None:
        """Takes one hint. Only on the subscription's own loop."""
        if hint.kind == RESYNC or len(self._hints) >= BACKLOG:
            self._hints.clear()
            self._hints.append(Hint(event_id=0, kind=RESYNC))
        elif not (self._hints and self._hints[0].kind == RESYNC):
            self._hints.append(hint)
        self._arrived.set()

    def close(self) -> None:
        """Ends every wait, now and later. Only on the subscription's own loop."""
        self.closed = True
        self._arrived.set()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hub.forget(self)


class Hub:
    """The subscriptions of this process. `subscribe` belongs to an event loop; everything else is thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_topic: dict[str, set[Subscription]] = {}
        self._closing = False

    def subscribe(self, *topics: str) -> Subscription:
        """A subscription to `topics`, counted from now: subscribe first, then read, then wait."""
        subscription = Subscription(self, frozenset(topics))
        with self._lock:
            for topic in subscription.topics:
                self._by_topic.setdefault(topic, set()).add(subscription)
            closing = self._closing
        if closing:
            subscription.close()
        return subscription

    def forget(self, subscription: Subscription) -> None:
        """Removes a subscription; a second time does nothing."""
        with self._lock:
            for topic in subscription.topics:
                waiting = self._by_topic.get(topic, set())
                waiting.discard(subscription)
                if not waiting:
                    self._by_topic.pop(topic, None)

    def publish(self, hints: Iterable[Hint]) -> None:
        """Hands each hint to whoever waits for one of its topics; one wake-up per event loop, not per waiter."""
        batches: dict[asyncio.AbstractEventLoop, list[tuple[Subscription, Hint]]] = {}
        with self._lock:
            for hint in hints:
                if hint.kind == RESYNC:
                    waiting = self._everyone()
                else:
                    waiting = set().union(*(self._by_topic.get(topic, ()) for topic in hint.topics()))
                for subscription in waiting:
                    batches.setdefault(subscription.loop, []).append((subscription, hint))
        for loop, batch in batches.items():
            _call(loop, _offer_all, batch)

    def close(self) -> None:
        """Ends all waits, since the process is about to stop; later subscriptions are born closed."""
        with self._lock:
            self._closing = True
            everyone = self._everyone()
        for subscription in everyone:
            _call(subscription.loop, subscription.close)

    def open(self) -> None:
        """Takes subscriptions again after `close` (a server started anew in the same process)."""
        with self._lock:
            self._closing = False

    def waiting(self) -> int:
        """How many subscriptions there are."""
        with self._lock:
            return len(self._everyone())

    def runs(self) -> set[UUID]:
        """The runs that somebody follows."""
        with self._lock:
            topics = list(self._by_topic)
        return {UUID(topic.removeprefix("run:")) for topic in topics if topic.startswith("run:")}

    def is_followed(self) -> bool:
        """Whether somebody follows a workspace or a run: pages do, agents that wait do not."""
        with self._lock:
            return any(topic.startswith(("workspace:", "run:")) for topic in self._by_topic)

    def _everyone(self) -> set[Subscription]:
        return set().union(*self._by_topic.values())


def _offer_all(batch: list[tuple[Subscription, Hint]]) -> None:
    for subscription, hint in batch:
        subscription.offer(hint)


def _call(loop: asyncio.AbstractEventLoop, function: object, *args: object) -> None:
    """Runs `function` on `loop`; a loop that was closed meanwhile has no waiter left to wake."""
    try:
        loop.call_soon_threadsafe(function, *args)  # type: ignore[arg-type]
    except RuntimeError:
        if not loop.is_closed():
            raise


hub = Hub()
"""The one hub of this process."""
