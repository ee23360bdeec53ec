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


def teams_at(migration: str) -> Any:
    """The table of teams as it was at a migration."""
    call_command("migrate", "accounts", migration, verbosity=0)
    executor = MigrationExecutor(connection)
    return executor.loader.project_state([("accounts", migration)]).apps.get_model("accounts", "Team")


@pytest.fixture
def newest_afterwards() -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0)


def names(cast: Cast) -> list[str]:
    rows = Team.objects.filter(workspace=cast.workspace).order_by("created_at", "id")
    return list(rows.values_list("name", flat=True))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("newest_afterwards")
def test_the_second_of_two_gets_a_number(cast: Cast) -> None:
    first_form = teams_at("0002_session_epoch")
    for name in ("finance", "FINANCE"):
        first_form.objects.create(workspace_id=cast.workspace.pk, name=name)
    # A database folds no sharp s, and a letter with an accent may be one sign or two.
    folded_by_the_database = teams_at("0004_state_validation")
    for name in ("Straße", "STRASSE", "E\u0301quipe", "\u00c9quipe"):
        folded_by_the_database.objects.create(workspace_id=cast.workspace.pk, name=name)
    call_command("migrate", verbosity=0)
    assert names(cast) == [
        "Support",
        "Finance",
        "finance (2)",
        "FINANCE (3)",
        "Straße",
        "STRASSE (2)",
        "E\u0301quipe",
        "\u00c9quipe (2)",
    ]
    assert Team.objects.get(name="STRASSE (2)").folded == "strasse (2)"
