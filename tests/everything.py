"""`make test`: everything.

Runs of pytest, four at a time: what uses a database or starts the product, on PostgreSQL with Redis as broker, when
both answer, and on SQLite, each in three parts, so that no core is idle at the end; the browser tests, in a process of
their own (two event loops do not live in one); and what needs no database. `--chaos` runs tests/chaos instead, on one
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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.model import Model

ROOT = Path(__file__).resolve().parent.parent
VAR = Path(os.environ.get("REVIEWHUB_VAR", ROOT / "var")) / "test"
LOCAL_DATABASE = "postgresql://postgres@127.0.0.1:5432/reviewhub"
LOCAL_REDIS = "redis://127.0.0.1:6379/15"
REDIS_DATABASES = 16
# The shell is the same browser without what a screen needs, and takes half the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


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
    install = [apt, "install", "-y", "-qq", "--no-install-recommends", "fonts-liberation"]
    # Older releases have no package of the shell alone.
    for command in ([apt, "update", "-qq"], [*install, BROWSERS[0]], [*install, BROWSERS[1]]):
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            print(f"  {' '.join(command)} ended with {done.returncode}")
        if found := next(filter(None, map(shutil.which, BROWSERS)), ""):
            break
    return found


def hidden(url: str) -> str:
    """The address without its password."""
    return url.rpartition("@")[2]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One pytest with a data folder of its own; what a quiet one says goes to a file in it until all are done."""

    name: str
    folder: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    quiet: bool = False
    model: Model | None = None
    """What its test database is a copy of; None: pytest makes one."""

    @property
    def said(self) -> Path:
        """Where a quiet one's words are."""
        return VAR / self.folder / "out"

    def run(self) -> str:
        """Runs it, and says how it ended."""
        base = {
            name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}
        }
        self.said.parent.mkdir(parents=True, exist_ok=True)
        if not self.quiet:
            print(f"\n=== {self.name}", flush=True)
        if self.model is not None:
            self.model.copy(self.said.parent, self.environment)
            base["TEST_MODEL"] = self.model.where
        with self.said.open("wb") as out:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *self.arguments, *(["--reuse-db"] if self.model else [])],
                cwd=ROOT,
                env={**base, "REVIEWHUB_VAR": str(self.said.parent), **self.environment},
                stdout=out if self.quiet else None,
                stderr=subprocess.STDOUT if self.quiet else None,
                check=False,
            )
        return "FAILED" if done.returncode else "passed"


PARTS = ("1/3", "2/3", "3/3")


def in_parts(job: Job) -> list[Job]:
    """`job` as three that share nothing: each has a third of the files, a folder, and names on the servers of its own.

    Only the first is not quiet: one of them tells how far it is.
    """
    return [
        replace(
            job,
            name=f"{job.name}, part {part}",
            folder=f"{job.folder}-{number}",
            arguments=[*job.arguments, f"--part={part}"],
            environment=beside(job.environment, number),
            quiet=job.quiet or number > 0,
        )
        for number, part in enumerate(PARTS)
    ]


def beside(servers: Mapping[str, str], number: int) -> dict[str, str]:
    """The same servers, with databases of its own for every `number` but 0."""
    if not number or not (servers and all(servers.values())):
        return dict(servers)
    database, broker = urlsplit(servers["DATABASE_URL"]), urlsplit(servers["REDIS_URL"])
    other = (int(broker.path.strip("/") or 0) - number) % REDIS_DATABASES
    return {
        "DATABASE_URL": urlunsplit(database._replace(path=f"{database.path}_{number}")),
        "REDIS_URL": urlunsplit(broker._replace(path=f"/{other}")),
    }


def on_sqlite(arguments: Sequence[str]) -> Job:
    """The run on SQLite; the one that tells how far it is."""
    return Job(name="SQLite, broker in a folder", folder="sqlite", arguments=arguments)


def on_servers(arguments: Sequence[str], *, quiet: bool) -> tuple[Job, str]:
    """The run on PostgreSQL and Redis; and why it is left out, or nothing."""
    database, broker = postgresql(), redis()
    servers = {"DATABASE_URL": database, "REDIS_URL": broker}
    job = Job(
        name="PostgreSQL + Redis", folder="postgresql", arguments=arguments, environment=servers, quiet=quiet
    )
    return job, "" if database and broker else left_out("not both answer", required="REQUIRE_SERVERS")


def in_browser(arguments: Sequence[str]) -> tuple[Job, str]:
    """The browser tests; and why they are left out, or nothing."""
    chromium = browser()
    job = Job(
        name="Browser",
        folder="browser",
        arguments=[
            "-c",
            "tests/e2e/pytest.ini",
            "--rootdir",
            ".",
            "--confcutdir",
            ".",
            "tests/e2e",
            *arguments,
        ],
        environment={"CHROMIUM": chromium},
        quiet=True,
    )
    why = "no Chromium (apt-get install chromium)"
    return job, "" if chromium else left_out(why, required="REQUIRE_BROWSER")


def left_out(why: str, *, required: str) -> str:
    """What becomes of that which cannot run here: a failure if the environment says that it has to."""
    return f"FAILED: required, but {why}" if os.environ.get(required) == "1" else f"left out: {why}"


def main() -> int:
    """Runs what can be run, then says what passed, failed and was left out and why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chaos", action="store_true")
    options, rest = parser.parse_known_args()
    print("Looking for servers and a browser:", flush=True)
    if options.chaos:
        # Kills and races have the machine to themselves.
        workers, tests, chromium = 1, ["tests/chaos", *rest], browser()
        jobs = [
            (replace(job, environment={**job.environment, "CHROMIUM": chromium}), why)
            for job, why in ((on_sqlite(tests), ""), on_servers(tests, quiet=False))
        ]
    else:
        # More than there are cores, since each of them waits now and then.
        workers, tests = 4, ["tests", *rest]
        with_one = [*tests, "--database=only"]
        pure = Job(name="No database", folder="pure", arguments=[*tests, "--database=never"], quiet=True)
        servers, why = on_servers(with_one, quiet=True)
        in_files, on_server = Model(VAR / "model", {}), Model(VAR / "model-server", servers.environment)
        shown, why_not = in_browser(rest)
        first, *others = [(replace(part, model=on_server), why) for part in in_parts(servers)]
        alike, *files = [(replace(part, model=in_files), "") for part in in_parts(on_sqlite(with_one))]
        # The two that make the models, and beside them what needs none; then the longest first.
        jobs = [first, alike, (pure, ""), *others, (replace(shown, model=in_files), why_not), *files]
    with ThreadPoolExecutor(workers) as lanes:
        running = {job.name: lanes.submit(lambda job=job, why=why: why or job.run()) for job, why in jobs}
        results = {name: done.result() for name, done in running.items()}
    for job, why in jobs:
        if job.model is not None and not why:
            job.model.drop(job.environment)
            job.model.close()
    for job, why in jobs:
        if job.quiet and not why:
            print(f"\n=== {job.name}\n{job.said.read_text(errors='replace')}", flush=True)
    print("\n=== Summary")
    for name, outcome in results.items():
        print(f"  {name}: {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in results.values()))


if __name__ == "__main__":
    sys.exit(main())
