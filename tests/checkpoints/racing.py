"""Two writers on one head, again and again."""

from __future__ import annotations

import copy
import threading
from typing import Any

from django.db import connection, transaction
from reviewhub_agents import wire

from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.save import StaleHead, save
from reviewhub.runs.models import Branch
from tests.checkpoints.conftest import AGENT


def races(branch: Branch, *, rounds: int, writers: int = 2) -> None:
    """In each round all writers save on the head that they know; exactly one does, and the others are told its head.

    They hold no lock: the statement that moves the head is all that keeps them apart.
    """
    first = Checkpoint.objects.filter(branch=branch).count()
    gate = threading.Barrier(writers, timeout=60)
    told: list[list[Any]] = [[None] * writers for _ in range(rounds)]

    def write(place: int) -> None:
        try:
            mine = copy.copy(branch)
            for made in told:
                gate.wait()
                made[place] = _save(mine, {"state": {"by": str(place)}, "parent": str(mine.head)})
                gate.wait()
                mine.head = next(one for one in made if isinstance(one, Checkpoint)).pk
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(place,)) for place in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heads = []
    for made in told:
        (won,) = (one for one in made if isinstance(one, Checkpoint))
        lost = [one for one in made if one is not won]
        assert all(isinstance(one, StaleHead) and one.extra["head"]["id"] == str(won.pk) for one in lost), (
            lost
        )
        heads.append((won.pk, won.number))
    branch.refresh_from_db()
    assert branch.head == heads[-1][0]
    numbers = list(Checkpoint.objects.filter(branch=branch).order_by("number").values_list("pk", "number"))
    assert numbers[first:] == heads
    assert [number for _, number in numbers] == list(range(1, first + rounds + 1))


def _save(branch: Branch, tree: dict[str, Any]) -> Checkpoint | StaleHead:
    prepared = draft(branch=branch, message=wire.CheckpointIn.from_tree(tree))
    try:
        with transaction.atomic():
            return save(branch=branch, draft=prepared, actor=AGENT)
    except StaleHead as stale:
        return stale
