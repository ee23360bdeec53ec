"""How a form is opened, left and found again, through HTTP."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.core.clock import now
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.web.make import waiting
from tests.web.test_review import form_of, get, path_of, send

As = Callable[[Member], Client]


def focused(page: str) -> list[str]:
    return [
        re.search(r'(?:id|name)="([^"]*)"', tag)[1] for tag in re.findall(r"<[^>]* autofocus[^>]*>", page)
    ]  # type: ignore[index]


@pytest.mark.parametrize(
    ("mode", "field"),
    [
        ("approve", "n1"),
        ("edit", "f-1"),
        ("edit&json=1", "raw"),
        ("reject", "n1"),
        ("respond", "v1"),
        ("ask", "n1"),
    ],
)
def test_the_first_field_of_an_opened_form_has_the_focus(cast: Cast, as_: As, mode: str, field: str) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    assert focused(get(client, row, f"?mode={mode}")) == [field]
    assert focused(get(client, row)) == []


@pytest.mark.parametrize(
    ("asked", "opened", "field"),
    [
        ("happened", "happened", "v1"),
        ("did_not_happen", "did_not_happen", "n1"),
        ("skip", "skip", "n1"),
        ("approve", "happened", "v1"),
        ("reject", "did_not_happen", "n1"),
        ("respond", "skip", "n1"),
    ],
)
def test_a_key_of_the_queue_opens_what_it_means_for_an_unknown_call(
    cast: Cast, as_: As, asked: str, opened: str, field: str
) -> None:
    row = waiting(cast.support, kind="unknown", seconds=None)
    page = get(as_(cast.bob), row, f"?mode={asked}")
    assert form_of(page)["type"] == opened
    assert focused(page) == [field]


def test_a_form_that_is_none_of_the_request_is_not_opened(cast: Cast, as_: As) -> None:
    page = get(as_(cast.bob), waiting(cast.support, kind="unknown", seconds=None), "?mode=edit")
    assert "does not take the answer that was asked for" in page
    assert focused(page) == []


def test_after_an_error_the_field_has_the_focus_and_boxes_stay_ticked(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    answer = send(as_(cast.bob), row, "reject", message="...").content.decode()
    assert focused(answer) == ["n1"]
    answer = send(as_(cast.bob), row, "respond", value="{oops", value_json="1").content.decode()
    assert focused(answer) == ["v1"]
    assert form_of(answer)["value_json"] == "1"


@pytest.mark.parametrize("claims", [{}, {"checks": [{"name": "Sum", "status": "failed"}]}])
def test_go_back_posts_the_form_and_keeps_it(cast: Cast, as_: As, claims: dict[str, object]) -> None:
    row = waiting(cast.support, effect="once", claims=claims)
    client = as_(cast.bob)
    step = send(client, row, "edit", **{"f:/amount": "9.00", "message": "Half"}).content.decode()
    assert focused(step) == (["cfi"] if claims else ["back"])
    back = client.post(path_of(row, "/decide"), {**form_of(step), "back": "1"})
    assert back.status_code == 200
    kept = form_of(back.content.decode())
    assert (kept["f:/amount"], kept["message"]) == ("9.00", "Half")
    assert "sure" not in kept
    assert ReviewRequest.objects.get(pk=row.pk).state == "pending"


def test_go_back_keeps_raw_json_and_what_was_read(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, effect="once", arguments='{"text":"%s"}' % ("long " * 900))
    client = as_(cast.bob)
    given = form_of(get(client, row, "?mode=edit&json=1"))
    back = client.post(path_of(row, "/decide"), {**given, "raw": '{"text":"short"}', "back": "1"})
    assert ">{&quot;text&quot;:&quot;short&quot;}</textarea>" in back.content.decode()
    given = form_of(get(client, row, "?mode=approve"))
    assert "seen" not in given
    back = client.post(path_of(row, "/decide"), {**given, "seen": "1", "back": "1"})
    assert form_of(back.content.decode())["seen"] == "1"


@pytest.mark.parametrize("count", [60, 61, 3000])
def test_b54_what_stands_behind_a_count_is_opened_before_it_is_approved(
    cast: Cast, as_: As, count: int
) -> None:
    text = ",".join(f'"k{at:04}":{at}' for at in range(count))
    row = waiting(cast.support, effect="read", arguments="{" + text + "}")
    client = as_(cast.bob)
    page = get(client, row, "?mode=approve")
    is_held = count > 60
    assert ("data-needs-seen" in page, '<details class="cut" data-cut>' in page) == (is_held, is_held)
    assert (f"I have read all {count} arguments" in page) == is_held
    given = {name: value for name, value in form_of(page).items() if name != "seen"}
    if is_held:
        refused = client.post(path_of(row, "/decide"), given)
        assert "Open the parts that are not shown first" in refused.content.decode()
        assert ReviewRequest.objects.get(pk=row.pk).state == "pending"
        given["seen"] = "1"
    client.post(path_of(row, "/decide"), given)
    assert ReviewRequest.objects.get(pk=row.pk).state == "approved"


def test_links_of_an_answered_form_lead_to_the_request(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    answer = send(as_(cast.bob), row, "reject", message="...").content.decode()
    assert 'href="?' not in answer
    assert f'href="{path_of(row)}?mode=ask"' in answer


def test_a_call_of_the_same_pause_did_not_come_before(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    same = {
        name: getattr(row.tool_call, name)
        for name in ("workspace", "agent", "run", "branch", "effect", "digest", "idempotency_key")
    }
    ToolCall.objects.create(
        **same, pause=row.tool_call.pause, tool_name="mail.sibling", state="waiting", position=1
    )
    ToolCall.objects.create(**same, tool_name="orders.look", state="succeeded", mode="observed")
    ReviewRequest.objects.filter(pk=row.pk).update(created_at=now() + timedelta(seconds=1))
    page = get(as_(cast.bob), row)
    assert "mail.sibling" not in page
    assert "orders.look" in page


def test_what_is_over_says_no_more_what_will_come(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, seconds=60)
    client = as_(cast.bob)
    assert "it is denied" in get(client, row)
    ReviewRequest.objects.filter(pk=row.pk).update(
        state="approved", decided_at=now(), decided_by_name="Alice"
    )
    page = get(client, row)
    assert "denied" not in page
    assert "The deadline was" in page


def test_a_request_whose_time_is_over_offers_no_form(cast: Cast, as_: As) -> None:
    page = get(as_(cast.bob), waiting(cast.support, seconds=-5), "?mode=edit")
    assert "An answer is no longer taken" in page
    assert 'id="decide-form"' not in page
    assert 'name="f:/amount"' not in page
    assert 'id="modes"' not in page
    assert "it is denied" not in page
    assert "/claim" not in page


def test_the_queue_offers_nothing_for_a_request_whose_time_is_over(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, seconds=-5)
    client = as_(cast.bob)
    assert 'name="pick"' not in client.get("/northwind/queue").content.decode()
    assert "mode=approve" not in get(client, row, "/peek")


def test_a_claim_in_place_answers_with_the_rows_cells(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    cells = client.post(path_of(row, "/claim"), headers={"HX-Request": "true"}).content.decode()
    assert f'id="rq-{row.number}-eyes" hx-swap-oob="true"' in cells
    assert "data-mine" in cells
    ReviewRequest.objects.filter(pk=row.pk).update(claimed_by=cast.alice)
    cells = client.post(path_of(row, "/claim"), headers={"HX-Request": "true"}).content.decode()
    assert "Alice" in cells
    assert "data-mine" not in cells


def test_the_phones_bar_sends_nothing(cast: Cast, as_: As) -> None:
    page = get(as_(cast.bob), waiting(cast.support))
    bar = page.split('class="act-m"')[1].split("</section>")[0]
    assert 'type="submit"' not in bar
    assert 'href="#decide-form"' in bar
