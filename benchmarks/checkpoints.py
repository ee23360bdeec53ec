"""The checkpoint store beside LangGraph's savers: bytes and times, written as tables to docs/benchmarks.md.

    sh benchmarks/peers.sh PEERS                        once: an environment of their own in the folder PEERS
    python benchmarks/checkpoints.py --peers PEERS      SQLite; with
        --postgresql postgresql://user@host:port        also PostgreSQL, where bench_ours and bench_peer are made anew

With --quick everything is done in small and told, and the pages stay as they are: to see whether it works. With
--figures FILE what was measured is kept there after each workload, and a run that was broken off goes on behind it.

Both sides do a step in turn, in one process each, so that whatever disturbs the machine disturbs both. Bytes do not
depend on the machine; of times the ratios mean more than the milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "benchmarks.md"
PLANS = ROOT / "docs" / "query-plans.md"
Figures = dict[str, Any]
WORKLOADS = (
    ("small", "sizes", 1000, 1024),
    ("large", "sizes", 1000, 4096),
    ("delta_small", "delta", 1000, 1024),
    ("delta_large", "delta", 1000, 4096),
    ("document", "document", 200, 0),
    ("times", "times", 1000, 1024),
    ("long", "long", 10_000, 1024),
    ("listing", "listing", 1500, 200_000),
    ("bursts", "bursts", 1000, 1024),
)
QUICK = 20
"""With --quick, one in so many of the steps, runs and reads."""


def measured(
    kind: str, said: str, known: dict[str, dict[str, Figures]], measure: Callable[[], Figures]
) -> bool:
    """Measures a workload, unless its figures are known; whether it had to. Says what it does, and how long it took."""
    if said in known.setdefault(kind, {}):
        return False
    print(f"{kind} {said} …", flush=True)
    started = time.monotonic()
    known[kind][said] = measure()
    print(f"{kind} {said}, {time.monotonic() - started:.0f} s:", json.dumps(known[kind][said]), flush=True)
    return True


def workload(kind: str, server: str, peers: Path, name: str, steps: int, size: int) -> Figures:
    """Runs one workload on fresh databases."""
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = addresses(kind, server, Path(folder))
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "reviewhub.settings",
            "PYTHONPATH": f"{ROOT}:{ROOT / 'agents'}",
            "REVIEWHUB_VAR": folder,
            "DATABASE_URL": ours,
            "PEER_DATABASE": theirs,
            "PEER_PYTHON": str(peers / "bin" / "python"),
            "BENCH_TEXT": str(next((peers / "lib").glob("python3*/site-packages"))),
        }
        command = [sys.executable, str(HERE / "store.py"), name, str(steps), str(size)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))


def addresses(kind: str, server: str, folder: Path) -> tuple[str, str]:
    """Where this side keeps its rows, and where the other one does."""
    if kind == "sqlite":
        return f"sqlite:///{folder / 'ours.sqlite3'}", str(folder / "peer.sqlite3")
    names = ("bench_ours", "bench_peer")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        for name in names:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {name}")
    return f"{server}/{names[0]}", f"{server}/{names[1]}"


def megabytes(value: float) -> str:
    """Bytes in MB (1,000,000)."""
    return f"{value / 1e6:,.2f}"


def sizes_table(found: dict[str, dict[str, Figures]]) -> list[str]:
    """Bytes of both sides."""
    rows = ["| MB stored | target | ReviewHub | LangGraph | its DeltaChannel |", "|---|---|---|---|---|"]
    targets = {"postgresql": ("1.6", "3.8"), "sqlite": ("1.4", "3.7")}
    for kind, figures in found.items():
        for name, target, said in zip(("small", "large"), targets[kind], ("1 KB", "4 KB"), strict=True):
            one, delta = figures[name], figures[f"delta_{name}"]
            cells = [f"1,000 steps of {said}, {kind}", f"≤ {target}", megabytes(one["ours"])]
            cells += [megabytes(one["peer"]) if "peer" in one else "", megabytes(delta["peer"])]
            rows.append(f"| {' | '.join(cells)} |")
        one = figures["small"]
        growth, peer_growth = one["ours"] / one["ours_300"], one["peer"] / one["peer_300"]
        rows.append(
            f"| growth from 300 to 1,000 steps, {kind} | ≤ 3.6× | {growth:.1f}× | {peer_growth:.1f}× | |"
        )
        one = figures["document"]
        cells = [
            f"5 MB unchanged over 200 steps, {kind}",
            "≤ 1.6",
            megabytes(one["ours"]),
            megabytes(one["peer"]),
        ]
        rows.append(f"| {' | '.join(cells)} | |")
        one = figures["long"]
        rows.append(f"| 10,000 steps of 1 KB, {kind} | works | {megabytes(one['ours'])} | | |")
    return rows


def times_table(found: dict[str, dict[str, Figures]]) -> list[str]:
    """Times of both sides at the same steps."""
    rows = [
        "| ms, median (99th percentile) | ReviewHub | beside it | ratio | target |",
        "|---|---|---|---|---|",
    ]
    for kind, figures in found.items():
        one = figures["times"]
        faster, dearer = ("8×", "1.8×") if kind == "postgresql" else ("3×", "2×")
        peer, bare = one["peer"], one["bare"]
        rows += [
            _row(f"put with hints, {kind}", one["hinted"], "bare commit", bare, f"≤ {dearer} of it"),
            f"| of it before the transaction, {kind} | {_times(one['prepared'])} | | | |",
            _row(f"put with hints, {kind}", one["hinted"], "LangGraph", peer, ""),
            _row(f"put of a whole 1 MB state, {kind}", one["whole"], "LangGraph", peer, f"≥ {faster} faster"),
        ]
        cold, warm = ("4", "0.6") if kind == "postgresql" else ("2", "0.4")
        for said, name, other, target in (
            ("newest state, nothing in memory", "cold", "peer_latest", f"≤ {cold} ms"),
            ("newest state again", "warm", "peer_latest", f"≤ {warm} ms"),
            ("last 20 states", "last_20", "peer_last_20", "≤ 12 ms"),
        ):
            theirs = {"median": one[other]}
            rows.append(_row(f"{said}, {kind}", {"median": one[name]}, "LangGraph", theirs, target))
            if name == "cold":
                rows.append(f"| of it unpacking and SHA-256 alone, {kind} | {one['proof']:.2f} | | | |")
        rows.append(f"| list of the last 20, {kind} | {one['list_20']:.2f} | | | ≤ 1 ms |")
        one = figures["long"]
        rows.append(f"| put with hints at step 10,000, {kind} | {_times(one['ours_ms'])} | | | |")
        state = megabytes(one["state"])
        rows.append(f"| its state ({state} MB), nothing in memory, {kind} | {one['cold']:.1f} | | | |")
    return rows


def _row(said: str, ours: Figures, other: str, theirs: Figures, target: str) -> str:
    ratio = theirs["median"] / ours["median"]
    told = f"{ratio:.1f}× faster" if ratio >= 1 else f"{1 / ratio:.1f}× of it"
    return f"| {said} | {_times(ours)} | {other} {_times(theirs)} | {told} | {target} |"


def _times(figures: Figures) -> str:
    p99 = f" ({figures['p99']:.2f})" if "p99" in figures else ""
    return f"{figures['median']:.2f}{p99}"


def crowd_table(found: dict[str, dict[str, Figures]]) -> list[str]:
    """Lists in a full database, and reads while others save."""
    rows = ["| ms | | beside it | ratio | target |", "|---|---|---|---|---|"]
    for kind, figures in found.items():
        one = figures["listing"]
        full = f"{one['runs']:,} runs with {one['checkpoints']:,} checkpoints, {kind}"
        rows += [f"| {said}; {full} | {took:.2f} | | | ≤ 20 ms |" for said, took in one["times"].items()]
        one = figures["bursts"]
        ratio = one["busy"]["p99"] / one["idle"]["p99"]
        cells = [f"newest state of 1 MB, nothing in memory, while 50 runs save 1 MB each, {kind}"]
        cells += [_times(one["busy"]), f"nobody saves {_times(one['idle'])}", f"{ratio:.1f}× at p99", "≤ 2×"]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def plans_table(found: dict[str, dict[str, Figures]]) -> list[str]:
    """How the databases find the lists."""
    rows = ["| List | Database | What it reads |", "|---|---|---|"]
    for kind, figures in found.items():
        rows += [f"| {said} | {kind} | {plan} |" for said, plan in figures["listing"]["plans"].items()]
    return rows


def write(found: dict[str, dict[str, Figures]], *, quick: bool) -> None:
    """Puts the tables between the marks of their pages; quick ones are only told."""
    tables = (
        (PAGE, "sizes", sizes_table(found)),
        (PAGE, "times", times_table(found)),
        (PAGE, "crowd", crowd_table(found)),
        (PLANS, "lists", plans_table(found)),
    )
    for page, mark, rows in tables:
        if quick:
            print("\n".join(rows))
            continue
        text = page.read_text(encoding="utf-8")
        before, rest = text.split(f"<!-- {mark} -->\n", 1)
        _, after = rest.split(f"<!-- end of {mark} -->", 1)
        text = f"{before}<!-- {mark} -->\n" + "\n".join(rows) + f"\n<!-- end of {mark} -->{after}"
        page.write_text(text, encoding="utf-8")


def main() -> None:
    """Runs everything and writes the page."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--peers", type=Path, required=True, help="the environment made by peers.sh")
    asked.add_argument(
        "--postgresql", default="", help="postgresql://user@host:port of a server to make databases on"
    )
    asked.add_argument("--quick", action="store_true", help="a small try that writes nothing")
    asked.add_argument("--figures", type=Path, help="a file that keeps what was measured so far")
    asked.add_argument("--only", default="", help="names of workloads, with commas; then no page is written")
    given = asked.parse_args()
    part = QUICK if given.quick else 1
    chosen = [one for one in WORKLOADS if not given.only or one[0] in given.only.split(",")]
    known = given.figures is not None and given.figures.exists()
    found: dict[str, dict[str, Figures]] = json.loads(given.figures.read_text()) if known else {}
    for kind in ("postgresql", "sqlite") if given.postgresql else ("sqlite",):
        for said, name, steps, size in chosen:
            many = size // part if name == "listing" else size
            measure = partial(
                workload, kind, given.postgresql, given.peers.resolve(), name, steps // part, many
            )
            if measured(kind, said, found, measure) and given.figures is not None:
                given.figures.write_text(json.dumps(found))
    if not given.only:
        write(found, quick=given.quick)


if __name__ == "__main__":
    main()
