"""Fixtures for every test."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from reviewhub.accounts.models import Member
from reviewhub.audit.testing import flush_may_pass
from tests.cast import Cast, make_cast
from tests.lengths import seconds_of
from tests.shared import SHARED, shared

# A busy machine is no failure: properties are about values, and times are measured in benchmarks.
hypothesis_settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("any machine")


_DATABASE = {"db", "transactional_db"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--database`: what needs none gives the same on every one, and need not run on each."""
    parser.addoption(
        "--database",
        choices=("only", "never"),
        help="only the tests that use the database or start the product, or none of them",
    )
    parser.addoption(
        "--part",
        default="1/1",
        help="one of several parts: 1/3, 2/3, 3/3; whole files, about as much in each",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what was not asked for."""
    if wanted := config.getoption("--database"):
        _only_with_or_without_database(wanted, config, items)


def _only_with_or_without_database(wanted: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    groups: dict[str, list[pytest.Item]] = {"only": [], "never": []}
    for item in items:
        marked = item.get_closest_marker("django_db") or item.get_closest_marker("servers")
        needs = marked or _DATABASE.intersection(getattr(item, "fixturenames", ()))
        if item.get_closest_marker("alike") and connection.vendor != "sqlite":
            needs = False
        groups["only" if needs else "never"].append(item)
    items[:] = groups.pop(wanted)
    config.hook.pytest_deselected(items=[item for group in groups.values() for item in group])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of another part are not even imported."""
    number, _, parts = config.getoption("--part").partition("/")
    if parts == "1" or not fnmatch(collection_path.name, "test_*.py"):
        return None
    return _part_of(int(parts)).get(collection_path, 0) != int(number) - 1 or None


@cache
def _part_of(parts: int) -> dict[Path, int]:
    """Which part each file belongs to: the longest first, each to the part that has least so far.

    Whole files, since the tests of one share rows.
    """
    loads, part_of = [0.0] * parts, {}
    folder = Path(__file__).parent
    seconds = {path: seconds_of(path.relative_to(folder), path) for path in folder.rglob("test_*.py")}
    for path, takes in sorted(seconds.items(), key=lambda one: (-one[1], one[0])):
        part_of[path] = loads.index(min(loads))
        loads[part_of[path]] += takes
    return part_of


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: they need not be looked at in each collection of garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True, scope="session")
def _static_root() -> None:
    """WhiteNoise warns when nothing was collected yet, and warnings are errors."""
    from django.conf import settings

    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture(autouse=True, scope="session")
def _fast() -> Iterator[None]:
    """Argon2 is slow on purpose; no test is about how slow. Static files are looked for when one is asked for."""
    md5 = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=md5, WHITENOISE_AUTOREFRESH=True):
        yield


@pytest.fixture(autouse=True, scope="session")
def _keys_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test signs with the keys of an installation, nor leaves its own behind."""
    with override_settings(AUDIT_KEYS=tmp_path_factory.mktemp("keys")):
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_broker() -> None:
    """Hints to workers go nowhere: no test may need one to arrive, and none leaves files behind."""
    from reviewhub.celery import app

    app.conf.update(broker_url="memory://", broker_transport_options={})


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Transactional tests end by emptying every table, also those that the database guards."""
    with django_db_blocker.unblock(), flush_may_pass():
        _commit_without_the_disk()
        yield
        SHARED.end()


@pytest.fixture
def _shared_rows(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        SHARED.prepare(request.node)


@pytest.fixture
def _django_db_helper(_shared_rows: None, _django_db_helper: None) -> None:
    """pytest-django's, which begins the test's transaction: within that of the rows it shares with its module."""


def _commit_without_the_disk() -> None:
    """What a killed process committed stays; only a machine that fails would lose some of a test's rows."""
    if connection.vendor == "sqlite":
        options = connection.settings_dict["OPTIONS"]
        options["init_command"] += "PRAGMA synchronous=OFF;"
        connection.close()
    else:
        with connection.cursor() as cursor:
            name = connection.ops.quote_name(connection.settings_dict["NAME"])
            cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        connection.close()


@shared
def cast() -> Cast:
    """Everybody, in the database."""
    return make_cast()


@pytest.fixture
def alice(cast: Cast) -> Member:
    """Admin of Northwind, in no team."""
    return cast.alice


@pytest.fixture
def bob(cast: Cast) -> Member:
    """Reviewer of Northwind, team Support."""
    return cast.bob


@pytest.fixture
def dave(cast: Cast) -> Member:
    """Reviewer of Northwind, team Finance."""
    return cast.dave


@pytest.fixture
def carol(cast: Cast) -> Member:
    """Manager of Northwind."""
    return cast.carol


@pytest.fixture
def mallory(cast: Cast) -> Member:
    """Admin of another workspace."""
    return cast.mallory
