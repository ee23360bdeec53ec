"""Pages that somebody opens to write: the field has the focus, and what the bar of a phone offers is what is asked."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from reviewhub_agents import wire

from reviewhub.accounts.models import Member
from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import SYSTEM
from reviewhub.reviews.claim import claim
from reviewhub.reviews.models import ReviewRequest
from tests.cast import ALICE, Cast
from tests.web.make import waiting

As = Callable[[Member], Client]
PRESSED = re.compile(r"<(?:button|a)[^>]*>([^<]+)")


def picked(row: ReviewRequest) -> str:
    return f"{row.number}:{row.version}:{row.digest}"


def saved(row: ReviewRequest, state: dict[str, object]) -> Checkpoint:
    branch = row.run.branches.get()
    made = draft(branch=branch, message=wire.CheckpointIn.from_tree({"state": state}))
    return save(branch=branch, draft=made, actor=SYSTEM)


@pytest.mark.parametrize("type_", ["approve", "reject"])
def test_the_bulk_page_begins_in_its_field(cast: Cast, as_: As, type_: str) -> None:
    rows = [waiting(cast.support, risk="low"), waiting(cast.support, risk="low")]
    given = {"type": type_, "pick": [picked(row) for row in rows]}
    page = as_(cast.bob).post("/northwind/queue/bulk", given).content.decode()
    assert re.search(r"<form[^>]* data-opened", page)
    assert re.search(r'<textarea[^>]*id="n1"[^>]* autofocus', page)


@pytest.mark.parametrize(
    ("state", "focused"), [({"a": 1, "b": "x"}, "f:/a"), ({"api_key": "s3cret"}, "at"), ({}, "at")]
)
def test_a_rewrite_begins_in_the_first_field_that_can_be_changed(
    cast: Cast, as_: As, state: dict[str, object], focused: str
) -> None:
    row = saved(waiting(cast.support), state)
    page = as_(cast.bob).get(f"/northwind/checkpoints/{row.pk}/rewrite").content.decode()
    (tag,) = re.findall(r"<(?:input|textarea|select)[^>]* autofocus[^>]*>", page)
    assert f'name="{focused}"' in tag
    assert re.search(r'id="rewrite" data-opened', page)
    assert page.count("data-send") == 1


def test_the_bar_of_a_phone_confirms_what_the_page_asks(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, effect="once")
    given = {"type": "approve", "version": "1", "digest": row.digest, "key": "k" * 8}
    page = as_(cast.bob).post(f"/northwind/requests/{row.number}/decide", given).content.decode()
    bar = page.split('id="act-m"')[1].split("</section>")[0]
    assert PRESSED.findall(bar) == ["Go back", "Approve and run"]
    assert bar.count('form="decide-form"') == 2


def test_keys_are_shown_to_those_for_whom_they_work(cast: Cast, as_: As) -> None:
    waiting(cast.support)
    for who, decides, audits in (
        (cast.bob, True, False),
        (cast.alice, False, True),
        (cast.carol, False, True),
    ):
        page = as_(who).get("/northwind/queue").content.decode()
        hints = page.split('class="hints"')[1].split("</footer>")[0]
        assert ("<kbd>a</kbd>" in hints, "<kbd>x</kbd>" in hints) == (decides, decides), who
        assert "<kbd>j</kbd>" in hints
        keys = page.split('id="keys"')[1].split("</dialog>")[0]
        assert ("Go to audit log" in keys, 'data-jump="l"' in page) == (audits, audits), who


def test_who_has_claimed_it_is_said_to_those_who_cannot_decide_too(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    cast.alice.teams.add(cast.support)
    claim(request_id=row.pk, member=cast.alice, actor=ALICE)
    page = as_(cast.carol).get(f"/northwind/requests/{row.number}").content.decode()
    assert "has claimed it until" in page.split('id="votes"')[1].split("</ul>")[0]
