"""One workload on one scratch database: this product's store, and beside it, step by step, the peer's.

Started by `checkpoints.py`, which sets the environment; prints one JSON object of figures.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import django

django.setup()

import corpus  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from reviewhub_agents import canonical, wire  # noqa: E402
from reviewhub_agents.canonical import Number  # noqa: E402

from reviewhub.accounts.models import Agent, Workspace  # noqa: E402
from reviewhub.checkpoints import recall  # noqa: E402
from reviewhub.checkpoints.draft import draft  # noqa: E402
from reviewhub.checkpoints.history import history  # noqa: E402
from reviewhub.checkpoints.load import load_state, load_states  # noqa: E402
from reviewhub.checkpoints.models import Blob, Checkpoint  # noqa: E402
from reviewhub.checkpoints.rows import unpack  # noqa: E402
from reviewhub.checkpoints.save import save  # noqa: E402
from reviewhub.core.actors import Actor  # noqa: E402
from reviewhub.runs.models import Branch, Run  # noqa: E402
from tests.cast import make_cast, make_test_agent  # noqa: E402

TABLES = ("checkpoints_checkpoint", "checkpoints_blob")
READ = {"max_bytes": 64_000_000, "max_values": 10_000_000}
ACTOR = Actor(kind="agent", name="Support agent")


class Peer:
    """The other side, in a process and an environment of its own."""

    def __init__(self, steps: int, size: int) -> None:
        given = [os.environ["PEER_PYTHON"], str(Path(__file__).with_name("peers.py")), connection.vendor]
        given += [os.environ["PEER_DATABASE"], str(steps), str(size), os.environ["BENCH_TEXT"]]
        self._process = subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, act: str, **more: Any) -> float:
        """Milliseconds, or bytes, of one act."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": act, **more}) + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))


class Writer:
    """A run of its own that is saved step by step, whole or by hints."""

    def __init__(self, workspace: Workspace, agent: Agent, *, hints: bool) -> None:
        run = Run.objects.create(workspace=workspace, agent=agent, environment="production")
        self.branch = Branch.objects.create(workspace=workspace, run=run, name="main")
        self.hints = hints
        self.last: Checkpoint | None = None
        self.prepared: list[float] = []
        """Seconds of each step before its transaction begins: what is the writer's own work, and no commit."""

    def put(self, step: int, fixed: dict[str, Any], messages: list[Any] | None) -> float:
        """Saves a step; seconds from the message to the commit."""
        small: dict[str, Any] = {"step": Number(str(step)), "status": f"step {step} done"}
        if self.last is None or not self.hints:
            lists = {} if messages is None else {"messages": messages[: step + 1]}
            tree: dict[str, Any] = {"state": {**fixed, **lists, **small}}
        else:
            tree = {"changed": small, "unchanged": list(fixed), "parent": str(self.last.pk)}
            tree |= {"parent_hash": self.last.state_hash}
            tree |= {} if messages is None else {"append": {"messages": [messages[step]]}}
        # Read anew, as from a request: nothing in it is the same object as last time.
        message = wire.CheckpointIn.from_tree(canonical.parse(canonical.dumps(tree), **READ))
        started = time.perf_counter()
        made = draft(branch=self.branch, message=message)
        self.prepared.append(time.perf_counter() - started)
        with transaction.atomic():
            self.last = save(branch=self.branch, draft=made, actor=ACTOR)
        return time.perf_counter() - started


def numbered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as they come out of the reader of requests."""
    return [{**message, "ts": Number(str(message["ts"]))} for message in messages]


def bare_commit(number: int, body: bytes) -> float:
    """One row of the same bytes in a transaction of its own, through the same cursor."""
    started = time.perf_counter()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO bench_bare (id, body) VALUES (%s, %s)", [number, body])
    return time.perf_counter() - started


def stored() -> int:
    """Bytes of the store's tables with their indexes."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(%s::text[]) AS t", [list(TABLES)]
            )
        else:
            cursor.execute(
                "SELECT sum(s.pgsize) FROM dbstat s JOIN sqlite_master m ON m.name = s.name"
                " WHERE m.tbl_name IN (%s, %s)",
                TABLES,
            )
        return int(cursor.fetchone()[0])


def median(act: Callable[[], Any], times: int = 15, before: Callable[[], Any] = lambda: None) -> float:
    """Milliseconds, the median of several."""
    taken = []
    for _ in range(times):
        before()
        started = time.perf_counter()
        act()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


