"""What somebody stumbles over who uses nothing but the keyboard: ways back, lists, forms that came back, hints."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from reviewhub.accounts.models import SavedView
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp
from tests.e2e.desk import Visit, ask, is_live, rows

pytestmark = pytest.mark.django_db(transaction=True)


def once(row: ReviewRequest) -> ReviewRequest:
    ToolCall.objects.filter(pk=row.tool_call_id).update(effect="once")
    return row


def checkpoint_of(row: ReviewRequest) -> Checkpoint:
    found = row.tool_call.checkpoint
    assert found is not None
    return found


def test_u_leads_one_page_up_from_everywhere(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/checkpoints/{checkpoint_of(row).pk}/difference")
    for address in (f"**/checkpoints/{checkpoint_of(row).pk}", "**/runs/*", f"**/requests/{row.number}"):
        page.keyboard.press("u")
        page.wait_for_url(address)
    expect(page.locator("#outcome")).to_have_count(0)
    page.keyboard.press("u")
    page.wait_for_url("**/queue*")


def test_letters_at_the_last_question_are_shortcuts_where_nothing_is_written(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = once(ask(agent))
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=approve")
    expect(page.locator("#n1")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Go back")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("u")
    page.wait_for_url("**/queue*")


def test_j_and_k_walk_the_lists_that_are_no_queue(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    first, second = ask(agent), ask(agent)
    page = visit(cast.bob, "/northwind/start")
    focus = page.locator(":focus")
    page.keyboard.press("j")
    expect(focus).to_have_attribute("href", f"/northwind/requests/{first.number}")
    page.keyboard.press("j")
    expect(focus).to_have_attribute("href", f"/northwind/requests/{second.number}")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{first.number}")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/runs")
    page.keyboard.press("j")
    expect(focus).to_have_attribute("href", f"/northwind/runs/{second.run_id}")


def test_after_a_search_letters_lead_along_what_was_found(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, "/northwind/search")
    field = page.get_by_label("Search runs, requests, tools, arguments and people")
    expect(field).to_be_focused()
    page.keyboard.type("nothing-begins-so")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=*")
    expect(field).to_be_focused()
    page.goto(f"{page.url.split('?')[0]}?q={row.number}")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_have_attribute("href", f"/northwind/requests/{row.number}")


@pytest.mark.parametrize("script", [True, False])
def test_a_refused_form_leads_to_what_is_missing(
    cast: Cast, agent: AgentHttp, visit: Visit, script: bool
) -> None:
    row = ask(agent)
    page = visit(
        cast.bob, f"/northwind/checkpoints/{checkpoint_of(row).pk}/rewrite", java_script_enabled=script
    )
    # Without JavaScript a browser gives a field the focus when it has drawn the page.
    expect(page.locator("[autofocus]")).to_be_focused()
    page.keyboard.press("Enter")
    why = page.locator("#rs")
    expect(why).to_be_focused()
    expect(why).to_have_accessible_description("Say why; the record and the agent's people read it.")
    page.goto(page.url.partition("/checkpoints/")[0] + f"/requests/{row.number}?mode=respond")
    expect(page.locator("textarea[autofocus]")).to_be_focused()
    page.keyboard.type('{"paid": 1}')
    page.get_by_role("button", name="Send this answer").press("Enter")
    expect(page.get_by_label("the text, letter by letter")).to_be_focused()


def test_with_rows_ticked_only_one_button_says_a(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    ask(agent)
    page = visit(cast.bob, "/northwind/queue")
    expect(page.locator("#peek kbd:text-is('a')")).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator("[data-bulk] kbd:text-is('a')")).to_be_visible()
    expect(page.locator("#peek kbd:text-is('a')")).not_to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#peek kbd:text-is('a')")).to_be_visible()


def test_a_row_with_marks_still_names_agent_and_team(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    ReviewRequest.objects.filter(pk=row.pk).update(kind="unknown", again_of=row, failed_checks=2)
    page = visit(cast.bob, "/northwind/queue")
    clipped = (
        rows(page)
        .locator(".row__meta > span")
        .evaluate_all(
            "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1 && one.getClientRects().length).length"
        )
    )
    assert clipped == 0


def test_what_is_over_is_not_handed_over(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    is_live(page)
    page.keyboard.type("Not like this")
    body = {"type": "reject", "version": 1, "digest": row.digest, "message": "No."}
    PersonHttp(cast.alice).post(f"/requests/{row.pk}/decide", body).ok()
    expect(page.locator("#live-banner")).to_contain_text("was not sent")
    expect(page.locator("#n1")).to_have_value("Not like this")
    expect(page.locator("summary:has-text('Hand over')")).to_have_count(0)


def test_the_next_request_says_its_key(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row, after = ask(agent), ask(agent)
    body = {"type": "reject", "version": 1, "digest": row.digest, "message": "No."}
    PersonHttp(cast.bob).post(f"/requests/{row.pk}/decide", body).ok()
    page = visit(cast.bob, f"/northwind/requests/{row.number}")
    expect(page.locator("#outcome a:has-text('Next request') kbd")).to_have_text("j")
    page.keyboard.press("j")
    page.wait_for_url(f"**/requests/{after.number}")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("where", "label"), [("queue", "Search requests"), ("runs", "Search runs"), ("tools", "Search tools")]
)
def test_the_slash_searches_what_the_page_shows_on_a_phone_too(
    cast: Cast, agent: AgentHttp, visit: Visit, width: int, where: str, label: str
) -> None:
    page = visit(cast.alice, f"/northwind/{where}", viewport={"width": width, "height": 844})
    page.keyboard.press("/")
    expect(page.get_by_label(label)).to_be_focused()
    expect(page.get_by_label(label)).to_be_in_viewport()
    page.keyboard.type("9999")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{where}?*q=9999*")
    expect(page.locator("#find")).to_be_hidden()


def test_the_queue_is_as_it_was_after_deciding_together_and_putting_off(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    made = [ask(agent) for _ in range(3)]
    page = visit(cast.bob, "/northwind/queue?team=Support&free=1")
    page.keyboard.press("x")
    page.keyboard.press("r")
    page.wait_for_url("**/queue/bulk")
    page.keyboard.type("Not today.")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/queue/bulk/send")
    page.keyboard.press("u")
    page.wait_for_url("**/queue?team=Support&free=1*")
    expect(rows(page)).to_have_count(2)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{made[1].number}")
    page.keyboard.press("p")
    expect(page.locator("#sn-m")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/queue?*free=1*")
    assert "team=Support" in page.url
    expect(rows(page)).to_have_count(1)
    expect(page.locator("#top-count")).to_have_text("1")


def test_a_request_put_off_elsewhere_leaves_the_count_of_every_open_page(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    ask(agent)
    SavedView.objects.create(
        workspace=cast.workspace, member=cast.bob, page="queue", name="Free", query="free=1"
    )
    page = visit(cast.bob, "/northwind/queue")
    is_live(page)
    expect(page.locator(".views .num")).to_have_text("2")
    PersonHttp(cast.bob).post(f"/requests/{row.pk}/snooze", {"minutes": 15}).ok()
    expect(page.locator(f"#rq-{row.number} .gone-mark")).to_have_text("You put it off")
    expect(page.locator("#top-count")).to_have_text("1")
    expect(page).to_have_title(re.compile(r"^\(1\) Queue"))
    expect(page.locator(".views .num")).to_have_text("1")
    PersonHttp(cast.bob).post(f"/requests/{row.pk}/snooze", {"minutes": 0}).ok()
    expect(page.locator(f"#rq-{row.number} .gone-mark")).to_have_count(0)
    expect(page.locator("#top-count")).to_have_text("2")


@pytest.mark.parametrize("mode", ["approve", "edit", "confirm"])
def test_what_is_typed_before_the_script_is_there_decides_nothing(
    cast: Cast, agent: AgentHttp, visit: Visit, mode: str
) -> None:
    row = once(ask(agent))
    asked = "approve" if mode == "confirm" else mode
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode={asked}", java_script_enabled=False)
    if mode == "confirm":
        page.locator("#decide-form [type=submit]").last.click()
        expect(page.locator("#decide-form [name=back]")).to_be_focused()
    for key in ("a", "Control+Enter", "y", "Space", "Enter", "Control+Enter"):
        page.keyboard.press(key)
    page.wait_for_load_state()
    row.refresh_from_db()
    assert (row.state, row.approvals) == ("pending", 0)


def test_the_form_is_sent_as_soon_as_its_field_has_the_focus(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=approve")
    expect(page.locator("#n1")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name="Go back")).to_be_focused()


def test_on_a_link_the_keys_that_send_are_the_browsers_own(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=approve")
    expect(page.locator("#n1")).to_be_focused()
    page.keyboard.type("so")
    page.get_by_role("link", name=re.compile("Run Ticket")).focus()
    with page.context.expect_page():
        page.keyboard.press("Control+Enter")
    expect(page.locator("#decide-form")).to_be_visible()
    row.refresh_from_db()
    assert (row.state, row.approvals) == ("pending", 0)
