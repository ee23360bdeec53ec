"""The broker is away, or forgets, while decisions come: they are made all the same, and each waking is done once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from reviewhub import celery
from reviewhub.hosting.resume import resume
from reviewhub.hosting.sweep import sweep
from reviewhub.resumptions import nudge
from reviewhub.resumptions.models import Resumption
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Run
from tests.hosting.conftest import Hosted

pytestmark = pytest.mark.django_db(transaction=True)
RUNS = 4
KEPT = ("task_default_queue", "task_publish_retry_policy", "broker_connection_timeout")


@pytest.fixture
def broker(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Celery]:
    """Makes a broker the one that hints go to, with the product's own settings of it."""
    settings.VAR = tmp_path

    def use(url: str) -> Celery:
        settings.CELERY_BROKER_URL = url
        made = Celery("broker of the test", set_as_current=False)
        kept = {name: celery.app.conf[name] for name in KEPT}
        made.conf.update(**celery._transport(), **kept)
        monkeypatch.setattr(nudge, "app", made)
        return made

    return use


def waiting(hosted: Hosted) -> None:
    """A few runs that wait for people."""
    for _ in range(RUNS):
        hosted.start()
    while hosted.work():
        pass


def decide_all(hosted: Hosted) -> None:
    for row in ReviewRequest.objects.filter(state="pending").order_by("number"):
        hosted.decide("approve", row=row)


def messages(app: Celery) -> list[str]:
    """The wakings that the broker tells a worker of, in order; taken away from it."""
    found = []
    with app.connection_for_read() as connection, connection.SimpleQueue("reviewhub") as queue:
        while True:
            try:
                message = queue.get(timeout=0.3)
            except queue.Empty:
                return found
            found.append(message.payload[0][0])
            message.ack()


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "filesystem://"])
def test_a_broker_that_is_down_keeps_no_decision_back(
    hosted: Hosted, broker: Callable[[str], Celery], tmp_path: Path, url: str
) -> None:
    # Nothing listens there; and where the folder should be there is a file.
    broken = tmp_path / "broker"
    broken.write_text("no folder")
    broker(url)
    waiting(hosted)
    decide_all(hosted)
    assert not ReviewRequest.objects.filter(state="pending").exists()
    assert Resumption.objects.filter(state="queued").count() == RUNS
    with pytest.raises((OperationalError, OSError)):
        sweep()
    broken.unlink()
    back = broker("filesystem://")
    assert sweep() == RUNS
    goes_on_once(hosted, messages(back))


def test_a_broker_that_forgets_is_told_again(
    hosted: Hosted, broker: Callable[[str], Celery], tmp_path: Path
) -> None:
    url = os.environ.get("REDIS_URL", "filesystem://")
    app = broker(url)
    waiting(hosted)
    forget(app, tmp_path)
    decide_all(hosted)
    forget(app, tmp_path)
    assert sweep() == RUNS
    told = messages(app)
    goes_on_once(hosted, told)


def forget(app: Celery, folder: Path) -> None:
    """Every message is lost."""
    if app.conf.broker_url.startswith("redis"):
        with app.connection_for_write() as connection:
            connection.default_channel.client.delete("reviewhub")
    else:
        shutil.rmtree(folder / "broker", ignore_errors=True)


def goes_on_once(hosted: Hosted, told: list[str]) -> None:
    """Each waking is heard of; heard three times and in another order, each is done once."""
    assert sorted(told) == sorted(str(pk) for pk in Resumption.objects.open().values_list("pk", flat=True))
    done = [resume(resumption_id=pk, owner="worker") for pk in [*reversed(told), *told, *told]]
    assert sum(done) == RUNS
    assert set(Run.objects.values_list("state", flat=True)) == {"succeeded"}
    assert hosted.world.done.count(("pay", "10.00")) == RUNS
