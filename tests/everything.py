"""`make test`: everything, in the order of how soon it fails.

1. pytest on SQLite and, at the same time, on PostgreSQL with Redis as the broker, when both answer; 2. the browser
tests, in a process of their own (two event loops do not live in one). `--chaos` runs tests/chaos instead, on one
database after the other.

Environment: `DATABASE_URL`, `REDIS_URL` (else the usual local ports); `REQUIRE_SERVERS=1` and `REQUIRE_BROWSER=1`
turn what would be left out into a failure. Further arguments go to pytest.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import Popen

ROOT = Path(__file__).resolve().parent.parent
VAR = Path(os.environ.get("REVIEWHUB_VAR", ROOT / "var")) / "test"
LOCAL_DATABASE = "postgresql://postgres@127.0.0.1:5432/reviewhub"
LOCAL_REDIS = "redis://127.0.0.1:6379/15"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def postgresql() -> str:
    """The address of a PostgreSQL server that answers, or nothing."""
    import psycopg

    url = os.environ.get("DATABASE_URL", LOCAL_DATABASE)
    if not url.startswith("postgres"):
        return ""
    try:
        # Not the database itself: the tests make their own beside it.
        base = psycopg.conninfo.conninfo_to_dict(url)
        psycopg.connect(**{**base, "dbname": "postgres", "connect_timeout": 2}).close()
    except psycopg.Error as error:
        print(f"  PostgreSQL does not answer at {hidden(url)}: {str(error).strip().splitlines()[0]}")
        return ""
    return url


def redis() -> str:
    """The address of a Redis server that answers, or nothing."""
    from redis import Redis, RedisError

    url = os.environ.get("REDIS_URL", LOCAL_REDIS)
    try:
        Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2).ping()
    except (RedisError, OSError) as error:
        print(f"  Redis does not answer at {hidden(url)}: {error}")
        return ""
    return url


def browser() -> str:
    """The path of a Chromium, installed from Debian's packages when it is missing and this is root; or nothing."""
    found = next(filter(None, map(shutil.which, BROWSERS)), "")
    apt = shutil.which("apt-get")
    if found or not apt or os.geteuid() != 0:
        return found
    print("  Chromium is missing; installing Debian's …", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = [apt, "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-liberation"]
    for command in ([apt, "update", "-qq"], install):
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            print(f"  {' '.join(command)} ended with {done.returncode}")
    return next(filter(None, map(shutil.which, BROWSERS)), "")


def hidden(url: str) -> str:
    """The address without its password."""
    return url.rpartition("@")[2]


def start(arguments: list[str], environment: Mapping[str, str], *, name: str, quiet: bool) -> Popen[bytes]:
    """Starts pytest with a data folder of its own; what a quiet one says goes to a file in it."""
    base = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    folder = VAR / name
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", *arguments]
    with (folder / "out").open("wb") as out:
        return Popen(
            command,
            cwd=ROOT,
            env={**base, "REVIEWHUB_VAR": str(folder), **environment},
            stdout=out if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
        )


def databases(arguments: list[str], servers: Mapping[str, str], *, at_once: bool) -> dict[str, bool]:
    """Runs pytest on SQLite and, where there are servers, on those; at once, each has a core of its own."""
    print("\n=== SQLite, broker in a folder", flush=True)
    sqlite = start(arguments, {}, name="sqlite", quiet=False)
    if not servers:
        return {"SQLite": sqlite.wait() == 0}
    if not at_once:
        sqlite.wait()
    other = start(arguments, servers, name="postgresql", quiet=at_once)
    passed = {"SQLite": sqlite.wait() == 0}
    if at_once:
        print("\n=== PostgreSQL and Redis, begun at the same time", flush=True)
    passed["PostgreSQL + Redis"] = other.wait() == 0
    if at_once:
        print((VAR / "postgresql" / "out").read_text(errors="replace"), flush=True)
    return passed


def main() -> int:
    """Runs what can be run, then says what passed, failed and was left out and why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chaos", action="store_true")
    options, rest = parser.parse_known_args()
    print("Looking for servers:")
    database, broker = postgresql(), redis()
    servers = {"DATABASE_URL": database, "REDIS_URL": broker} if database and broker else {}
    results: dict[str, str] = {}

    def note(name: str, *, passed: bool) -> None:
        results[name] = "passed" if passed else "FAILED"

    def leave_out(name: str, why: str, *, required: str) -> None:
        results[name] = (
            f"FAILED: required, but {why}" if os.environ.get(required) == "1" else f"left out: {why}"
        )

    tests = ["tests/chaos"] if options.chaos else ["tests"]
    for name, passed in databases([*tests, *rest], servers, at_once=not options.chaos).items():
        note(name, passed=passed)
    if not servers:
        leave_out("PostgreSQL + Redis", "not both answer", required="REQUIRE_SERVERS")
    if not options.chaos:
        if chromium := browser():
            print("\n=== Browser", flush=True)
            where = ["-c", "tests/e2e/pytest.ini", "--rootdir", ".", "--confcutdir", ".", "tests/e2e"]
            process = start([*where, *rest], {"CHROMIUM": chromium}, name="browser", quiet=False)
            note("Browser", passed=process.wait() == 0)
        else:
            leave_out("Browser", "no Chromium (apt-get install chromium)", required="REQUIRE_BROWSER")
    print("\n=== Summary")
    for name, outcome in results.items():
        print(f"  {name}: {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in results.values()))


if __name__ == "__main__":
    sys.exit(main())
