"""A request that breaks when it is due keeps no other one waiting."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from reviewhub.core.sweeps import each
from reviewhub.reviews import escalate, expire, remind, tasks


@pytest.mark.parametrize(
    ("module", "sweep"),
    [(expire, tasks.expire_due), (escalate, tasks.escalate_due), (remind, tasks.remind_due)],
)
def test_one_that_breaks_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: Any, module: Any, sweep: Any
) -> None:
    broken, whole = uuid.uuid4(), uuid.uuid4()
    monkeypatch.setattr(module, "due", lambda: [broken, whole])
    name = module.__name__.rpartition(".")[2]

    def do(*, request_id: uuid.UUID) -> bool:
        if request_id == broken:
            raise LookupError("a fault")
        return True

    monkeypatch.setattr(module, name, do)
    assert sweep() == 1
    assert str(broken) in caplog.text and "a fault" in caplog.text


def test_what_was_done_is_counted() -> None:
    assert each(lambda one: one, [1, 2, False]) == 3
