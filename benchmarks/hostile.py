"""What one key that means harm costs everybody else: its pauses beside another key's `POST /runs`.

    python benchmarks/hostile.py [--postgresql postgresql://user@host:port --redis redis://host:port/7] \\
        [--seconds 20] [--write docs/benchmarks.md]

`manage.py up` runs the product on a database of its own (SQLite unless said); the attacker is a process of its own that
starts runs and pauses each at one call, on two connections. Each row is one kind of arguments: as large as the limits
take them, or made for what reads them.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONNECTIONS = 2
SCHEMA = {
    "properties": {
        "l": {
            "items": {
                "items": {
                    "anyOf": [
                        {"type": "integer"},
                        {"properties": {"x": {"minimum": 0}}, "additionalProperties": False},
                    ]
                }
            }
        },
        "s": {"type": "string", "pattern": "(a|b)*c(a|b)+(x+x+)+y"},
    }
}
RULES = [
    {"name": "Lists", "tool": "*", "action": "deny", "expression": "args.l.exists(x, x == 'no such text')"},
    {"name": "Texts", "tool": "*", "action": "deny", "expression": "args.s.matches('(a|b)*c(a|b)+(x+x+)+y')"},
    {"name": "All", "tool": "*", "action": "require"},
]


def kinds() -> dict[str, tuple[str, Any]]:
    """The tool and the arguments of each row; None stands for nobody's attack."""
    return {
        "small calls": ("flat", {"amount": 5}),
        "10,000 numbers": ("flat", {"l": list(range(9990))}),
        "10,000 nested values and a schema of levels": (
            "deep",
            {"l": [[at % 7, {"x": at}] for at in range(2490)]},
        ),
        "10,000 texts like secrets": ("flat", {"l": [f"token=abcdefgh{at}" for at in range(9990)]}),
        "a text of 960 kB": ("flat", {"s": "lorem ipsum " * 80_000}),
        "a text of 960 kB that nearly is a token": ("flat", {"s": "eyJ-" * 240_000}),
        "200,000 marks in disorder": ("flat", {"s": "a" + "\u0301" * 100_000 + "\u0327" * 100_000}),
    }


def main() -> None:
    """Measures and prints a table."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--postgresql")
    given.add_argument("--redis", default="")
    given.add_argument("--seconds", type=float, default=20.0)
    given.add_argument("--write", type=Path)
    options = given.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "agents"), str(HERE)]
    database = "postgresql" if options.postgresql else "sqlite"
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), options, database)
    print("\n".join(rows))
    if options.write is not None:
        written(options.write, database, rows)


def measured(folder: Path, options: argparse.Namespace, database: str) -> list[str]:
    """A line of the table for each kind, on a database that is gone afterwards."""
    from tests.ops.product import Product, environment, installed

    os.environ["DJANGO_SETTINGS_MODULE"] = "reviewhub.settings"
    if options.postgresql:
        os.environ |= {"DATABASE_URL": f"{options.postgresql}/postgres", "REDIS_URL": options.redis}
    with installed(folder):
        product = Product(folder, "--port", "0")
        try:
            product.wait_until_ready()
            os.environ |= environment(folder)
            return rows(product.address, options.seconds, database)
        except BaseException:
            print(product.output[-3000:], file=sys.stderr)
            raise
        finally:
            product.end()


def rows(address: str, seconds: float, database: str) -> list[str]:
    """Quiet first, then each kind."""
    import django

    django.setup()
    from django.db import connection

    logging.getLogger("httpx").setLevel(logging.WARNING)
    attacker, other = prepared(address)
    connection.close()
    found = []
    with client(address, other) as http:
        times(http, 3.0)  # what is read once
        quiet = times(http, seconds)
        found.append(line(database, "nobody else", quiet, []))
        for name, (tool, arguments) in kinds().items():
            body = {"checkpoint": {"state": {}}, "tool_calls": [{"tool": tool, "arguments": arguments}]}
            ending, told = multiprocessing.Event(), multiprocessing.Queue()
            args = (address, attacker, json.dumps(body).encode(), ending, told)
            attack = multiprocessing.Process(target=attacked, args=args)
            attack.start()
            try:
                time.sleep(2.0)
                taken = times(http, seconds)
            finally:
                ending.set()
            pauses = told.get(timeout=120)
            attack.join()
            found.append(line(database, name, taken, pauses))
            print(found[-1], file=sys.stderr)
    return found


def prepared(address: str) -> tuple[str, str]:
    """The keys of who means harm and of another agent."""
    from tests.cast import make_cast
    from tests.driver import agent_of, policy

    cast = make_cast()
    attacker, other = agent_of(cast.support, "Attacker").token, agent_of(cast.support, "Other").token
    with client(address, attacker) as http:
        for name, schema in (("flat", {}), ("deep", SCHEMA)):
            http.put(f"/api/v1/tools/{name}", json={"effect": "once", "schema": schema}).raise_for_status()
    policy(cast.support, *RULES)
    return attacker, other


def client(address: str, token: str) -> Any:
    """Requests by a key, on one connection."""
    import httpx

    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120)


def start(http: Any) -> str:
    """A new run."""
    answer = http.post("/api/v1/runs", json={}, headers={"Idempotency-Key": uuid.uuid4().hex})
    answer.raise_for_status()
    return str(answer.json()["id"])


def times(http: Any, seconds: float) -> list[float]:
    """Milliseconds of one start after the other."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        start(http)
        found.append((time.perf_counter() - began) * 1000)
    return found


def attacked(address: str, token: str, body: bytes, ending: Any, told: Any) -> None:
    """The attacker's process: pauses until it is ended; tells the milliseconds of each."""
    from concurrent.futures import ThreadPoolExecutor

    def pauses(_: int) -> list[float]:
        found = []
        with client(address, token) as http:
            while not ending.is_set():
                run = start(http)
                headers = {"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"}
                began = time.perf_counter()
                http.post(f"/api/v1/runs/{run}/pauses", content=body, headers=headers).raise_for_status()
                found.append((time.perf_counter() - began) * 1000)
        return found

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        told.put([one for found in threads.map(pauses, range(CONNECTIONS)) for one in found])


def line(database: str, name: str, taken: list[float], pauses: list[float]) -> str:
    """A row of the table."""
    hostile = f"{statistics.median(pauses):.0f}" if pauses else ""
    at = sorted(taken)
    high = at[min(len(at) - 1, int(len(at) * 0.99))]
    return f"| {database} | {name} | {hostile} | {statistics.median(at):.0f} | {high:.0f} | {at[-1]:.0f} |"


def written(path: Path, database: str, rows: list[str]) -> None:
    """Puts the rows of this database into the document, in the place of those that it had."""
    start_, end = "<!-- hostile -->\n", "<!-- end of hostile -->"
    before, rest = path.read_text().split(start_)
    old, after = rest.split(end)
    kept = [one for one in old.splitlines() if one.strip() and not one.startswith(f"| {database} |")]
    path.write_text(before + start_ + "\n".join([*kept, *rows]) + "\n" + end + after)


if __name__ == "__main__":
    main()