def told(steps: int) -> Iterator[int]:
    """The numbers of the steps; each tenth of them is told, since a workload can take minutes."""
    for step in range(steps):
        if step and step % max(steps // 10, 1) == 0:
            print(f"  {step} of {steps}", file=sys.stderr, flush=True)
        yield step


def tail(seconds: list[float]) -> dict[str, float]:
    """Median and 99th percentile of the last tenth, in milliseconds."""
    last = sorted(seconds[-max(10, len(seconds) // 10) :])
    return {"median": statistics.median(last) * 1000, "p99": last[int(len(last) * 0.99)] * 1000}


def sizes(workspace: Workspace, agent: Agent, steps: int, size: int) -> dict[str, Any]:
    """Bytes after three tenths of the steps and after all, against the peer's with its default channels."""
    words = corpus.text(Path(os.environ["BENCH_TEXT"]))
    messages, peer = numbered(corpus.messages(words, steps, size)), Peer(steps, size)
    writer = Writer(workspace, agent, hints=True)
    at_300 = peer_at_300 = 0
    for step in told(steps):
        writer.put(step, {}, messages)
        peer.do("put")
        if step == steps * 3 // 10 - 1:
            at_300, peer_at_300 = stored(), int(peer.do("size"))
    return {
        "ours": stored(),
        "ours_300": at_300,
        "peer": int(peer.do("size")),
        "peer_300": peer_at_300,
    }


def delta(workspace: Workspace, agent: Agent, steps: int, size: int) -> dict[str, Any]:
    """The peer's bytes with its delta channel."""
    peer = Peer(steps, size)
    peer.do("delta_graph", steps=steps)
    return {"peer": int(peer.do("size"))}


def document(workspace: Workspace, agent: Agent, steps: int, size: int) -> dict[str, Any]:
    """Bytes and time with a field of 5 MB that stays as it is."""
    words = corpus.text(Path(os.environ["BENCH_TEXT"]))[:5_000_000]
    writer, peer = Writer(workspace, agent, hints=True), Peer(1, 1)
    ours, theirs = [], []
    for step in told(steps):
        ours.append(writer.put(step, {"doc": words}, None))
        theirs.append(peer.do("put_document") / 1000)
    return {"ours": stored(), "peer": int(peer.do("size")), "ours_ms": tail(ours), "peer_ms": tail(theirs)}


def times(workspace: Workspace, agent: Agent, steps: int, size: int) -> dict[str, Any]:
    """Puts side by side at each step, then reads."""
    words = corpus.text(Path(os.environ["BENCH_TEXT"]))
    messages, peer = numbered(corpus.messages(words, steps, size)), Peer(steps, size)
    hinted, whole = Writer(workspace, agent, hints=True), Writer(workspace, agent, hints=False)
    kind = "bytea" if connection.vendor == "postgresql" else "blob"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bench_bare (id integer PRIMARY KEY, body {kind})")
    taken: dict[str, list[float]] = {name: [] for name in ("hinted", "whole", "peer", "bare")}
    for step in told(steps):
        taken["hinted"].append(hinted.put(step, {}, messages))
        taken["whole"].append(whole.put(step, {}, messages))
        taken["peer"].append(peer.do("put") / 1000)
        assert hinted.last is not None
        taken["bare"].append(bare_commit(step, bytes(hinted.last.content)))
    taken["prepared"] = hinted.prepared
    return {name: tail(seconds) for name, seconds in taken.items()} | reads(hinted, peer)


def reads(writer: Writer, peer: Peer) -> dict[str, Any]:
    """Reads of the newest state and of the last twenty, after all was forgotten and again."""
    assert writer.last is not None
    newest = Checkpoint.objects.get(pk=writer.last.pk)
    recent = history(branch=writer.branch, limit=20).rows
    return {
        "cold": median(lambda: load_state(newest).raw, before=recall.forget_all),
        "proof": proof(newest),
        "warm": median(lambda: load_state(newest).raw),
        "last_20": median(lambda: load_states(recent), before=recall.forget_all),
        "list_20": median(lambda: history(branch=writer.branch, limit=20)),
        "peer_latest": statistics.median(peer.do("latest") for _ in range(15)),
        "peer_last_20": statistics.median(peer.do("last", count=20) for _ in range(5)),
    }


def proof(newest: Checkpoint) -> float:
    """Milliseconds of unpacking a state's blobs and of one SHA-256 over its text alone: nothing proves it faster."""
    blobs = Blob.objects.filter(run_id=newest.run_id, hash__in=_named_by(newest)).values_list(
        "data", flat=True
    )
    kept, raw = [bytes(data) for data in blobs], load_state(newest).raw
    return median(lambda: ([unpack(data) for data in kept], sha256(raw).digest()))


def _named_by(newest: Checkpoint) -> list[bytes]:
    *_, skeleton = recall.skeletons(recall.rows_of(newest)[0])
    return [bytes.fromhex(hash_) for hash_ in skeleton.blobs()]


def long(workspace: Workspace, agent: Agent, steps: int, size: int) -> dict[str, Any]:
    """A run of very many steps: does it work, and what does the last tenth cost."""
    words = corpus.text(Path(os.environ["BENCH_TEXT"]))
    messages = numbered(corpus.messages(words, steps, size))
    writer = Writer(workspace, agent, hints=True)
    taken = [writer.put(step, {}, messages) for step in told(steps)]
    assert writer.last is not None
    newest = Checkpoint.objects.get(pk=writer.last.pk)
    cold = median(lambda: load_state(newest).raw, 5, before=recall.forget_all)
    return {"ours": stored(), "ours_ms": tail(taken), "cold": cold, "state": newest.raw_length}


def main() -> None:
    """Arguments: the workload, steps, bytes a message."""
    import crowd

    name, steps, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    call_command("migrate", verbosity=0)
    cast = make_cast()
    agent = make_test_agent(cast.support)[0]
    workloads = {
        "sizes": sizes,
        "delta": delta,
        "document": document,
        "times": times,
        "long": long,
        "listing": crowd.listing,
        "bursts": crowd.bursts,
    }
    print(json.dumps(workloads[name](cast.workspace, agent, steps, size)))


if __name__ == "__main__":
    main()
