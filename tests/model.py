"""A database as the migrations leave it, made once and copied for each run of the tests: making it takes longer than
hundreds of tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent


class Model:
    """The database that the tests on one server, or in files, begin with.

    Args:
        folder: what is made on the way goes here.
        servers: the environment that names them; empty for SQLite.
    """

    def __init__(self, folder: Path, servers: Mapping[str, str]) -> None:
        self._folder = folder
        self._servers = dict(servers)
        self._lock = threading.Lock()
        self._is_made = False

    def copy(self, folder: Path, servers: Mapping[str, str]) -> None:
        """Puts a copy where the tests with this data folder and these servers look for theirs (`--reuse-db`)."""
        with self._lock:
            if not self._is_made:
                self._make()
                self._is_made = True
            if self._servers:
                name = _test_name(servers)
                self.drop(servers)
                self._sql(f'CREATE DATABASE "{name}" TEMPLATE "{self._name}"')
            else:
                for old in folder.glob("test.sqlite3*"):
                    old.unlink()
                shutil.copyfile(self._folder / "reviewhub.sqlite3", folder / "test.sqlite3")

    @property
    def where(self) -> str:
        """The model itself, for tests that install the product: a name on the server, or a file."""
        return self._name if self._servers else str(self._folder / "reviewhub.sqlite3")

    def drop(self, servers: Mapping[str, str]) -> None:
        """Removes the copy of these servers."""
        if self._servers:
            self._sql(f'DROP DATABASE IF EXISTS "{_test_name(servers)}" WITH (FORCE)')

    def close(self) -> None:
        """Removes the model itself from its server."""
        if self._servers:
            self._sql(f'DROP DATABASE IF EXISTS "{self._name}" WITH (FORCE)')

    @property
    def _name(self) -> str:
        return f"{_name(self._servers)}_model"

    def _make(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        environment = {**self._servers, "REVIEWHUB_VAR": str(self._folder)}
        if self._servers:
            self.close()
            self._sql(f'CREATE DATABASE "{self._name}"')
            environment["DATABASE_URL"] = _at(self._servers, self._name)
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--no-input"]
        subprocess.run(migrate, cwd=ROOT, env={**os.environ, **environment}, check=True)

    def _sql(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(_at(self._servers, "postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def _name(servers: Mapping[str, str]) -> str:
    return urlsplit(servers["DATABASE_URL"]).path.strip("/")


def _test_name(servers: Mapping[str, str]) -> str:
    return f"test_{_name(servers)}"


def _at(servers: Mapping[str, str], name: str) -> str:
    return urlunsplit(urlsplit(servers["DATABASE_URL"])._replace(path=f"/{name}"))
