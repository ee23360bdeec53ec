"""What the review page costs beside the state of its gate: server time, processor time, and how many queries.

    DATABASE_URL=postgresql://… python benchmarks/reviewing.py

Works in the empty database of DATABASE_URL (or a scratch one on SQLite). A run with a conversation of so many bytes,
a plan of forty steps and twelve calls with results pauses; a hundred requests about the same tool were decided before.
The page is asked for in this process, template and all, as its reviewer gets it, cold (nothing of the state in memory)
and warm; so are its live parts. The median and the 99th percentile of fifty count. Ends with 1 where the page of a 1 MB
state is slower than its target, or where a larger state takes more queries.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "agents"), str(ROOT / "benchmarks")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
SCRATCH = tempfile.TemporaryDirectory()
os.environ["REVIEWHUB_VAR"] = SCRATCH.name

import django  # noqa: E402

django.setup()

from corpus import messages, text  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from reviewhub.checkpoints.recall import forget_all  # noqa: E402
from reviewhub.core.clock import now  # noqa: E402
from reviewhub.reviews.models import ReviewRequest  # noqa: E402
from tests.cast import make_cast  # noqa: E402
from tests.driver import AgentHttp, agent_of, call, policy  # noqa: E402

TARGET_MS = 80.0
TIMES = 50
SIZES = {"1 KB": 1, "100 KB": 100, "1 MB": 1000, "5 MB": 5000}  # messages of 1 KB
BEFORE = 100
STEPS = 40


def main() -> None:
    """Fills, measures, prints a table."""
    call_command("migrate", verbosity=0)
    cast = make_cast()
    policy(cast.support, {"name": "All", "tool": "refund", "action": "require"})
    agent, words = agent_of(cast.support), text(Path(os.__file__).parent)
    decided(agent)
    browser = Client()
    browser.force_login(cast.bob.person)
    print(
        "| page of a state of | cold, ms | warm, ms | warm, processor ms | in the database | queries | HTML |"
    )
    print("|---|---|---|---|---|---|---|")
    browser.get(gate(agent, words, 1))  # the first page reads templates and the policy
    lines = [measured(browser, name, gate(agent, words, count)) for name, count in SIZES.items()]
    measured(browser, "1 MB, its live parts", f"{gate(agent, words, SIZES['1 MB'])}/live?version=1&open=1")
    if len({queries for _, queries in lines}) > 1 or lines[2][0] > TARGET_MS:
        sys.exit(f"missed: ≤ {TARGET_MS:g} ms with 1 MB, and as many queries for every state")


def decided(agent: AgentHttp) -> None:
    """Requests about the same tool that people decided."""
    run = agent.run()
    for number in range(BEFORE):
        given = call(call_id=f"c{number}", arguments={"order": str(number), "amount": "10.00"})
        agent.pause(run["id"], given).ok(201)
        ReviewRequest.objects.filter(state="pending").update(
            state="approved" if number % 7 else "rejected", decided_at=now(), decided_by_name="Bob"
        )
        run = agent.run()


def gate(agent: AgentHttp, words: str, count: int) -> str:
    """The address of a request whose gate has a conversation of so many messages."""
    run = agent.run()
    steps = [
        {"id": f"s{at}", "title": f"Step {at}: {words[at * 40 : at * 40 + 40]!r}"} for at in range(STEPS)
    ]
    agent.post(f"/runs/{run['id']}/plans", {"steps": steps}).ok(201)
    for number in range(12):
        body = call("lookup", call_id=f"l{number}", effect="read") | {
            "outcome": {"status": "succeeded", "result": {"order": "8812", "lines": [1, 2, 3]}}
        }
        state = {"checkpoint": {"state": {"n": number}}, "tool_calls": [body]}
        agent.post(f"/runs/{run['id']}/observations", state).ok(201)
    kept = {
        "state": {"messages": messages(words, count, 1000), "order": {"id": "8812"}},
        "plan": {"version": 1, "step": 20},
    }
    paused = agent.pause(run["id"], call(), checkpoint=kept).ok(201)
    return f"/northwind/requests/{paused['tool_calls'][0]['request']['number']}"


def measured(browser: Client, name: str, address: str) -> tuple[float, int]:
    """Prints one line of the table; the warm median in milliseconds, and the queries."""
    cold, warm, used = [], [], []
    for _ in range(TIMES):
        forget_all()
        cold.append(asked(browser, address)[0])
        took, worked = asked(browser, address)
        warm.append(took)
        used.append(worked)
    with CaptureQueriesContext(connection) as found:
        page = browser.get(address)
    inside = sum(float(one["time"]) for one in found.captured_queries) * 1000
    print(
        f"| {name} | {told(cold)} | {told(warm)} | {told(used)} | {inside:.0f} "
        f"| {len(found.captured_queries)} | {len(page.content) / 1000:.0f} kB |",
        flush=True,
    )
    return statistics.median(cold), len(found.captured_queries)


def asked(browser: Client, address: str) -> tuple[float, float]:
    """Milliseconds that the page took, and of processor time."""
    began, worked = time.perf_counter(), time.process_time()
    assert browser.get(address).status_code == 200
    return (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000


def told(values: list[float]) -> str:
    """Median and 99th percentile."""
    return f"{statistics.median(values):.0f} ({sorted(values)[int(len(values) * 0.99) - 1]:.0f})"


if __name__ == "__main__":
    main()
