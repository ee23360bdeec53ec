"""A first user's stumbles at the queue and at the form: keys, places, drafts, filters of live rows, what is over."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from reviewhub.core.clock import now
from reviewhub.reviews.models import ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, call
from tests.e2e.desk import Visit, ask, is_live, rows

pytestmark = pytest.mark.django_db(transaction=True)


def made(agent: AgentHttp, *, risk: str = "", effect: str = "", **fields: Any) -> ReviewRequest:
    """A request with a risk or an effect of its own."""
    row = ask(agent, **fields)
    if risk:
        rank = ["low", "medium", "high", "critical"].index(risk)
        ReviewRequest.objects.filter(pk=row.pk).update(risk=risk, risk_rank=rank)
    if effect:
        ToolCall.objects.filter(pk=row.tool_call_id).update(effect=effect)
    return row


def reject(cast: Cast, row: ReviewRequest) -> None:
    body = {"type": "reject", "version": 1, "digest": row.digest, "message": "Not now."}
    PersonHttp(cast.bob).post(f"/requests/{row.pk}/decide", body).ok()


def state(row: ReviewRequest) -> str:
    return ReviewRequest.objects.get(pk=row.pk).state


@pytest.mark.parametrize("start", ["queue", "requests/1"])
def test_a_reason_typed_after_r_rejects_and_never_approves(
    cast: Cast, agent: AgentHttp, visit: Visit, start: str
) -> None:
    row = made(agent, effect="idempotent")
    page = visit(cast.bob, f"/northwind/{start}")
    page.keyboard.press("r")
    page.keyboard.type("as")  # too early: lost, and no shortcut of the page that is being left
    page.wait_for_url("**mode=reject*")
    expect(page.locator("#n1")).to_be_focused()
    page.keyboard.type("as quick as possible")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.type(" please ask sales")  # the first of them has lost its field
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#outcome")
    assert state(row) == "rejected"
    assert Decision.objects.get(request_id=row.pk).message.startswith("as quick as possible")


@pytest.mark.parametrize(
    ("key", "field"), [("r", "#n1"), ("s", "#v1"), ("q", "#n1"), ("e", "#f-1"), ("a", "#n1")]
)
def test_an_opened_form_has_the_focus_also_without_script(
    cast: Cast, agent: AgentHttp, visit: Visit, key: str, field: str
) -> None:
    modes = {"r": "reject", "s": "respond", "q": "ask", "e": "edit", "a": "approve"}
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode={modes[key]}", java_script_enabled=False)
    expect(page.locator(field)).to_be_focused()


def test_a_letter_does_not_turn_a_page_that_is_on_its_way(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}")
    held: list[Route] = []
    page.route("**mode=reject*", lambda route: held.append(route))
    page.locator("#modes >> text=Reject").click(no_wait_after=True)
    while not held:
        page.wait_for_timeout(20)
    page.keyboard.press("a")
    held[0].continue_()
    page.wait_for_url("**mode=reject*")
    expect(page.locator("#n1")).to_be_focused()


def test_after_escape_letters_are_shortcuts_again(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    expect(page.locator("#n1")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    page.wait_for_url("**mode=ask*")


def test_control_enter_sends_only_what_somebody_is_at(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = made(agent, effect="idempotent")
    page = visit(cast.bob, f"/northwind/requests/{row.number}")
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(300)
    assert state(row) == "pending"
    page.keyboard.press("a")
    page.wait_for_url("**mode=approve*")
    expect(page.locator("#n1")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#outcome")
    assert state(row) == "approved"


def test_letters_do_not_lead_away_from_a_fresh_page(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    ask(agent)
    page = visit(cast.bob, "/northwind/queue")
    page.reload()
    page.keyboard.press("l")  # only after g
    page.keyboard.press("p")
    page.wait_for_timeout(200)
    assert page.url.endswith("/northwind/queue")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/northwind/runs")


def test_the_panel_and_the_keys_are_about_the_row_that_is_lit(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    made(agent, risk="low")
    top = made(agent, risk="critical")
    page = visit(cast.bob, "/northwind/queue")
    expect(page.locator(".row.is-on")).to_have_id(f"rq-{top.number}")
    expect(page.locator("#peek .meta-line")).to_contain_text(f"#{top.number}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{top.number}")


def test_c_claims_and_stays(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, "/northwind/queue")
    page.keyboard.press("c")
    expect(page.locator(f"#rq-{row.number}-eyes")).to_contain_text("You")
    assert ReviewRequest.objects.get(pk=row.pk).claimed_by_id == cast.bob.pk
    assert page.url.endswith("/queue")
    expect(page.locator("#told")).to_contain_text("Claimed by You")
    page.keyboard.press("c")
    expect(page.locator("#told")).to_contain_text("Not claimed")
    expect(page.locator(f"#rq-{row.number}-eyes")).not_to_contain_text("You")
    assert ReviewRequest.objects.get(pk=row.pk).claimed_by_id is None


def test_live_rows_obey_the_filters_of_the_page(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    none = visit(cast.bob, "/northwind/queue?q=nosuchword")
    some = visit(cast.bob, "/northwind/queue?tool=ship")
    for page in (none, some):
        is_live(page)
    ask(agent)
    fits = ask(agent, tool="ship")
    expect(some.locator(f"#rq-{fits.number}")).to_be_visible()
    expect(none.locator("#nav-count")).to_contain_text("2")
    expect(rows(some)).to_have_count(1)
    expect(none.locator(".row")).to_have_count(0)


@pytest.mark.parametrize("script", [True, False])
def test_go_back_keeps_what_was_typed(cast: Cast, agent: AgentHttp, visit: Visit, script: bool) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=edit", java_script_enabled=script)
    page.fill('[name="f:/amount"]', "9.00")
    page.fill("#n1", "Half of it")
    page.click("#decide-form button[type=submit]")
    page.click("text=Go back")
    expect(page.locator('[name="f:/amount"]')).to_have_value("9.00")
    expect(page.locator("#n1")).to_have_value("Half of it")
    page.click("#decide-form button[type=submit]")
    page.click("text=Approve and run")
    page.wait_for_selector("#outcome")
    newest = CallVersion.objects.filter(tool_call_id=row.tool_call_id).order_by("-version").first()
    assert newest is not None and '"amount":"9.00"' in newest.arguments


def test_a_draft_outlives_the_confirmation_and_goes_with_the_decision(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=edit")
    page.fill('[name="f:/amount"]', "9.00")
    page.click("#decide-form button[type=submit]")
    page.wait_for_selector("text=Approve and run")
    page.goto(page.url)  # a restored tab: the request's page, not an empty refusal
    page.keyboard.press("e")
    page.wait_for_url("**mode=edit*")
    expect(page.locator('[name="f:/amount"]')).to_have_value("9.00")
    page.click("#decide-form button[type=submit]")
    page.click("text=Approve and run")
    page.wait_for_selector("#outcome")
    assert page.evaluate("Object.keys(sessionStorage).filter(key => key.startsWith('draft'))") == []


def test_u_leads_back_to_the_row_and_the_filters(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    made_rows = [ask(agent, tool="ship") for _ in range(3)]
    page = visit(cast.bob, "/northwind/queue?tool=ship")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{made_rows[1].number}")
    page.keyboard.press("u")
    page.wait_for_url("**/queue?tool=ship*")
    expect(page.locator(".row.is-on")).to_have_id(f"rq-{made_rows[1].number}")
    expect(page.locator("#peek .meta-line")).to_contain_text(f"#{made_rows[1].number}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/requests/{made_rows[1].number}")
    reject(cast, made_rows[1])
    page.keyboard.press("u")
    page.wait_for_url("**/queue?tool=ship*")
    expect(page.locator(".row.is-on")).to_have_id(f"rq-{made_rows[2].number}")  # what stands in its place now


def test_the_phone_bar_leads_to_the_form(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = made(agent, effect="idempotent")
    page = visit(
        cast.bob, f"/northwind/requests/{row.number}", viewport={"width": 390, "height": 844}, has_touch=True
    )
    page.tap(".act-m >> text=Approve")
    page.wait_for_timeout(300)
    assert state(row) == "pending"
    button = page.locator("#decide-form button[type=submit]")
    expect(button).to_be_in_viewport()
    expect(button).not_to_contain_text("…")
    button.tap()
    page.wait_for_selector("#outcome")
    assert state(row) == "approved"


def test_an_open_page_whose_time_is_over_offers_nothing(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    ReviewRequest.objects.filter(pk=row.pk).update(deadline_at=now() + timedelta(seconds=8))
    page = visit(cast.bob, f"/northwind/requests/{row.number}?mode=reject")
    page.fill("#n1", "Too dear")
    expect(page.locator("#decide-state")).to_contain_text("an answer is no longer taken")
    expect(page.locator("#modes")).to_have_count(0)
    expect(page.locator("#decide-form button[type=submit]")).to_be_disabled()
    expect(page.locator("#n1")).to_have_value("Too dear")


def test_what_others_decide_ends_the_open_page_and_says_nothing_of_denial(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    ReviewRequest.objects.filter(pk=row.pk).update(deadline_at=now() + timedelta(hours=1))
    page = visit(cast.alice, f"/northwind/requests/{row.number}")
    page.evaluate("document.body.addEventListener('htmx:oobErrorNoTarget', () => { window.lost = true })")
    is_live(page)
    expect(page.locator("#why")).to_contain_text("it is denied")
    reject(cast, row)
    expect(page.locator("#decide-state")).to_contain_text("Bob rejected")
    expect(page.locator("#modes")).to_have_count(0)
    expect(page.locator("#why")).not_to_contain_text("denied")
    assert page.evaluate("window.lost") is None


def test_times_go_on_and_no_part_is_told_to_a_page_without_it(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    row = ask(agent)
    page: Page = visit(cast.bob, f"/northwind/requests/{row.number}")
    expect(page.locator("#deeds [data-ago]")).to_have_text("8 s ago")


def tick_all(page: Page, many: int) -> None:
    for _ in range(many):
        page.keyboard.press("x")
        page.keyboard.press("j")


def test_ticked_rows_are_decided_together_with_the_keyboard_alone(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    three = [made(agent, risk="low") for _ in range(3)]
    page = visit(cast.bob, "/northwind/queue")
    tick_all(page, 2)
    for key in "esqc":  # about one request: nothing is opened, nothing is claimed
        page.keyboard.press(key)
        expect(page.locator(".bulk__why")).to_contain_text("2 are ticked")
    page.keyboard.press("Escape")
    expect(page.locator("[data-bulk]")).to_be_hidden()
    tick_all(page, 1)  # the last one, on which j stays
    page.keyboard.press("k")
    page.keyboard.press("x")
    page.keyboard.press("r")
    page.wait_for_url("**/queue/bulk")
    expect(page.locator("#n1")).to_be_focused()
    page.keyboard.type("are you sure, raise ")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.type("urgently")  # the first letter of it is u, which leads back to the queue elsewhere
    page.keyboard.press("Control+Enter")
    expect(page.locator("h1")).to_have_text("2 of 2 decided")
    assert [state(row) for row in three] == ["pending", "rejected", "rejected"]
    assert {one.message for one in Decision.objects.all()} == {"are you sure, raise urgently"}
    assert not any(row.claimed_by_id for row in ReviewRequest.objects.all())


def test_a_approves_the_ticked_rows_or_says_why_not(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    made(agent, risk="low")
    made(agent, risk="high")
    page = visit(cast.bob, "/northwind/queue")
    tick_all(page, 2)
    page.keyboard.press("a")
    expect(page.locator("#told")).to_contain_text("Not approved together: Only low risk")
    page.keyboard.press("Escape")
    page.keyboard.press("x")  # the low one, where j has stayed
    expect(page.locator("[data-bulk] [value=approve]")).to_have_text("Approve 1… a")
    page.keyboard.press("a")
    page.wait_for_url("**/queue/bulk")
    expect(page.locator("#n1")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("Control+Enter")
    expect(page.locator("h1")).to_have_text("1 of 1 decided")


def test_a_folded_form_is_written_into_once_it_opens(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/runs/{row.run_id}")
    page.click("summary:has-text('Cancel run')")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.type("gr")  # to the list of runs, elsewhere
    expect(page.locator("details[open] textarea")).to_have_value("gr")
    page.keyboard.press("Escape")
    page.keyboard.type("gr")
    page.wait_for_url("**/northwind/runs")
    page = visit(cast.alice, "/northwind/tools")
    # At once, not a moment later: a key may follow the click before any timer of the page does.
    summary = page.locator("summary:has-text('Change')")
    assert summary.evaluate("(one) => { one.click(); return document.activeElement.name; }") == "sentence"
    page.keyboard.type("Refund {amount}")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".folk__teams").last).to_have_text("Refund {amount}")


def test_the_panel_follows_what_somebody_else_decides(cast: Cast, agent: AgentHttp, visit: Visit) -> None:
    row = ask(agent)
    page = visit(cast.alice, "/northwind/queue")
    is_live(page)
    expect(page.locator("#peek .peek__foot")).to_contain_text("Approve…")
    reject(cast, row)
    expect(page.locator("#peek .meta-line")).to_contain_text("Bob rejected")
    expect(page.locator("#peek .peek__foot")).to_have_count(0)


def test_a_run_page_opened_at_the_start_follows_to_the_end(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    run = agent.run(title="Ticket")["id"]
    page = visit(cast.bob, f"/northwind/runs/{run}")
    is_live(page)
    expect(page.locator("#state")).to_contain_text("Nothing is saved yet")
    page.click("summary:has-text('Limits')")
    (call_,) = agent.pause(run, call()).ok(201)["tool_calls"]
    expect(page.locator("#state h2")).to_have_text("Checkpoint 1")
    expect(page.locator("#weight")).to_be_visible()
    expect(page.locator("#li-s")).to_be_visible()  # the form that is open stays
    PersonHttp(cast.bob).decide(call_, "approve").ok()
    agent.consume(call_).ok()
    agent.outcome(call_).ok()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    agent.post(f"/branches/{Branch.objects.get(run=run).pk}/finish", {"result": "done"}).ok()
    expect(page.locator("#run-state")).to_have_text("Succeeded")
    expect(page.locator("#run-facts")).to_contain_text("ended")
    expect(page.locator("#controls")).to_contain_text("The run has ended")
    expect(page.locator("#controls summary")).to_have_count(0)
    expect(page.locator("#controls")).not_to_contain_text("Limits")
    expect(page.locator(".calls summary small")).to_contain_text("succeeded")


@pytest.mark.parametrize(("typed", "told"), [("Too dear", True), ("", False)])
def test_words_are_called_unsent_only_where_there_are_some(
    cast: Cast, agent: AgentHttp, visit: Visit, typed: str, told: bool
) -> None:
    row = ask(agent)
    page = visit(cast.alice, f"/northwind/requests/{row.number}?mode=reject")
    is_live(page)
    page.fill("#n1", typed)
    reject(cast, row)
    banner = page.locator("#live-banner")
    expect(banner).to_contain_text("Bob rejected")
    # A first look may have been on its way before anything was typed; the next one says it.
    if told:
        expect(banner).to_contain_text("was not sent")
    else:
        expect(banner).not_to_contain_text("was not sent")


def test_who_looks_is_seen_and_a_row_moves_when_its_reader_wants_it_to(
    cast: Cast, agent: AgentHttp, visit: Visit
) -> None:
    seen, short = ask(agent), ask(agent)
    ReviewRequest.objects.filter(pk=short.pk).update(deadline_at=now() + timedelta(seconds=8))
    page = visit(cast.bob, "/northwind/queue")
    is_live(page)
    other = visit(cast.alice, f"/northwind/requests/{seen.number}")
    is_live(other)
    eyes = page.locator(f"#rq-{seen.number}-eyes")
    expect(eyes).to_contain_text("Alice is looking")
    other.goto("about:blank")
    expect(eyes).to_be_empty()
    expect(page.locator("#fresh")).to_contain_text("1 due sooner")
    assert page.locator(f'[data-group="soon"] #rq-{short.number}').count() == 1
    page.locator(f"#rq-{short.number} .row__link").focus()
    page.keyboard.press("n")
    expect(page.locator(f'[data-group="late"] #rq-{short.number}')).to_be_visible()
    expect(page.locator(f"#rq-{short.number} .row__link"), "and its focus with it").to_be_focused()
    expect(page.locator("#fresh")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 390])
def test_an_edit_is_sent_from_the_keyboard_at_any_size(
    cast: Cast, agent: AgentHttp, visit: Visit, width: int
) -> None:
    row = ask(agent)
    page = visit(cast.bob, f"/northwind/requests/{row.number}", viewport={"width": width, "height": 844})
    is_live(page)
    page.keyboard.press("e")
    page.wait_for_url("**mode=edit**")
    page.get_by_label("amount").fill("9.00")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[name=back]:visible")).to_be_focused()
    page.wait_for_load_state()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#outcome")
    assert Decision.objects.get(request_id=row.pk).type == "edit"
