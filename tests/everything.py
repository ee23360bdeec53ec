"""`make test`: everything.

pytest on SQLite, then the browser tests in a process of their own (two event loops do not live in one); beside them, on
the other core, on PostgreSQL with Redis as the broker, when both answer, all that uses a database or starts the product
(the rest would only give the same again). `--chaos` runs tests/chaos instead, on one database after the other.

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


def main() -> int:
    """Runs what can be run, then says what passed, failed and was left out and why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chaos", action="store_true")
    options, rest = parser.parse_known_args()
    print("Looking for servers:")
    database, broker = postgresql(), redis()
    servers = {"DATABASE_URL": database, "REDIS_URL": broker} if database and broker else {}
    results: dict[str, str] = {}

    def note(name: str, process: Popen[bytes]) -> None:
        results[name] = "FAILED" if process.wait() else "passed"

    def leave_out(name: str, why: str, *, required: str) -> None:
        results[name] = (
            f"FAILED: required, but {why}" if os.environ.get(required) == "1" else f"left out: {why}"
        )

    arguments = ["tests/chaos" if options.chaos else "tests", *rest]
    # Kills and races have the machine to themselves; all else shares its cores.
    beside = bool(servers) and not options.chaos
    print("\n=== SQLite, broker in a folder", flush=True)
    sqlite = start(arguments, {}, name="sqlite", quiet=False)
    second = [*arguments, "--with-database"]
    other = start(second, servers, name="postgresql", quiet=True) if beside else None
    note("SQLite", sqlite)
    if not options.chaos:
        if chromium := browser():
            print("\n=== Browser", flush=True)
            where = ["-c", "tests/e2e/pytest.ini", "--rootdir", ".", "--confcutdir", ".", "tests/e2e"]
            note("Browser", start([*where, *rest], {"CHROMIUM": chromium}, name="browser", quiet=False))
        else:
            leave_out("Browser", "no Chromium (apt-get install chromium)", required="REQUIRE_BROWSER")
    if servers:
        print("\n=== PostgreSQL and Redis", flush=True)
        note("PostgreSQL + Redis", other or start(arguments, servers, name="postgresql", quiet=False))
    else:
        leave_out("PostgreSQL + Redis", "not both answer", required="REQUIRE_SERVERS")
    if other is not None:
        print((VAR / "postgresql" / "out").read_text(errors="replace"), flush=True)
    print("\n=== Summary")
    for name, outcome in results.items():
        print(f"  {name}: {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in results.values()))


if __name__ == "__main__":
    sys.exit(main())
