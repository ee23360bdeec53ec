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

BEFORE = "0002_session_epoch"


@pytest.fixture
def first_form(cast: Cast) -> Iterator[Any]:
    """The table of teams as it was; the newest one again afterwards."""
    call_command("migrate", "accounts", BEFORE, verbosity=0)
    yield (
        MigrationExecutor(connection)
        .loader.project_state([("accounts", BEFORE)])
        .apps.get_model("accounts", "Team")
    )
    call_command("migrate", verbosity=0)


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_gets_a_number(cast: Cast, first_form: Any) -> None:
    for name in ("finance", "FINANCE"):
        first_form.objects.create(workspace_id=cast.workspace.pk, name=name)
    call_command("migrate", verbosity=0)
    names = (
        Team.objects.filter(workspace=cast.workspace)
        .order_by("created_at", "id")
        .values_list("name", flat=True)
    )
    assert list(names) == ["Support", "Finance", "finance (2)", "FINANCE (3)"]
