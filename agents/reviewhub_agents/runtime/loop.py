"""An event loop in a thread of its own, for steps, tools and resources that are `async`.

The thread that runs the engine stays the only one that talks to the store: what asynchronous code wants of it is put
into a queue and carried out by that thread, in the order in which it was asked for.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Engine:
    """The way back from the loop to the thread that waits for one of its coroutines."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    async def carry_out(self, act: Callable[[], T]) -> T:
        """What `act()` returns or raises, called by the engine's thread."""
        done: Future[T] = Future()

        def job() -> None:
            try:
                done.set_result(act())
            except BaseException as error:  # noqa: BLE001  it is raised where it was asked for, pauses too
                done.set_exception(error)

        self._jobs.put(job)
        return await asyncio.wrap_future(done)

    def hand_over(self, act: Callable[[], None]) -> None:
        """Has `act()` called by the engine's thread, and does not wait for it."""
        self._jobs.put(act)

    def serve(self) -> None:
        """Carries out what is asked for until `stop`."""
        while (job := self._jobs.get()) is not None:
            job()

    def stop(self) -> None:
        """Ends `serve` when everything before is done."""
        self._jobs.put(None)


class Loop:
    """The loop of one run of the engine; its thread starts with the first coroutine."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T], *, engine: Engine | None = None) -> T:
        """What `work` returns or raises. Meanwhile this thread does what `work` asks of it through `engine`."""
        serving = engine or Engine()
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        future.add_done_callback(lambda _: serving.stop())
        serving.serve()
        return future.result()

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="agent-loop", daemon=True)
            self._thread.start()
        return self._loop

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def alone(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns; tasks that it started and left behind are cancelled, so that none acts on after it."""
    before = asyncio.all_tasks()
    try:
        return await work
    finally:
        left = asyncio.all_tasks() - before
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
