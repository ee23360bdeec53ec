"""The retention page and what it may be told; the run page says what was removed and why."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from reviewhub.checkpoints import change
from reviewhub.checkpoints.models import Checkpoint, Hold, Pin
from reviewhub.retention.prune import prune
from reviewhub.runs.models import RetentionRule, Run
from tests.cast import Cast
from tests.checkpoints.conftest import put
from tests.driver import agent_of
from tests.shared import shared

WHERE = "/northwind/retention"


@shared
def run(cast: Cast) -> Run:
    """A run of Support's agent with two checkpoints that stand alone."""
    agent = agent_of(cast.support)
    made = agent.run(title="<b>Ann</b>", on_behalf_of="ann")
    for number in range(2):
        agent.post(f"/runs/{made['id']}/checkpoints", {"state": {"n": number}}).ok(201)
    return Run.objects.get(pk=made["id"])


def signed_in(cast: Cast, name: str) -> Client:
    client = Client()
    client.force_login(cast.people[name].person)
    return client


def text(client: Client, where: str) -> str:
    answer = client.get(where)
    assert answer.status_code == 200
    return answer.content.decode()


def said(client: Client, where: str) -> str:
    """The words of a page without its marks."""
    return " ".join(re.sub(r"<[^>]*>", "", text(client, where)).split())


def test_a_rule_is_made_changed_and_removed(cast: Cast) -> None:
    alice = signed_in(cast, "alice")
    assert "No rule is set. Until then: thin after 30 days." in text(alice, WHERE)
    assert (
        alice.post(f"{WHERE}/rules", {"base": "0", "thin_days": "7", "run_class": "cases"}).status_code == 302
    )
    assert "Thin after 7 days" in text(alice, WHERE)
    late = alice.post(f"{WHERE}/rules", {"base": "0", "thin_days": "9", "run_class": "cases"})
    assert late.status_code == 409
    wrong = alice.post(f"{WHERE}/rules", {"base": "1", "thin_days": "-1", "run_class": "cases"})
    assert wrong.status_code == 422 and "needs a whole number" in wrong.content.decode()
    assert (
        alice.post(f"{WHERE}/rules", {"base": "1", "run_class": "cases", "do": "remove"}).status_code == 302
    )
    assert not RetentionRule.objects.exists()


def test_a_manager_sees_it_and_changes_nothing(cast: Cast, run: Run) -> None:
    carol = signed_in(cast, "carol")
    shown = text(carol, f"{WHERE}?look=1")
    assert "Runs looked at" in shown and "Put in force" not in shown and "Erase for good" not in shown
    assert carol.post(f"{WHERE}/rules", {"base": "0"}).status_code == 403


def test_hold_and_lift(cast: Cast, run: Run) -> None:
    carol = signed_in(cast, "carol")
    assert carol.post(f"/northwind/runs/{run.pk}/hold", {"reason": ""}).status_code == 422
    assert carol.post(f"/northwind/runs/{run.pk}/hold", {"reason": "a <i>lawsuit</i>"}).status_code == 302
    assert carol.post(f"/northwind/runs/{run.pk}/hold", {"reason": "again"}).status_code == 409
    for where in (WHERE, f"/northwind/runs/{run.pk}"):
        shown = text(carol, where)
        assert "a &lt;i&gt;lawsuit&lt;/i&gt;" in shown and "<i>lawsuit" not in shown
    over = carol.post(f"/northwind/runs/{run.pk}/release", {"reason": "over"})
    assert (over.status_code, over["Location"]) == (302, f"/northwind/runs/{run.pk}")
    assert not Hold.objects.exists()


def test_what_was_typed_for_a_hold_outlives_a_refusal(cast: Cast, run: Run) -> None:
    carol, where = signed_in(cast, "carol"), f"/northwind/runs/{run.pk}"
    long = "the case of the blue parcel" + "!" * 2000

    def typed(verb: str, status: int, reason: str, **more: str) -> str:
        answer = carol.post(f"{where}/{verb}", {"reason": reason, **more})
        assert answer.status_code == status
        return answer.content.decode()

    assert f'value="{long}"' in typed("hold", 422, long)
    assert "You wrote: <bdi>nothing to lift" in typed("release", 409, "nothing to lift")
    carol.post(f"{where}/hold", {"reason": "first"})
    assert "You wrote: <bdi>second" in typed("hold", 409, "second")
    assert f'value="{long}"' in typed("release", 422, long)
    shown = typed("release", 422, long, back="retention")
    assert f'value="{long}"' in shown and "Runs under hold" in shown
    assert carol.post(f"{where}/release", {"reason": "over", "back": "retention"})["Location"] == WHERE


def test_pin_and_take_off(cast: Cast, run: Run) -> None:
    bob, first = signed_in(cast, "bob"), Checkpoint.objects.get(number=1)
    where = f"/northwind/checkpoints/{first.pk}"
    assert bob.post(f"{where}/pin", {"reason": "the bug"}).status_code == 302
    for shown in (f"/northwind/runs/{run.pk}?checkpoint={first.pk}", where):
        assert "Pinned by Bob: the bug" in said(bob, shown)
    assert (
        "Bob pinned this checkpoint already"
        in bob.post(f"{where}/pin", {"reason": "again"}, follow=True).content.decode()
    )
    assert bob.post(f"{where}/unpin").status_code == 302
    assert bob.post(f"{where}/unpin").status_code == 302
    assert not Pin.objects.exists()


def test_the_run_page_says_what_was_removed(cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "MANIFEST_ROWS", 1)
    alice = signed_in(cast, "alice")
    old = Checkpoint.objects.get(number=2)
    put(run.branches.get(), '{"n":3}')
    RetentionRule.objects.create(workspace=cast.workspace, max_age_days=0, author_name="Alice")
    assert prune(run_id=run.pk).checkpoints == 2
    assert "2 of main between 1 and 2 removed by retention" in said(alice, f"/northwind/runs/{run.pk}")
    gone = alice.get(f"/northwind/runs/{run.pk}?checkpoint={old.pk}")
    assert gone.status_code == 410 and old.state_hash in gone.content.decode()


def test_erasing_takes_the_name_twice(cast: Cast, run: Run) -> None:
    alice = signed_in(cast, "alice")
    given = {"on_behalf_of": "ann", "again": "anna", "reason": "they asked"}
    assert alice.post(f"{WHERE}/erase", given).status_code == 422
    open_ = alice.post(f"{WHERE}/erase", {**given, "again": "ann"})
    assert open_.status_code == 409 and "it is running" in open_.content.decode()
    assert alice.post(f"{WHERE}/erase", {**given, "on_behalf_of": "bo", "again": "bo"}).status_code == 404
    run.refresh_from_db()
    assert run.erased_at is None and run.on_behalf_of == "ann"
