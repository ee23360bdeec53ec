"""Later looks by the keyboard: ticks stay while one moves, keys are about all that are ticked, one key undoes it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from reviewhub.reviews.models import PostReview
from tests.cast import Cast
from tests.e2e.desk import Visit
from tests.web.make import drawn, waiting

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/northwind/post-review"


@pytest.fixture
def looks(cast: Cast) -> list[PostReview]:
    """Four calls to look at, in the order of the page."""
    calls = [waiting(cast.support).tool_call for _ in range(4)]
    return [drawn(call, rank=rank) for call, rank in zip(calls, (4, 2, 1, 0), strict=True)]


def ticked(page: Page) -> int:
    return page.locator("[name=pick]:checked").count()


def press(page: Page, key: str, row: PostReview) -> None:
    """Moves by a key, to this row."""
    page.keyboard.press(key)
    page.wait_for_url(f"**at={row.tool_call_id}*")


def states(rows: list[PostReview]) -> list[str]:
    for row in rows:
        row.refresh_from_db()
    return [row.state for row in rows]


def test_ticks_stay_while_j_and_k_move_and_a_verdict_is_about_all_of_them(
    cast: Cast, looks: list[PostReview], visit: Visit
) -> None:
    page = visit(cast.carol, PAGE)
    batch = page.get_by_role("group", name="What is ticked")
    page.keyboard.press("x")
    press(page, "j", looks[1])
    page.keyboard.press("x")
    press(page, "j", looks[2])
    expect(batch).to_contain_text("2 ticked")
    assert ticked(page) == 2
    page.keyboard.press("o")
    fine = page.get_by_role("button", name="Fine: 2")
    expect(fine).to_be_focused()
    assert states(looks) == ["drawn"] * 4, "a key says how many, and sends nothing"
    page.keyboard.press("Enter")
    expect(page.get_by_text("Fine: 2 of 2")).to_be_visible()
    assert states(looks) == ["fine", "fine", "drawn", "drawn"]
    expect(batch).to_be_hidden()
    page.keyboard.press("z")
    expect(page.get_by_text("2 verdicts were taken back")).to_be_visible()
    assert states(looks) == ["drawn"] * 4


def test_all_shown_are_ticked_at_once_and_flagged_together(
    cast: Cast, looks: list[PostReview], visit: Visit
) -> None:
    page = visit(cast.carol, PAGE)
    page.get_by_label("Tick all 4 shown").check()
    page.keyboard.press("2")
    note = page.get_by_label("Note for all that are ticked")
    expect(note).to_be_focused()
    page.keyboard.type("Too much")
    page.keyboard.press("Enter")
    assert states(looks) == ["drawn"] * 4, "Enter in the note is no verdict"
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Flagged: 4 of 4")).to_be_visible()
    found = PostReview.objects.values_list("state", "severity", "note").distinct()
    assert list(found) == [("flagged", "medium", "Too much")]


def test_escape_unticks_and_a_key_is_about_the_open_one_again(
    cast: Cast, looks: list[PostReview], visit: Visit
) -> None:
    page = visit(cast.carol, PAGE)
    page.keyboard.press("Shift+X")
    assert ticked(page) == 4
    page.keyboard.press("Escape")
    assert ticked(page) == 0
    page.keyboard.press("o")
    page.wait_for_url(f"**last={looks[0].tool_call_id}*")
    assert states(looks) == ["fine", "drawn", "drawn", "drawn"]


def test_ticks_are_of_one_list_and_another_one_has_none(
    cast: Cast, looks: list[PostReview], visit: Visit
) -> None:
    page = visit(cast.carol, PAGE)
    page.keyboard.press("Shift+X")
    page.goto(page.url + "?tool=payments.refund_order")
    expect(page.locator("[name=pick]")).to_have_count(4)
    assert ticked(page) == 0


def test_the_address_of_a_filter_names_what_was_chosen_and_nothing_else(cast: Cast, visit: Visit) -> None:
    page = visit(cast.carol, "/northwind/audit")
    page.locator("[name=q]").first.fill("refund")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=refund*")
    assert "export=" not in page.url and "=&" not in page.url and not page.url.endswith("=")


def test_the_sheet_of_keys_says_which_send_at_once(cast: Cast, looks: list[PostReview], visit: Visit) -> None:
    page = visit(cast.carol, PAGE)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("send at once")
    page.keyboard.press("Escape")
