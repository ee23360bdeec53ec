"""A hosted run that paused under one version of its state is decided after the code changed."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint, StateSchema
from reviewhub.hosting.unreadable import unreadable
from reviewhub.resumptions.models import Resumption
from reviewhub.runs.models import Branch, Run
from tests.hosting.conftest import Hosted

pytestmark = pytest.mark.django_db(transaction=True)


def code(settings: Any, name: str) -> None:
    settings.HOSTED_GRAPHS = {"payer": f"tests.hosting.graphs:{name}"}


@pytest.fixture
def paused(hosted: Hosted, settings: Any) -> Run:
    code(settings, "first")
    run = hosted.start()
    hosted.work()
    return run


def warned(hosted: Hosted) -> str:
    row = hosted.request()
    return unreadable(row.branch, agent=row.agent)


def versions() -> list[int | None]:
    rows = Checkpoint.objects.order_by("created_at").values_list("state_schema__version", flat=True)
    return list(rows)


def test_newer_code_upgrades_on_read_and_saves_its_own(hosted: Hosted, settings: Any, paused: Run) -> None:
    assert set(versions()) == {1}
    old = Checkpoint.objects.latest("created_at")
    text, content = load(old), bytes(old.content)
    code(settings, "third")
    assert warned(hosted) == ""
    hosted.decide("approve")
    hosted.work("a worker of another month")
    paused.refresh_from_db()
    assert paused.state == "succeeded"
    assert hosted.world.done == [("read", "8812"), ("pay", "10.00"), ("mail", "paid")]
    assert sorted({version or 0 for version in versions()}) == [1, 3]
    old.refresh_from_db()
    assert (load(old), bytes(old.content)) == (text, content)
    assert not Checkpoint.objects.exclude(misfits="").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("unable", ("version 1", "version 3", "from 2")),
        ("unraised", ("Version 1", "another schema")),
        ("payer", ("version 1", "no version")),
    ],
)
def test_what_the_code_cannot_read_is_set_aside_at_once(
    hosted: Hosted, settings: Any, paused: Run, name: str, says: tuple[str, ...]
) -> None:
    done = list(hosted.world.done)
    code(settings, name)
    warning = warned(hosted)
    assert all(part.lower() in warning.lower() for part in says), warning
    browser = Client()
    browser.force_login(hosted.person.person)
    page = browser.get(f"/northwind/requests/{hosted.request().number}").content.decode()
    assert "cannot read the state" in page and "nothing runs" in page
    hosted.decide("approve")
    assert hosted.work() == 1
    assert hosted.work() == 0
    branch = Branch.objects.get(run=paused)
    paused.refresh_from_db()
    assert branch.state == "quarantined"
    assert all(part in paused.error for part in says), paused.error
    assert hosted.world.done == done
    assert StateSchema.objects.count() == 1
    assert not Resumption.objects.open().exists()


def test_older_code_says_so_and_newer_code_goes_on(hosted: Hosted, settings: Any) -> None:
    code(settings, "second")
    run = hosted.start()
    hosted.work()
    code(settings, "first")
    hosted.decide("approve")
    hosted.work()
    run.refresh_from_db()
    assert "this code is older" in run.error


def test_an_admins_strict_holds_for_hosted_agents_too(hosted: Hosted, settings: Any) -> None:
    Agent.objects.update(state_validation="strict")
    run = hosted.start()
    hosted.work()
    run.refresh_from_db()
    assert "/state_schema" in run.error
    code(settings, "first")
    hosted.start()
    hosted.work()
    assert versions() == [1, 1]
