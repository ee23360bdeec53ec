"""Names that differed in letter case only are told apart before they are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from reviewhub.accounts.models import Team
from tests.cast import Cast


def teams_at(migration: str) -> Iterator[Any]:
    """The table of teams as it was at a migration; the newest one again afterwards."""
    call_command("migrate", "accounts", migration, verbosity=0)
    yield (
        MigrationExecutor(connection)
        .loader.project_state([("accounts", migration)])
        .apps.get_model("accounts", "Team")
    )
    call_command("migrate", verbosity=0)


@pytest.fixture
def first_form(cast: Cast) -> Iterator[Any]:
    yield from teams_at("0002_session_epoch")


@pytest.fixture
def folded_by_the_database(cast: Cast) -> Iterator[Any]:
    yield from teams_at("0004_state_validation")


def names(cast: Cast) -> list[str]:
    rows = Team.objects.filter(workspace=cast.workspace).order_by("created_at", "id")
    return list(rows.values_list("name", flat=True))


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_gets_a_number(cast: Cast, first_form: Any) -> None:
    for name in ("finance", "FINANCE"):
        first_form.objects.create(workspace_id=cast.workspace.pk, name=name)
    call_command("migrate", verbosity=0)
    assert names(cast) == ["Support", "Finance", "finance (2)", "FINANCE (3)"]


@pytest.mark.django_db(transaction=True)
def test_what_the_database_took_for_two_names(cast: Cast, folded_by_the_database: Any) -> None:
    """It folds no sharp s, and a letter with an accent may be one sign or two."""
    for name in ("Straße", "STRASSE", "E\u0301quipe", "\u00c9quipe"):
        folded_by_the_database.objects.create(workspace_id=cast.workspace.pk, name=name)
    call_command("migrate", verbosity=0)
    assert names(cast) == [
        "Support",
        "Finance",
        "Straße",
        "STRASSE (2)",
        "E\u0301quipe",
        "\u00c9quipe (2)",
    ]
    assert Team.objects.get(name="STRASSE (2)").folded == "strasse (2)"
