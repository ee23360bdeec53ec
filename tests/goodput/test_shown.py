"""The figures in the API, on the pages and as metrics."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from reviewhub.core.display.shares import percent
from reviewhub.hosting.goodput.rules import Spent
from reviewhub.hosting.models import Shift
from reviewhub.ops.metrics import Metric, written
from reviewhub.web.progress import long
from tests.cast import Cast
from tests.driver import agent_of, new_id
from tests.hosting.conftest import Hosted

TOKEN = "a token of sixteen or more"


def client_of(cast: Cast, name: str) -> Client:
    client = Client()
    client.force_login(cast.people[name].person)
    return client


@pytest.mark.django_db(transaction=True)
def test_a_run_elsewhere_has_its_waiting_only(cast: Cast) -> None:
    agent = agent_of(cast.support)
    run = str(agent.run()["id"])
    out = agent.get(f"/runs/{run}/goodput").ok(200)
    assert out["run"] == run
    assert (out["shifts"], out["useful_us"], out["people_us"]) == (0, 0, 0)
    assert "progress_ppm" not in out
    assert agent_of(cast.support, "Other agent").get(f"/runs/{run}/goodput").status == 404
    assert agent.get(f"/runs/{new_id()}/goodput").status == 404
    page = client_of(cast, "bob").get(f"/northwind/runs/{run}").content.decode()
    assert "forward progress" not in page


@pytest.mark.django_db(transaction=True)
def test_the_pages_and_the_metrics_of_a_hosted_agent(hosted: Hosted, cast: Cast, settings: Any) -> None:
    run = hosted.start()
    hosted.work()
    shift = Shift.objects.get()
    for name in ("useful", "replay", "recovery", "saving", "ledger", "queue"):
        setattr(shift, f"{name}_us", 1_000_000)
    shift.useful_us, shift.saves = 996_000_000, 10
    shift.save()
    bob = client_of(cast, "bob")
    page = bob.get(f"/northwind/runs/{run.pk}").content.decode()
    assert '<b class="num">99.6%</b> forward progress' in page
    assert 'id="goodput"' in bob.get(f"/northwind/runs/{run.pk}/live").content.decode()
    page = bob.get(f"/northwind/agents/{hosted.agent.pk}/goodput").content.decode()
    for words in ("99.6%", "How often to save", "at least: none was seen", "16 m", "waited for people"):
        assert words in page
    page = client_of(cast, "alice").get("/northwind/agents").content.decode()
    assert "Where its time goes" in page
    assert "99.6% forward progress in 16 m of work, last 30 days" in page

    settings.METRICS_TOKEN = ""
    nobody = Client()
    assert nobody.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    for shown in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer"}):
        assert nobody.get("/metrics", headers=shown).status_code == 401
    assert bob.get("/metrics").status_code == 401
    answer = nobody.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    lines = answer.content.decode().splitlines()
    of = '{workspace="northwind",agent="Payer"'
    assert f'reviewhub_shift_seconds_total{of},kind="useful"}} 996' in lines
    assert f"reviewhub_saves_total{of}}} 10" in lines
    assert "reviewhub_requests_pending 1" in lines
    assert 'reviewhub_audit_sealing{workspace="northwind"} 1' in lines
    assert 'reviewhub_audit_unsealed_events{workspace="contoso"} 0' in lines
    assert "# TYPE reviewhub_worker_last_hour_seconds gauge" in lines


def test_labels_are_data() -> None:
    one = Metric("x", "gauge", "Words.", [({"agent": 'a"b\\c\nd'}, 1.5), ({}, 2)])
    assert "".join(written([one])) == (
        "# HELP reviewhub_x Words.\n# TYPE reviewhub_x gauge\n"
        'reviewhub_x{agent="a\\"b\\\\c\\nd"} 1.5\nreviewhub_x 2\n'
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 ms"), (0.00042, "0.42 ms"), (0.42, "420 ms"), (4.24, "4.2 s"), (540, "9 m"), (7200, "2 h")],
)
def test_times(seconds: float, words: str) -> None:
    assert long(seconds) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, "–"),
        (1.0, "100.0%"),
        (0.9999, "99.9%"),
        (0.9971, "99.7%"),
        (0.29, "29.0%"),
        (0.12355, "12.4%"),
        (0.0001, "0.1%"),
        (0, "0.0%"),
    ],
)
def test_shares_are_never_rounded_up(share: float | None, words: str) -> None:
    assert percent(share) == words


def test_what_a_shift_spent_adds_up() -> None:
    assert Spent(useful=1, saves=2) + Spent(useful=2, paid=3) == Spent(useful=3, saves=2, paid=3)
