"""The whole product as a user starts it: `manage.py up` on its own data, in its own processes."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import httpx
import psycopg
import psycopg.conninfo
import psycopg.sql

ROOT = Path(__file__).resolve().parent.parent.parent


def until(condition: Callable[[], bool], what: str, seconds: float = 240.0) -> None:
    """Waits for `condition`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether the process still runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def environment(var: Path) -> dict[str, str]:
    """The environment of an installation of its own.

    SQLite and the broker in `var`; where the tests run on PostgreSQL, a database of its own on that server and Redis.
    """
    mine = {**os.environ, "REVIEWHUB_VAR": str(var), "PYTHONUNBUFFERED": "1"}
    if os.environ.get("DATABASE_URL"):
        mine["DATABASE_URL"] = (
            urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database(var)}").geturl()
        )
        mine["CELERY_BROKER_URL"] = mine.get("REDIS_URL", "filesystem://")
    return mine


def database(var: Path) -> str:
    """The name of the installation's database on PostgreSQL."""
    return "reviewhub_product_" + hashlib.sha256(str(var).encode()).hexdigest()[:12]


def on_server(statement: LiteralString, *databases: str) -> None:
    """Runs a statement about databases; nothing where the tests run on SQLite."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        return
    base = psycopg.conninfo.conninfo_to_dict(url)
    with psycopg.connect(**{**base, "dbname": "postgres"}, autocommit=True) as server:
        names = [psycopg.sql.Identifier(name) for name in databases]
        server.execute(psycopg.sql.SQL(statement).format(*names))


@contextmanager
def installed(var: Path, *, like: Path | None = None) -> Iterator[Path]:
    """An installation with its tables in `var`; its database is gone afterwards.

    Args:
        like: another one in which nothing runs, which is copied; without it the model is (`tests.model`), and where
            there is none the tables are made.
    """
    model = os.environ.get("TEST_MODEL", "")
    if like:
        on_server("CREATE DATABASE {} TEMPLATE {}", database(var), database(like))
        shutil.copytree(like, var, dirs_exist_ok=True)
    elif model and os.environ.get("DATABASE_URL"):
        on_server("CREATE DATABASE {} TEMPLATE {}", database(var), model)
    elif model:
        shutil.copyfile(model, var / "reviewhub.sqlite3")
    else:
        on_server("CREATE DATABASE {}", database(var))
    try:
        if not (like or model):
            manage(var, "migrate", "--verbosity", "0")
        yield var
    finally:
        on_server("DROP DATABASE {} WITH (FORCE)", database(var))


def manage(var: Path, *arguments: str) -> str:
    """Runs one management command and gives its output."""
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(var), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Product:
    """One `manage.py up`."""

    def __init__(self, var: Path, *arguments: str) -> None:
        self.var = var
        self.log = var / f"up-{time.monotonic_ns()}.out"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", *arguments],
                cwd=ROOT,
                env=environment(var),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    @property
    def address(self) -> str:
        """Where it says that it runs."""
        until(lambda: "runs at http" in self.output or self.process.poll() is not None, "it says its address")
        return next(word for word in self.output.split() if word.startswith("http://"))

    def wait_until_ready(self) -> None:
        """Until `/readyz` says so."""
        until(lambda: self._ready(), "it is ready")

    def children(self) -> dict[str, int]:
        """The process ids of web, worker, beat and so on, by the word that tells them apart."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().decode().split("\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            if "reviewhub.ops.child" in words and str(self.process.pid) in words:
                name = next((word for word in ("serve", "worker", "beat") if word in words), words[4])
                found[name] = int(path.parent.name)
        return found

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Sends a signal and waits for the end; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(40)

    def end(self) -> None:
        """Whatever happened: nothing of it is left."""
        for pid in [self.process.pid, *self.children().values()]:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def _ready(self) -> bool:
        try:
            return httpx.get(f"{self.address}/readyz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False
