"""The other side of the benchmark: LangGraph's savers, in an environment of their own, told what to do line by line.

Each line of the input is a JSON object `{"do": …}`, each answer a line too, with the milliseconds that it took. So one
process can alternate between its own store and this one, and whatever disturbs the machine disturbs both.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

import corpus
import psycopg
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
THREAD = {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}}


def joined(old: list[Any], new: list[Any]) -> list[Any]:
    """The reducer of the delta channel."""
    return [*old, *(item for items in new for item in (items if isinstance(items, list) else [items]))]


class State(TypedDict):
    """The state of the graph."""

    messages: Annotated[list, DeltaChannel(joined)]
    step: int
    status: str


class Peer:
    """One saver with one thread, filled step by step."""

    def __init__(self, saver: Any, size: Any, messages: list[dict[str, Any]], document: str) -> None:
        self.saver, self.size, self.messages, self.document = saver, size, messages, document
        self.config: Any = THREAD
        self.versions: dict[str, Any] = {}
        self.step = 0

    def put(self) -> float:
        """The next step of the conversation: the whole list of messages again, as the saver wants it."""
        return self._put(
            {
                "messages": self.messages[: self.step + 1],
                "step": self.step,
                "status": f"step {self.step} done",
            },
            changed=("messages", "step", "status"),
        )

    def put_document(self) -> float:
        """A step in which a large field stays as it is; the saver is told that it did."""
        values = {"doc": self.document, "step": self.step, "status": f"step {self.step} done"}
        return self._put(values, changed=("doc", "step", "status") if self.step == 0 else ("step", "status"))

    def latest(self) -> float:
        """Reads the newest checkpoint."""
        started = time.perf_counter()
        assert self.saver.get_tuple(THREAD) is not None
        return time.perf_counter() - started

    def last(self, count: int) -> float:
        """Reads the newest checkpoints with their states."""
        started = time.perf_counter()
        assert len(list(self.saver.list(THREAD, limit=count))) == count
        return time.perf_counter() - started

    def _put(self, values: dict[str, Any], *, changed: tuple[str, ...]) -> float:
        checkpoint = empty_checkpoint()
        checkpoint["id"] = str(uuid6(clock_seq=self.step))
        checkpoint["channel_values"] = values
        new = {name: self.saver.get_next_version(self.versions.get(name), None) for name in changed}
        self.versions |= new
        checkpoint["channel_versions"] = dict(self.versions)
        metadata = {"source": "loop", "step": self.step, "parents": {}}
        started = time.perf_counter()
        self.config = self.saver.put(self.config, checkpoint, metadata, new)
        self.step += 1
        return time.perf_counter() - started

    def delta_graph(self, steps: int) -> float:
        """The whole conversation as a graph whose messages are a DeltaChannel."""

        def node(state: Any) -> Any:
            step = state["step"]
            return {"messages": [self.messages[step]], "step": step + 1, "status": f"step {step} done"}

        graph = StateGraph(State)
        graph.add_node("a", node)
        graph.add_edge(START, "a")
        graph.add_conditional_edges("a", lambda state: "a" if state["step"] < steps else END)
        compiled = graph.compile(checkpointer=self.saver)
        config = {"configurable": {"thread_id": "t1"}, "recursion_limit": steps + 10}
        started = time.perf_counter()
        compiled.invoke({"messages": [], "step": 0, "status": ""}, config, durability="sync")
        return time.perf_counter() - started


@contextlib.contextmanager
def opened(kind: str, place: str) -> Any:
    """A fresh saver and a function that says the bytes of its tables."""
    if kind == "postgresql":
        with PostgresSaver.from_conn_string(place) as saver:
            saver.setup()

            def size() -> int:
                with psycopg.connect(place, autocommit=True) as own:
                    rows = [own.execute("select pg_total_relation_size(%s)", (table,)) for table in TABLES]
                    return sum(row.fetchone()[0] for row in rows)

            yield saver, size
    else:
        with SqliteSaver.from_conn_string(place) as saver:
            saver.setup()
            # As durable as the other side: the saver's own default is the same journal with fewer syncs.
            saver.conn.execute("pragma synchronous=full")

            def size() -> int:
                saver.conn.commit()
                saver.conn.execute("pragma wal_checkpoint(truncate)")
                return os.path.getsize(place)

            yield saver, size


def main() -> None:
    """Serves until the input ends. Arguments: the kind of database, its address, steps, bytes a message, the text."""
    kind, place, steps, size, text = sys.argv[1:]
    words = corpus.text(Path(text))
    with opened(kind, place) as (saver, stored):
        peer = Peer(saver, stored, corpus.messages(words, int(steps), int(size)), words[:5_000_000])
        for line in sys.stdin:
            order = json.loads(line)
            act = order.pop("do")
            answer = peer.size() if act == "size" else getattr(peer, act)(**order) * 1000
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
