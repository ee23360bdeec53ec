"""B15: a worker that lives keeps its lease, whatever goes wrong while it says so."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from reviewhub.hosting import heart
from reviewhub.resumptions.claim import Claimed
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch

BROKEN = [OperationalError("away"), InterfaceError("closed"), OSError("no socket"), ValueError("a bug")]


@pytest.mark.parametrize("where", ["renew", "seen"])
@pytest.mark.parametrize("error", BROKEN, ids=lambda one: type(one).__name__)
def test_b15_a_heart_beats_on_after_an_error(
    error: Exception, where: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LEASE_SECONDS = 0.03
    beats: list[str] = []
    on = threading.Event()

    def beat(name: str) -> None:
        beats.append(name)
        if name == where and beats.count(name) == 1:
            raise error
        if beats.count(where) > 2:
            on.set()

    monkeypatch.setattr(heart, "renew", lambda **given: beat("renew"))
    with heart.beating(Claimed(resumption=Resumption(), branch=Branch()), lambda: beat("seen")):
        assert on.wait(10), beats
