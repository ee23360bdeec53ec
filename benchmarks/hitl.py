"""From a person's decision to the worker that goes on, beside LangGraph and DBOS in the same run.

    sh benchmarks/peers.sh PEERS
    python benchmarks/hitl.py --postgresql postgresql://user@host:port --redis redis://host:port/7 \\
        --peers PEERS --scripts FOLDER [--cycles 100]

`manage.py up` runs the product on a database of its own (web, worker and beat in processes of their own); this process
is the person. FOLDER has the peers' scripts `hitl_lg.py` and `hitl_dbos.py`; without it only this side is measured.
A cycle is: a run starts, its agent pauses at a gated call, the person approves it through the API, the call runs, the
run ends. "Decided" is the moment that the decision's row holds, written before its transaction commits; "sent" is when
the person's request leaves.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def main() -> None:
    """Measures both sides and prints a table."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--postgresql", required=True)
    given.add_argument("--redis", required=True)
    given.add_argument("--peers", type=Path)
    given.add_argument("--scripts", type=Path)
    given.add_argument("--cycles", type=int, default=100)
    options = given.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "agents"), str(HERE)]
    with tempfile.TemporaryDirectory() as folder:
        rows = ours(Path(folder), options)
    if options.peers and options.scripts:
        for script in ("hitl_lg.py", "hitl_dbos.py"):
            rows += theirs(options.peers / "bin" / "python", options.scripts / script)
    print(
        "| ms, median (99th percentile) | pause | decided to the step | sent to the call | sent to the end | cycle |"
    )
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def ours(folder: Path, options: argparse.Namespace) -> list[list[str]]:
    """This product's cycles, on a database of its own which is gone afterwards."""
    from tests.ops.product import Product, environment, installed

    (folder / "went-on").mkdir()
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "reviewhub.settings",
        "DATABASE_URL": f"{options.postgresql}/postgres",
        "REDIS_URL": options.redis,
        "HOSTED_GRAPHS": "gated=gated:gated",
        "BENCH_WENT_ON": str(folder / "went-on"),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'agents'}:{HERE}",
    }
    with installed(folder):
        product = Product(folder, "--port", "0")
        try:
            product.wait_until_ready()
            os.environ |= environment(folder)
            taken = cycles(product.address, options.cycles)
        except BaseException:
            print(product.output[-3000:], file=sys.stderr)
            raise
        finally:
            product.end()
    names = ("paused", "step", "call", "ended", "all")
    return [["ReviewHub, PostgreSQL + Redis", *(told([one[name] for one in taken]) for name in names)]]


def cycles(address: str, count: int) -> list[dict[str, float]]:
    """Milliseconds of the parts of each cycle, after a few that do not count."""
    import django

    django.setup()
    from django.db import connection

    cycle = cycle_of(address)
    for _ in range(5):
        cycle()
    taken = [cycle() for _ in range(count)]
    connection.close()
    return taken


def cycle_of(address: str) -> Callable[[], dict[str, float]]:
    """One cycle, as a function that gives its milliseconds."""
    import gated
    import httpx
    from django.conf import settings
    from django.test import Client

    from reviewhub.core.actors import SYSTEM
    from reviewhub.hosting.adopt import adopt
    from reviewhub.hosting.start import start
    from reviewhub.reviews.models import ReviewRequest
    from reviewhub.runs.models import Run
    from tests.cast import make_cast

    cast = make_cast()
    agent = adopt(team=cast.support, graph="gated", name="Gated", owner=None, actor=SYSTEM)
    browser = Client()
    browser.force_login(cast.bob.person)
    person = httpx.Client(
        base_url=address, cookies={settings.SESSION_COOKIE_NAME: browser.session.session_key}
    )
    person.get("/northwind/queue")
    token = {"X-CSRFToken": person.cookies.get(settings.CSRF_COOKIE_NAME, ""), "Referer": address}

    def cycle() -> dict[str, float]:
        name = uuid.uuid4().hex
        began = time.time()
        run = start(agent=agent, given={"cycle": name}, actor=SYSTEM)
        request = waited(lambda: ReviewRequest.objects.filter(run=run, state="pending").first())
        paused = time.time()
        answer = person.post(
            f"/api/v1/requests/{request.pk}/decide",
            json={"type": "approve", "version": request.version, "digest": request.digest},
            headers={**token, "Idempotency-Key": name},
        )
        assert answer.status_code == 200, answer.text
        waited(lambda: Run.objects.filter(pk=run.pk, ended_at__isnull=False).exists())
        ended = time.time()
        request.refresh_from_db(fields=["decided_at"])
        step, call = (float((gated.WENT_ON / file).read_text()) for file in (f"{name}.step", name))
        return {
            "paused": (paused - began) * 1000,
            "step": (step - request.decided_at.timestamp()) * 1000,
            "call": (call - paused) * 1000,
            "ended": (ended - paused) * 1000,
            "all": (ended - began) * 1000,
        }

    return cycle


def waited(found: Callable[[], Any], seconds: float = 30.0) -> Any:
    """What `found` gives once it gives something; looked for every two milliseconds."""
    end = time.monotonic() + seconds
    while not (something := found()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)
    return something


def theirs(python: Path, script: Path) -> list[list[str]]:
    """What a peer's script says about one client."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, script],
            env={**os.environ, "BENCH_DIR": folder, "DJANGO_SETTINGS_MODULE": ""},
            cwd=script.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    alone = [one for one in said if one.get("clients") == 1 and one["rep"] != "warm"]
    middle = {
        name: statistics.median(one[name] for one in alone)
        for name in alone[0]
        if name.endswith(("_p50", "_p99"))
    }
    return [
        [
            said[0]["sys"],
            f"{middle['pause_p50']:.1f}",
            "",
            "",
            f"{middle['resume_p50']:.1f} ({middle['resume_p99']:.1f})",
            f"{middle['cycle_p50']:.1f} ({middle['cycle_p99']:.1f})",
        ]
    ]


def told(milliseconds: list[float]) -> str:
    """Median and 99th percentile."""
    ordered = sorted(milliseconds)
    return (
        f"{statistics.median(ordered):.1f} ({ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]:.1f})"
    )


if __name__ == "__main__":
    main()
