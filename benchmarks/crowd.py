"""Many runs at once: listing them, and reading one while fifty save. Workloads of `store.py`.

As a program it is one of the writers: it prepares its runs, says so, and at each line of its input all of them save.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus
import django

django.setup()

from django.db import connection, reset_queries  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.utils import timezone  # noqa: E402
from store import Writer, median, numbered  # noqa: E402

from reviewhub.accounts.models import Agent, Workspace  # noqa: E402
from reviewhub.checkpoints import queries, recall  # noqa: E402
from reviewhub.checkpoints.history import history  # noqa: E402
from reviewhub.checkpoints.load import load_state  # noqa: E402
from reviewhub.checkpoints.models import Checkpoint  # noqa: E402
from reviewhub.runs.models import Branch, Run  # noqa: E402
from reviewhub.runs.queries import Filters, listed  # noqa: E402

SAVERS = 50
PROCESSES = 2
STATE_MESSAGES = 900
"""Of 1 KB: a state of about 1 MB."""
BETWEEN_BURSTS = 5.0
ALL = Filters()


def listing(workspace: Workspace, agent: Agent, runs: int, checkpoints: int) -> dict[str, Any]:
    """Milliseconds of lists in a database of so many runs and checkpoints, and how the database finds them."""
    branches = _filled(workspace, agent, runs, checkpoints // runs)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    visible, middle = Run.objects.filter(workspace=workspace), branches[len(branches) // 2]

    def every_page() -> None:
        page = listed(visible, filters=ALL, limit=200)
        while page.next:
            page = listed(visible, filters=ALL, cursor=page.next, limit=200)

    acts: dict[str, Callable[[], Any]] = {
        "runs, a page of 50": lambda: listed(visible, filters=ALL).rows,
        "all runs, in pages of 200": every_page,
        "history of a branch, 20": lambda: history(branch=middle, limit=20).rows,
        "checkpoints of a run, a page of 50": lambda: queries.of_run(middle.run_id, cursor="").rows,
    }
    return {
        "runs": runs,
        "checkpoints": Checkpoint.objects.count(),
        "times": {said: median(act) for said, act in acts.items()},
        "plans": {said: _plan(act) for said, act in acts.items()},
    }


def _filled(workspace: Workspace, agent: Agent, runs: int, each: int) -> list[Branch]:
    made = [Run(workspace=workspace, agent=agent, environment="production") for _ in range(runs)]
    Run.objects.bulk_create(made, 500)
    branches = [Branch(workspace=workspace, run=run, name="main") for run in made]
    Branch.objects.bulk_create(branches, 500)
    rows: list[Checkpoint] = []
    # As they come in life: the runs take turns.
    for number in range(1, each + 1):
        for branch in branches:
            rows.append(_row(branch, number))
            if len(rows) == 2000:
                Checkpoint.objects.bulk_create(rows, 500)
                rows = []
    Checkpoint.objects.bulk_create(rows, 500)
    return branches


def _row(branch: Branch, number: int) -> Checkpoint:
    """A row of the usual size; no list looks into it."""
    return Checkpoint(
        workspace_id=branch.workspace_id,
        run_id=branch.run_id,
        branch=branch,
        number=number,
        base=number - (number - 1) % 64,
        node="work",
        step=number,
        state_hash=f"sha256:{uuid.uuid4().hex * 2}",
        raw_length=1000 * number,
        content=b"\0" + os.urandom(500),
        created_at=timezone.now(),
    )


def _plan(act: Callable[[], Any]) -> str:
    """What the database says about the first statement of `act`: its steps that read something."""
    with CaptureQueriesContext(connection) as seen:
        act()
    sql = seen.captured_queries[0]["sql"]
    reset_queries()
    how = "EXPLAIN (ANALYZE, BUFFERS)" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{how} {sql}".replace("%", "%%"), [])
        lines = [str(row[-1]).strip() for row in cursor.fetchall()]
    words = ("Scan", "SCAN", "SEARCH", "Sort", "TEMP B-TREE", "Execution Time")
    return "; ".join(line.removeprefix("->  ") for line in lines if any(word in line for word in words))


def bursts(workspace: Workspace, agent: Agent, reads: int, size: int) -> dict[str, Any]:
    """The newest state of one run, read from the database: alone, and while fifty others save 1 MB each at once."""
    words = corpus.text(Path(os.environ["BENCH_TEXT"]))
    writer = Writer(workspace, agent, hints=False)
    writer.put(STATE_MESSAGES - 1, {}, numbered(corpus.messages(words, STATE_MESSAGES, size)))
    newest = Checkpoint.objects.get(branch=writer.branch)
    savers = [_saver(workspace, agent, size) for _ in range(PROCESSES)]
    for saver in savers:
        assert saver.stdout is not None
        assert saver.stdout.readline() == "ready\n"
    idle = [_read(newest) for _ in range(reads)]
    busy: list[float] = []
    while len(busy) < reads:
        until = time.monotonic() + BETWEEN_BURSTS
        for saver in savers:
            assert saver.stdin is not None
            saver.stdin.write("save\n")
            saver.stdin.flush()
        while time.monotonic() < until and len(busy) < reads:
            busy.append(_read(newest))
    told = []
    for saver in savers:
        assert saver.stdin is not None and saver.stdout is not None
        saver.stdin.close()
        told.append(float(saver.stdout.read()))
        saver.wait()
    return {"idle": _tail(idle), "busy": _tail(busy), "saves": sum(told)}


def _read(newest: Checkpoint) -> float:
    time.sleep(0.01)
    recall.forget_all()
    started = time.perf_counter()
    _ = load_state(newest).raw
    return time.perf_counter() - started


def _tail(seconds: list[float]) -> dict[str, float]:
    """Median and 99th percentile of all of them, in milliseconds."""
    ordered = sorted(seconds)
    return {"median": statistics.median(ordered) * 1000, "p99": ordered[int(len(ordered) * 0.99)] * 1000}


def _saver(workspace: Workspace, agent: Agent, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, str(workspace.pk), str(agent.pk), str(size)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _save() -> None:
    """Its runs save 1 MB each, whole, at each line of the input; at its end, how many saves there were."""
    workspace, agent = Workspace.objects.get(pk=sys.argv[1]), Agent.objects.get(pk=sys.argv[2])
    words = corpus.text(Path(os.environ["BENCH_TEXT"]))
    messages = numbered(corpus.messages(words, STATE_MESSAGES + 200, int(sys.argv[3])))
    writers = [Writer(workspace, agent, hints=False) for _ in range(SAVERS // PROCESSES)]
    for writer in writers:
        writer.put(STATE_MESSAGES - 1, {}, messages)
    print("ready", flush=True)
    saves = 0
    for turn, _ in enumerate(sys.stdin):
        for writer in writers:
            writer.put(STATE_MESSAGES + turn, {}, messages)
            saves += 1
    print(saves)


if __name__ == "__main__":
    _save()
