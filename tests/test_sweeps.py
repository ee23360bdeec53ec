"""In every sweep one that breaks stops no other, and is named in the log."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from reviewhub.audit import seal
from reviewhub.checkpoints.blobs import sweep as blobs
from reviewhub.checkpoints.blobs.protocol import StoreDown
from reviewhub.core.clock import now
from reviewhub.core.sweeps import until
from reviewhub.deliveries import send as sending
from reviewhub.deliveries import tasks as deliveries
from reviewhub.deliveries.models import Email
from reviewhub.hosting import rescue
from reviewhub.insights import raise_alarms, roll_up
from reviewhub.insights.models import RolledDay
from reviewhub.retention import sweep as retention
from reviewhub.retention.estimate import Estimate
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.driver import agent_of, observed

BROKEN, WHOLE = uuid.uuid4(), uuid.uuid4()


def breaks(one: Any, *more: Any, **named: Any) -> int:
    """A fault with the first, and something done with any other."""
    if str(BROKEN) in str(named or one):
        raise LookupError("a fault")
    return 1


class Ids(list[uuid.UUID]):
    """As a query gives them."""

    def values_list(self, *fields: str, flat: bool) -> Ids:
        return self


@pytest.mark.parametrize(
    ("module", "one", "due", "sweep"),
    [
        (deliveries.sending, "send", "due", deliveries.send_due),
        (seal, "seal_workspace", "due", seal.seal_all),
        (rescue, "_wake_settled", "_settled", rescue.rescue),
        (rescue, "_wake_alone", "_alone", rescue.rescue),
        (blobs, "relocate", "candidates", blobs.sweep),
        (retention, "attempt", "due", retention.sweep),
    ],
)
@pytest.mark.django_db
def test_one_that_breaks_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: Any,
    one: str,
    due: str,
    sweep: Callable[[], Any],
) -> None:
    done = []

    def do(*args: Any, **named: Any) -> Any:
        breaks(*args or (None,), **named)
        done.append(args or named)
        return Estimate() if module is retention else 1

    monkeypatch.setattr(module, one, do)
    monkeypatch.setattr(module, due, lambda: Ids([BROKEN, WHOLE]))
    monkeypatch.setattr(blobs, "first_name", lambda: "db")
    sweep()
    assert len(done) == 1 and str(WHOLE) in str(done)
    assert str(BROKEN) in caplog.text and "a fault" in caplog.text


def test_a_store_that_breaks_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.BLOB_STORES = {"odd": {}, "down": {}, "fine": {}}

    def clear(*, name: str) -> int:
        if name == "odd":
            raise LookupError("a fault")
        if name == "down":
            raise StoreDown("away")
        return 1

    monkeypatch.setattr(blobs, "clear", clear)
    monkeypatch.setattr(blobs, "first_name", lambda: None)
    assert blobs.sweep() == 1 and "failed for odd" in caplog.text


def test_an_alarm_that_breaks_keeps_no_other_workspace_from_its_own(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_of(cast.support)
    observed(agent, agent.run()["id"])
    ToolCall.objects.update(ran_without_approval=True)
    told = []

    def tell(workspace: uuid.UUID, found: list[ToolCall]) -> int:
        told.append(workspace)
        raise LookupError("a fault")

    monkeypatch.setattr(raise_alarms, "_raise", tell)
    assert raise_alarms.raise_alarms() == 0 and told == [cast.workspace.pk]


@pytest.mark.django_db
def test_a_day_that_cannot_be_counted_stays_due(monkeypatch: pytest.MonkeyPatch) -> None:
    days = [date(2026, 3, 1), date(2026, 3, 2)]
    monkeypatch.setattr(roll_up, "due_days", lambda at: days)
    count = roll_up.roll_day

    def roll(day: date) -> None:
        if day == days[0]:
            raise LookupError("a fault")
        count(day)

    monkeypatch.setattr(roll_up, "roll_day", roll)
    assert roll_up.roll_up() == 1
    assert dict(RolledDay.objects.values_list("day", "is_final")) == {days[0]: False, days[1]: True}
    count(days[0])
    assert not RolledDay.objects.filter(is_final=False).exists()


@pytest.mark.django_db
def test_a_mail_that_no_server_takes_is_given_up_in_the_end(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = Email.objects.create(
        workspace=cast.workspace, to="bob@example.com", subject="two\nlines", body="b", next_at=now()
    )
    assert sending.send(row.pk) is False
    row.refresh_from_db()
    assert "BadHeaderError" in row.error and row.next_at is not None
    Email.objects.update(next_at=now(), attempts=sending.MAX_ATTEMPTS - 1)
    assert sending.send(row.pk) is False
    row.refresh_from_db()
    assert row.failed_at is not None and row.next_at is None


def test_what_begins_after_its_time_is_left() -> None:
    assert list(until([1, 2, 3], seconds=0)) == [1]
    assert list(until([1, 2, 3], seconds=60)) == [1, 2, 3]
