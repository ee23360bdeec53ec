"""Two writers on one head, a thousand times."""

from __future__ import annotations

import pytest

from tests.cast import make_cast
from tests.checkpoints.conftest import new_run, put
from tests.checkpoints.racing import races


@pytest.mark.django_db(transaction=True)
def test_one_of_two_writers_wins() -> None:
    branch = new_run(make_cast()).branches.get()
    put(branch, "{}")
    branch.refresh_from_db()
    races(branch, rounds=1000)
