"""A process that saves is killed at any moment: what is there is whole, and the next one goes on from it (B23)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.db import connection

from reviewhub.checkpoints import recall
from reviewhub.checkpoints.history import history
from reviewhub.checkpoints.load import load_states
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.conftest import new_run

ROOT = Path(__file__).resolve().parents[2]
SAVES = """
import sys, django
django.setup()
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.queries import head_of
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import put
from reviewhub_agents import canonical

branch = Branch.objects.get(pk=sys.argv[1])
head = head_of(branch)
log = canonical.parse(load(head))["log"] if head else []
print("ready", flush=True)
while True:
    log = [*log, {"n": str(len(log)), "text": "x" * (len(log) % 7 * 900)}]
    put(branch, canonical.dumps({"log": log, "doc": str(len(log)) * 300}))
    branch.refresh_from_db()
"""


def address() -> str:
    """The test's own database, as a setting."""
    given = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    return f"postgresql://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT']}/{given['NAME']}"


@pytest.mark.servers
@pytest.mark.django_db(transaction=True)
def test_there_is_never_half_a_checkpoint(cast: Cast) -> None:
    branch = new_run(cast).branches.get()
    dice, seen = random.Random(5), 0
    for _ in range(3):
        process = saving(branch)
        time.sleep(dice.uniform(0.05, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        until_its_server_side_is_gone()
        seen = whole(branch, at_least=seen)
    assert seen > 3


def saving(branch: Branch) -> subprocess.Popen[str]:
    """A process that saves as fast as it can; returns when it has begun."""
    environment = {**os.environ, "DATABASE_URL": address(), "DJANGO_SETTINGS_MODULE": "reviewhub.settings"}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'agents'}"
    command = [sys.executable, "-c", SAVES, str(branch.pk)]
    process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def until_its_server_side_is_gone() -> None:
    """PostgreSQL ends what a client had sent before it died; SQLite has nobody who could."""
    if connection.vendor == "sqlite":
        return
    others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    for _ in range(300):
        with connection.cursor() as cursor:
            cursor.execute(others)
            if cursor.fetchone()[0] == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server still works for a client that is dead")


def whole(branch: Branch, *, at_least: int) -> int:
    """How many checkpoints there are; each can be read, and the newest is the head."""
    recall.forget_all()
    branch.refresh_from_db()
    rows: list[Checkpoint] = []
    cursor = ""
    while not rows or cursor:
        page = history(branch=branch, cursor=cursor, limit=200)
        rows += page.rows
        cursor = page.next
    assert [row.number for row in rows] == list(range(len(rows), 0, -1))
    assert branch.head == rows[0].pk
    assert len(rows) >= at_least
    assert len(load_states(rows)) == len(rows)
    return len(rows)
