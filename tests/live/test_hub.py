"""The hub: who gets which hint, from any thread."""

from __future__ import annotations

import asyncio
import threading
from uuid import UUID

from reviewhub.live.hub import BACKLOG, RESYNC, Hint, Hub

WORKSPACE = UUID(int=1)


def hint(number: int, **ids: UUID) -> Hint:
    return Hint(event_id=number, kind="run.started", workspace_id=WORKSPACE, **ids)


async def test_a_hint_reaches_every_topic_it_names() -> None:
    hub = Hub()
    ids = {
        f"{name}_id": UUID(int=number) for number, name in enumerate(("run", "pause", "request", "agent"), 2)
    }
    topics = [f"workspace:{WORKSPACE}", *(f"{name[:-3]}:{value}" for name, value in ids.items())]
    waiting = [hub.subscribe(topic) for topic in topics]
    hub.publish([hint(1, **ids)])
    assert [await one.wait(1) for one in waiting] == [[hint(1, **ids)]] * 5


async def test_only_a_policy_that_is_published_is_news_to_whoever_follows_policy() -> None:
    hub = Hub()
    with hub.subscribe(f"policy:{WORKSPACE}") as waiting, hub.subscribe(f"policy:{UUID(int=2)}") as elsewhere:
        published = Hint(event_id=2, kind="policy.published", workspace_id=WORKSPACE)
        hub.publish([hint(1), published, hint(3)])
        assert await waiting.wait(1) == [published]
        assert await elsewhere.wait(0) == []


async def test_hints_from_another_thread_arrive_in_order() -> None:
    hub = Hub()
    with hub.subscribe(f"workspace:{WORKSPACE}") as waiting:
        thread = threading.Thread(target=lambda: [hub.publish([hint(number)]) for number in range(20)])
        thread.start()
        got: list[Hint] = []
        while len(got) < 20:
            got += await waiting.wait(1)
        thread.join()
    assert [one.event_id for one in got] == list(range(20))


async def test_nobody_hears_twice_and_nobody_after_leaving() -> None:
    hub = Hub()
    with hub.subscribe(f"workspace:{WORKSPACE}", f"run:{UUID(int=2)}") as waiting:
        hub.publish([hint(1, run_id=UUID(int=2))])
        assert len(await waiting.wait(1)) == 1
    hub.publish([hint(2)])
    assert await waiting.wait(0.01) == []
    assert hub.waiting() == 0


async def test_who_is_too_slow_is_told_to_read_everything() -> None:
    hub = Hub()
    waiting = hub.subscribe(f"workspace:{WORKSPACE}")
    hub.publish([hint(number) for number in range(BACKLOG + 50)])
    assert [one.kind for one in await waiting.wait(1)] == [RESYNC]
    hub.publish([hint(1)])
    assert [one.kind for one in await waiting.wait(1)] == ["run.started"]


async def test_resync_reaches_everybody() -> None:
    hub = Hub()
    waiting = [hub.subscribe(topic) for topic in ("a", "b")]
    hub.publish([Hint(event_id=0, kind=RESYNC)])
    assert [one.kind for both in waiting for one in await both.wait(1)] == [RESYNC, RESYNC]


def test_a_loop_that_is_gone_does_not_disturb() -> None:
    hub = Hub()

    async def leave() -> None:
        hub.subscribe("workspace:x")

    asyncio.run(leave())
    hub.publish([Hint(event_id=0, kind=RESYNC)])
