"""Resources, timers, shorter prompts, partial results, the log."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from reviewhub_agents.runtime import (
    END,
    Context,
    ContextOverflow,
    Graph,
    GraphError,
    Resource,
    Scripted,
    ToolRun,
    run,
)
from reviewhub_agents.runtime.fit import estimate, fit
from reviewhub_agents.runtime.memory import MemoryStore

NOON = datetime.now(UTC)


class Note(BaseModel):
    text: str = ""
    messages: list[dict[str, Any]] = []


def test_resources_are_made_when_used_and_anew_in_each_process_and_closed() -> None:
    graph, log = Graph("shop", Note), list[str]()

    @graph.resource
    def shop() -> Iterator[sqlite3.Connection]:
        log.append("opened")
        made = sqlite3.connect(":memory:")
        yield made
        made.close()
        log.append("closed")

    @graph.resource
    def limit() -> int:
        return 7

    @graph.tool("ask", effect="once")
    def ask(args: Note, run: ToolRun) -> Any:
        """Asks the shop."""
        return run.use(shop).execute("select 40 + ?", [run.use(limit)]).fetchone()[0]

    @graph.step(to=["tell"])
    def look(state: Note, ctx: Context[Note]) -> None:
        """Needs nothing."""

    @graph.step(to=[END])
    def tell(state: Note, ctx: Context[Note]) -> None:
        assert ctx.use(shop) is ctx.use(shop)
        state.text = str(ctx.tool("ask", {}).value)

    store = MemoryStore()
    assert run(graph, store) == "paused"
    assert log == ["opened", "closed"]
    store.decide("approve")
    assert run(graph, store) == "finished"
    assert log == ["opened", "closed"] * 2
    assert '"text":"47"' in store.snapshots[-1].state


def test_a_resource_of_another_agent_is_refused() -> None:
    graph = Graph("shop", Note)

    @graph.step(to=[END])
    def tell(state: Note, ctx: Context[Note]) -> None:
        ctx.use(Resource("elsewhere", lambda: 1))

    with pytest.raises(GraphError, match="no resource elsewhere"):
        run(graph, MemoryStore())
    with pytest.raises(GraphError, match="already"):
        for _ in range(2):
            graph.resource(tell)  # type: ignore[arg-type]


@pytest.mark.parametrize("when", [NOON + timedelta(hours=3), timedelta(hours=3)])
def test_a_timer_holds_no_process_and_rings_once(when: Any) -> None:
    graph, woke = Graph("sleeper", Note), list[str]()

    @graph.step(to=["after"])
    def before(state: Note, ctx: Context[Note]) -> None:
        state.text = "before"

    @graph.step(to=[END])
    def after(state: Note, ctx: Context[Note]) -> None:
        ctx.sleep_until(when)
        woke.append(state.text)

    now = NOON
    store = MemoryStore(clock=lambda: now)
    assert run(graph, store) == "paused"
    until = store.sleeps_until
    assert until is not None
    assert (store.state, until - NOON < timedelta(hours=4)) == ("sleeping", True)
    assert store.snapshots[-1].node == "after"
    now = NOON + timedelta(hours=1)
    store.wake()  # too early: it sleeps on, until the same time
    assert run(graph, store) == "paused"
    assert (woke, store.sleeps_until) == ([], until)
    now = until
    store.wake()
    assert run(graph, store) == "finished"
    assert woke == ["before"]


def test_a_time_without_zone_is_refused() -> None:
    graph = Graph("sleeper", Note)

    @graph.step(to=[END])
    def nap(state: Note, ctx: Context[Note]) -> None:
        ctx.sleep_until(datetime(2026, 5, 1))  # noqa: DTZ001

    with pytest.raises(ValueError, match="time zone"):
        run(graph, MemoryStore())


def test_what_an_earlier_attempt_kept_is_there_for_the_next() -> None:
    graph, met = Graph("copier", Note), list[Any]()

    @graph.tool("copy", effect="idempotent", tries=2, wait=0)
    def copy(args: Note, run: ToolRun) -> int:
        """Copies."""
        met.append(run.partial)
        if run.attempt == 1:
            run.progress({"rows": 40})
            raise ConnectionError
        return 100 - run.partial["rows"]

    @graph.step(to=[END])
    def work(state: Note, ctx: Context[Note]) -> None:
        state.text = str(ctx.tool("copy", {}).value)

    store = MemoryStore(policy=lambda proposal: "allowed")
    run(graph, store)
    assert met == [None, {"rows": 40}]
    assert '"text":"60"' in store.snapshots[-1].state


def test_the_log_says_where_and_whether_it_is_a_replay(caplog: pytest.LogCaptureFixture) -> None:
    graph = Graph("talker", Note)

    @graph.step(to=[END])
    def talk(state: Note, ctx: Context[Note]) -> None:
        ctx.log("asking", order="8812")
        ctx.record("x", lambda: 1)
        ctx.gate("go", {})
        ctx.log("answered")

    caplog.set_level(logging.INFO, logger="reviewhub_agents.agent")
    store = MemoryStore()
    run(graph, store)
    store.decide("approve")
    run(graph, store)
    said: Any = [(one.message, one.replay, one.fields) for one in caplog.records]  # type: ignore[attr-defined]
    assert said == [
        ("asking", False, {"order": "8812"}),
        ("asking", True, {"order": "8812"}),
        ("answered", False, {}),
    ]
    assert "asking" not in store.snapshots[-1].state


# Shorter prompts.

LONG = "word " * 40


def conversation(turns: int) -> list[dict[str, Any]]:
    """Instructions, a wish, and `turns` calls of tools with results, in OpenAI's and Anthropic's forms in turn."""
    found: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "I want my money back."},
    ]
    for n in range(turns):
        if n % 2:
            found += [
                {"role": "assistant", "content": "", "tool_calls": [{"id": f"c{n}"}, {"id": f"d{n}"}]},
                {"role": "tool", "tool_call_id": f"c{n}", "content": LONG},
                {"role": "tool", "tool_call_id": f"d{n}", "content": LONG},
            ]
        else:
            found += [
                {"role": "assistant", "content": [{"type": "tool_use", "id": f"c{n}"}]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": LONG}],
                },
            ]
    return found


def test_what_fits_is_left_as_it_is() -> None:
    whole = conversation(3)
    assert fit(whole, 100_000) == whole
    assert fit([], 10) == []


@pytest.mark.parametrize("tokens", range(225, 1200, 75))
def test_a_shorter_prompt_fits_and_parts_no_call_from_its_results(tokens: int) -> None:
    whole = conversation(14)
    short = fit(whole, tokens)
    assert estimate(short) <= tokens
    assert short[:2] == whole[:2]
    left_out = len(whole) - (len(short) - 1)
    assert short[2]["content"] == f"[{left_out} earlier messages are left out here.]"
    assert short[3:] == whole[2 + left_out :]
    assert short[3]["role"] == "assistant"


def test_what_cannot_fit_is_said() -> None:
    with pytest.raises(ContextOverflow, match="20 tokens"):
        fit(conversation(3), 20)


def test_a_context_overflow_compacts_and_asks_again_once_for_all_replays() -> None:
    asked: list[int] = []

    def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked.append(len(messages))
        if len(messages) > 12:
            raise ContextOverflow("too long")
        return {"role": "assistant", "content": "fine"}

    graph = Graph("talker", Note, model=Scripted(answer))

    @graph.step(to=[END])
    def talk(state: Note, ctx: Context[Note]) -> None:
        state.messages.append(ctx.model(state.messages))
        ctx.gate("go", {})

    store = MemoryStore(input=Note(messages=conversation(16)).model_dump_json())
    assert run(graph, store) == "paused"
    store.decide("approve")
    assert run(graph, store) == "finished"
    assert asked[0] == 42
    assert asked[-1] <= 12
    assert len(asked) == len(set(asked)) <= 4  # and the replay asked nothing
    # The history stays whole.
    assert graph.states.load(store.snapshots[-1].state).messages[:-1] == conversation(16)


def test_a_conversation_that_never_fits_is_an_error() -> None:
    def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
        raise ContextOverflow("too long")

    graph = Graph("talker", Note, model=Scripted(answer))

    @graph.step(to=[END])
    def talk(state: Note, ctx: Context[Note]) -> None:
        ctx.model(conversation(3))

    with pytest.raises(ContextOverflow, match="however short"):
        run(graph, MemoryStore())
