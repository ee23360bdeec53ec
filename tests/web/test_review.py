"""The review page through HTTP: what is shown, and what the form does."""

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent, Member
from reviewhub.core.clock import now
from reviewhub.core.display.arguments import rows
from reviewhub.gates.present import calls_out
from reviewhub.reviews.models import Comment, Question, Review, ReviewRequest
from reviewhub.runs.models import Branch
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from reviewhub.tools.models import Tool
from tests.cast import Cast, member
from tests.driver import policy
from tests.web.make import waiting

As = Callable[[Member], Client]
ACTIONS = ("decide", "ask", "comment", "claim")


def path_of(row: ReviewRequest, rest: str = "") -> str:
    return f"/northwind/requests/{row.number}{rest}"


def get(client: Client, row: ReviewRequest, rest: str = "") -> str:
    answer = client.get(path_of(row, rest))
    assert answer.status_code == 200, answer.content.decode()[:800]
    return answer.content.decode()


def form_of(page: str) -> dict[str, str]:
    """The fields of the decision form as a browser without script would send them."""
    found: dict[str, str] = {}
    form = page.split('id="decide-form"')[1].split("</form>")[0]
    fields = re.findall(
        r"<(?:input|textarea|select)[^>]*form=\"decide-form\"[^>]*>(?:\n[^<]*</textarea>)?", page
    )
    for tag in [*re.findall(r"<input[^>]*>|<textarea[^>]*>[^<]*</textarea>", form), *fields]:
        name = re.search(r'name="([^"]*)"', tag)
        if name is None or ('type="checkbox"' in tag and "checked" not in tag):
            continue
        value = re.search(r'value="([^"]*)"', tag)
        text = re.search(r"<textarea[^>]*>\n?([^<]*)</textarea>", tag)
        found[unescape(name[1])] = unescape(text[1] if text else value[1] if value else "on")
    for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', page, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', options)
        if unescape(name).startswith("f:"):
            found[unescape(name)] = unescape(chosen[1]) if chosen else ""
    return found


def raw_of(page: str) -> str:
    """The arguments in the JSON editor."""
    return unescape(page.split('name="raw"')[1].split(">", 1)[1].split("</textarea>")[0])


def send(client: Client, row: ReviewRequest, mode: str, **changed: Any) -> Any:
    fields = form_of(get(client, row, f"?mode={mode}"))
    return client.post(path_of(row, "/decide"), {**fields, **changed})


def state(row: ReviewRequest) -> str:
    return ReviewRequest.objects.get(pk=row.pk).state


def arguments(row: ReviewRequest) -> str:
    newest = CallVersion.objects.filter(tool_call_id=row.tool_call_id).order_by("-version").first()
    assert newest is not None
    return newest.arguments


@pytest.mark.parametrize("who", ["mallory", "dave"])
def test_strangers_and_other_teams_get_404_everywhere(cast: Cast, as_: As, who: str) -> None:
    row = waiting(cast.support)
    client = as_(cast.people[who])
    for rest in ("", "/peek", "/value?path=/amount"):
        assert client.get(path_of(row, rest)).status_code == 404
    for action in ACTIONS:
        assert client.post(path_of(row, f"/{action}")).status_code == 404
    assert state(row) == "pending"


@pytest.mark.parametrize("who", ["carol", "alice"])
def test_who_may_see_and_not_decide_is_told_so(cast: Cast, as_: As, who: str) -> None:
    row = waiting(cast.support)
    client = as_(cast.people[who])
    assert "You cannot decide on this" in get(client, row)
    assert client.post(path_of(row, "/decide"), {"type": "approve"}).status_code == 403
    assert state(row) == "pending"


@pytest.mark.parametrize("action", ACTIONS)
def test_b48_nothing_changes_by_get(cast: Cast, as_: As, action: str) -> None:
    row = waiting(cast.support)
    for answer in (
        as_(cast.bob).get(path_of(row, f"/{action}")),
        as_(cast.bob).head(path_of(row, f"/{action}")),
    ):
        assert answer.status_code == 302
        assert answer.headers["Location"] == path_of(row)
    assert state(row) == "pending"


def test_the_page_shows_what_it_will_do_why_it_waits_and_what_is_claimed(cast: Cast, as_: As) -> None:
    claims = {
        "reason": "The <b>box</b> was crushed.",
        "checks": [{"name": "Amount is at most the price", "status": "failed"}],
    }
    row = waiting(cast.support, claims=claims, template="Refund ${amount:money} to order {order_id}")
    page = get(as_(cast.bob), row)
    assert "$1,240.00" in page
    assert "Large refunds" in page
    assert "The &lt;b&gt;box&lt;/b&gt; was crushed." in page
    assert "not verified" in page
    assert "1 failed" in page


def test_approve(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    answer = send(as_(cast.bob), row, "approve", message="Looks right")
    assert answer.status_code == 302, answer.content.decode()
    assert state(row) == "approved"
    assert Decision.objects.get(request_id=row.pk).by_name == "Bob"


def test_reject_needs_words_that_the_agent_can_act_on(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    answer = send(client, row, "reject", message="...")
    assert answer.status_code == 422
    assert "at least one sentence" in answer.content.decode()
    assert state(row) == "pending"
    assert send(client, row, "reject", message="Use staging ☂").status_code == 302
    assert Decision.objects.get(request_id=row.pk).message == "Use staging ☂"


@pytest.mark.parametrize(
    ("value", "is_json", "stored"),
    [
        ("yes", "", '"yes"'),
        ("false", "1", "false"),
        ("0", "1", "0"),
        ('""', "1", '""'),
        ("null", "1", "null"),
        ("", "", '""'),
    ],
)
def test_b06_falsy_answers_arrive_unchanged(
    cast: Cast, as_: As, value: str, is_json: str, stored: str
) -> None:
    row = waiting(cast.support)
    extra = {"value_json": "1"} if is_json else {}
    assert send(as_(cast.bob), row, "respond", value=value, **extra).status_code == 302
    assert Decision.objects.get(request_id=row.pk).value == stored


@pytest.mark.parametrize("type_", ["", "Approve ", "true", "1", "deny", "expire"])
def test_b06_no_other_word_approves(cast: Cast, as_: As, type_: str) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    fields = {**form_of(get(client, row)), "type": type_}
    assert client.post(path_of(row, "/decide"), fields).status_code == 422
    assert state(row) == "pending"


def test_b10_numbers_keep_every_digit_when_another_field_is_edited(cast: Cast, as_: As) -> None:
    text = '{"account_id":9007199254740993,"amt":0.1,"exp":1E2,"huge":12345678901234567890123,"note":"old"}'
    row = waiting(cast.support, arguments=text)
    client = as_(cast.bob)
    page = get(client, row)
    assert "9007199254740993" in page
    assert "12345678901234567890123" in page
    answer = send(client, row, "edit", **{"f:/note": "new"})
    assert answer.status_code == 302, answer.content.decode()
    assert arguments(row) == text.replace('"old"', '"new"')
    assert state(row) == "edited"


def test_an_edit_of_the_raw_json_keeps_the_rest(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, arguments='{"api_key":"sk-abcdefghijklmnop1234","n":1E2,"note":"old"}')
    client = as_(cast.bob)
    page = get(client, row, "?mode=edit&json=1")
    raw = raw_of(page)
    assert "abcdefghijkl" not in page
    fields = {**form_of(page), "raw": raw.replace('"old"', '"new"')}
    answer = client.post(path_of(row, "/decide"), fields)
    assert answer.status_code == 302, answer.content.decode()
    assert arguments(row) == '{"api_key":"sk-abcdefghijklmnop1234","n":1E2,"note":"new"}'


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "Nothing is changed"),
        ({"f:/amount": "abc"}, "Write a number"),
        ({"f:/amount": "1e9999"}, "Write a number"),
        ({"f:/items": "[1,"}, "This is not JSON"),
        ({"f:/items": "NaN"}, "This is not JSON"),
        ({"f:/lines/0": "x"}, "Write a number"),
    ],
)
def test_an_edit_that_is_none_keeps_what_was_typed(
    cast: Cast, as_: As, changed: dict[str, str], said: str
) -> None:
    row = waiting(cast.support, arguments='{"amount":5,"items":[],"lines":[1],"note":"x"}')
    answer = send(as_(cast.bob), row, "edit", message="Because", **changed)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert said in page
    assert "Because" in page
    for value in changed.values():
        assert value in unescape(page)
    assert state(row) == "pending"


def test_the_form_follows_the_schema(cast: Cast, as_: As) -> None:
    schema = (
        '{"type":"object","properties":{"amount":{"type":"string","maxLength":20},'
        '"currency":{"enum":["USD","EUR"]},"receipt":{"type":"boolean"},"pin":{"type":"string","writeOnly":true}}}'
    )
    text = '{"amount":"5","currency":"USD","pin":"pin 4711","receipt":true}'
    row = waiting(cast.support, schema=schema, arguments=text)
    client = as_(cast.bob)
    page = get(client, row, "?mode=edit")
    assert "text, max 20" in page
    assert "pin 4711" not in page
    assert "Holds a secret" in page
    bare = waiting(cast.support, schema=schema, arguments='{"amount":"5"}')
    assert "Holds a secret" not in get(client, bare, "?mode=edit"), "a secret that the call does not give"
    fields = form_of(page)
    fields.pop("f:/receipt")
    fields["f:/currency"] = '"EUR"'
    assert client.post(path_of(row, "/decide"), fields).status_code == 302
    assert arguments(row) == '{"amount":"5","currency":"EUR","pin":"pin 4711","receipt":false}'


def test_a_stale_page_gets_a_conflict_that_keeps_the_draft(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    fields = form_of(get(client, row))
    ReviewRequest.objects.filter(pk=row.pk).update(state="rejected", decided_at=now(), decided_by_name="Jo")
    answer = client.post(path_of(row, "/decide"), {**fields, "message": "Photo matches the claim."})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "Jo" in page
    assert "was first" in page
    assert "Photo matches the claim." in page


def test_a_changed_call_gets_a_conflict_too(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    fields = form_of(get(client, row))
    answer = client.post(path_of(row, "/decide"), {**fields, "digest": "sha256:" + "0" * 64})
    assert answer.status_code == 409
    assert "The arguments changed" in answer.content.decode()
    assert state(row) == "pending"


def test_a_conflict_says_what_changed_and_takes_the_draft_to_the_new_version(cast: Cast, as_: As) -> None:
    text = '{"amount":5,"items":[{"n":1}],"note":"old","to":"x"}'
    policy(cast.support, {"name": "Two", "tool": "*", "action": "require", "approvals": 2})
    row = waiting(cast.support, arguments=text, approvals=2)
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    bob = as_(cast.bob)
    shown = form_of(get(bob, row, "?mode=edit"))
    assert send(as_(erin), row, "edit", **{"f:/note": "erin's"}).status_code == 302
    mine = {"f:/amount": "7", "f:/note": "bob's", "f:/items/0/n": "2", "message": "Look & see"}
    answer = bob.post(path_of(row, "/decide"), {**shown, **mine})
    page = answer.content.decode()
    assert answer.status_code == 409
    changed = page.split('id="meanwhile"')[1].split("</dl>")[0]
    assert "old" in changed and "erin" in changed and "amount" not in changed, (
        "what others changed, not what I did"
    )
    draft = page.split('id="draft"')[1]
    assert unescape(draft).count("bob's") == 1, "shown, and not taken over: somebody else changed it too"
    assert "are not taken over" in draft
    carried = form_of('id="decide-form"' + draft.split("<form")[1])
    again = bob.post(path_of(row, "/decide"), {**carried, "back": "1"})
    fields = form_of(again.content.decode())
    assert (fields["version"], fields["f:/amount"], fields["f:/items/0/n"]) == ("2", "7", "2")
    assert (unescape(fields["f:/note"]), unescape(fields["message"])) == ("erin's", "Look & see")
    assert bob.post(path_of(row, "/decide"), fields).status_code == 302
    assert json.loads(arguments(row)) == {"amount": 7, "items": [{"n": 2}], "note": "erin's", "to": "x"}


def test_an_edit_is_seen_before_it_is_sent_and_what_the_rule_looked_at_is_marked(cast: Cast, as_: As) -> None:
    when = [{"path": "amount", "test": "is_over", "value": 1000}]
    policy(cast.support, {"name": "Large refunds", "tool": "*", "action": "require", "when": when})
    row = waiting(cast.support, arguments='{"amount":1240,"note":"old"}')
    Tool.objects.update(sentence="Refund ${amount:money}")
    client = as_(cast.bob)
    assert "The rule looks at this: amount is over 1000." in get(client, row)
    page = get(client, row, "?mode=edit&json=1")
    for sent in ({"f:/amount": "900"}, {"raw": raw_of(page).replace("1240", "900")}):
        fields = form_of(page if "raw" in sent else get(client, row, "?mode=edit"))
        tried = client.post(path_of(row, "/decide"), {**fields, **sent, "message": "Why", "preview": "1"})
        shown = tried.content.decode().split('id="preview"')[1].split("Nothing is sent yet")[0]
        assert "$900" in shown and "<bdi>1240</bdi></s>" in shown and "note" not in shown
        assert state(row) == "pending" and form_of(tried.content.decode())["message"] == "Why"
    refused = client.post(path_of(row, "/decide"), {**form_of(page), "preview": "1"})
    assert refused.status_code == 422 and "Nothing is changed" not in get(client, row)


def test_b57_the_same_form_twice_is_one_decision(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    fields = form_of(get(client, row))
    assert [client.post(path_of(row, "/decide"), fields).status_code for _ in range(2)] == [302, 302]
    assert Decision.objects.filter(request_id=row.pk).count() == 1
    assert Review.objects.filter(request=row).count() == 1


def test_an_irreversible_call_is_asked_about_once_more(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, effect="once")
    client = as_(cast.bob)
    answer = send(client, row, "approve", message="fine")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "must not run twice" in page
    assert state(row) == "pending"
    fields = form_of(page)
    assert fields["message"] == "fine"
    assert client.post(path_of(row, "/decide"), fields).status_code == 302
    assert state(row) == "approved"


def test_with_a_failed_check_a_value_is_typed(cast: Cast, as_: As) -> None:
    claims = {"checks": [{"name": "Price", "status": "failed"}]}
    row = waiting(cast.support, effect="once", claims=claims, template="Refund ${amount:money}")
    client = as_(cast.bob)
    fields = form_of(send(client, row, "approve").content.decode())
    assert client.post(path_of(row, "/decide"), {**fields, "confirm": "1240"}).status_code == 200
    assert state(row) == "pending"
    assert client.post(path_of(row, "/decide"), {**fields, "confirm": "$1,240.00"}).status_code == 302
    assert state(row) == "approved"


def test_an_edit_of_an_irreversible_call_survives_the_extra_step(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, effect="once", arguments='{"amount":5,"note":"old"}')
    client = as_(cast.bob)
    page = send(client, row, "edit", **{"f:/note": "new"}).content.decode()
    assert "must not run twice" in page
    assert client.post(path_of(row, "/decide"), form_of(page)).status_code == 302
    assert arguments(row) == '{"amount":5,"note":"new"}'


def test_b54_approving_waits_until_the_rest_was_read(cast: Cast, as_: As) -> None:
    script = "import os\\n" * 40 + "os.remove('/data')"
    row = waiting(cast.support, arguments=f'{{"script":"{script}"}}')
    client = as_(cast.bob)
    page = get(client, row)
    assert "more characters, 29 lines" in page
    assert "os.remove" in page
    assert send(client, row, "approve").status_code == 422
    assert send(client, row, "approve", seen="1").status_code == 302


def test_b54_a_megabyte_is_read_in_sheets(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, arguments='{"v":"' + "x" * 900_000 + 'END"}')
    client = as_(cast.bob)
    page = get(client, row)
    assert len(page) < 200_000
    assert "Read the whole value" in page
    assert "END" in get(client, row, "/value?path=/v&sheet=46")
    assert client.get(path_of(row, "/value?path=/v&sheet=47")).status_code == 404


def test_b54_empty_arguments_are_said_plainly(cast: Cast, as_: As) -> None:
    assert "Called without any argument." in get(as_(cast.bob), waiting(cast.support, arguments="{}"))


def test_two_approvals_are_counted(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, approvals=2)
    send(as_(cast.bob), row, "approve")
    page = get(as_(cast.bob), row)
    assert state(row) == "pending"
    assert "1/2" in page


def test_ask_comment_claim_and_release(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    assert client.post(path_of(row, "/ask"), {"message": "Why 240?"}).status_code == 302
    assert client.post(path_of(row, "/comment"), {"text": "Who is <i>Jo</i>?"}).status_code == 302
    assert client.post(path_of(row, "/claim")).status_code == 302
    page = get(client, row)
    assert Question.objects.get().text == "Why 240?"
    assert Comment.objects.get().text == "Who is <i>Jo</i>?"
    assert "Who is &lt;i&gt;Jo&lt;/i&gt;?" in page
    assert "claimed until" in page
    client.post(path_of(row, "/claim"), {"release": "1"})
    assert "nobody has claimed it" in get(client, row)


def test_an_empty_question_or_comment_is_refused(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    client = as_(cast.bob)
    assert client.post(path_of(row, "/ask"), {"message": " "}).status_code == 422
    assert client.post(path_of(row, "/comment"), {"text": ""}).status_code == 422


def test_the_side_panel_shows_it_in_short(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    answer = as_(cast.bob).get(path_of(row, "/peek"))
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert "8812" in answer.content.decode()


def test_hidden_characters_are_escapes_in_the_editor_and_survive_it(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, arguments='{"a":"x\\u202ey","b":"mir\\u0430 \\ud83c\\udf78","c":"old"}')
    client = as_(cast.bob)
    before = arguments(row)
    for rest in ("?mode=edit", "?mode=edit&json=1"):
        page = get(client, row, rest)
        form = page.split('id="edit-form"')[1].split('class="pair"')[0]
        assert "\u202e" not in form
        assert "\\u202e" in form
    assert send(client, row, "edit", **{"f:/c": "new"}).status_code == 302
    assert arguments(row) == before.replace('"old"', '"new"')


def test_what_somebody_claimed_is_taken_over_by_a_button(cast: Cast, as_: Callable[[Member], Client]) -> None:
    row = waiting(cast.support)
    cast.alice.teams.add(cast.support)
    alice, bob = as_(cast.alice), as_(cast.bob)
    alice.post(path_of(row, "/claim"))
    assert "Take over" in get(bob, row)
    bob.post(path_of(row, "/claim"), {"take_over": "1"})
    row.refresh_from_db()
    assert row.claimed_by == cast.bob


def test_the_confirmation_says_what_really_runs_and_what_was_changed(cast: Cast, as_: As) -> None:
    row = waiting(
        cast.support, effect="once", arguments='{"amount":"1240.00","card":{"password":"old-secret"}}'
    )
    Tool.objects.update(sentence="Refund ${amount:money}")
    client = as_(cast.bob)
    by_form = send(client, row, "edit", **{"f:/amount": "900.00"}).content.decode()
    page = get(client, row, "?mode=edit&json=1")
    raw = {**form_of(page), "raw": raw_of(page).replace("1240.00", "900.00")}
    by_json = client.post(path_of(row, "/decide"), raw).content.decode()
    for page in (by_form, by_json):
        step = page.split('id="decide-form"')[1].split("</form>")[0]
        assert "$900.00" in step
        assert "$1,240.00" not in step
        assert "<bdi>1240.00</bdi></s>" in step
        assert "<bdi>900.00</bdi></b>" in step
        assert "old-secret" not in page
    assert (
        client.post(path_of(row, "/decide"), {**form_of(by_json), "raw": raw_of(by_json)}).status_code == 302
    )
    assert '"amount":"900.00"' in arguments(row)


def test_what_was_confirmed_is_all_that_runs(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, effect="once", arguments='{"amount":5}')
    client = as_(cast.bob)
    sure = form_of(send(client, row, "edit", **{"f:/amount": "6"}).content.decode())
    answer = client.post(path_of(row, "/decide"), {**sure, "f:/amount": "6000"})
    assert answer.status_code == 200
    assert "6000" in answer.content.decode().split('id="decide-form"')[1].split("</form>")[0]
    assert state(row) == "pending"


def test_an_edit_that_policy_or_the_schema_refuses_is_refused_before_it_is_confirmed(
    cast: Cast, as_: As
) -> None:
    schema = '{"type":"object","properties":{"amount":{"type":"integer","maximum":10}}}'
    row = waiting(cast.support, effect="once", arguments='{"amount":5}', schema=schema)
    answer = send(as_(cast.bob), row, "edit", **{"f:/amount": "11"})
    assert answer.status_code == 422
    assert "must not run twice" not in answer.content.decode().split('id="decide-form"')[1]


def test_what_people_changed_stays_readable(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, arguments='{"amount":5,"gone":"x","text":"' + "a " * 600 + 'old end"}')
    client = as_(cast.bob)
    page = get(client, row, "?mode=edit&json=1")
    raw = raw_of(page).replace("old end", "new end").replace('"gone": "x",', '"fresh": null,')
    assert client.post(path_of(row, "/decide"), {**form_of(page), "raw": raw}).status_code == 302
    changed = get(client, row).split('id="edits"')[1].split("</section>")[0]
    assert "<b><bdi>Bob</bdi></b> made version 2" in changed
    assert "old end" in changed
    assert "new end" in changed
    assert len(changed) < 4000
    assert "not given" in changed
    assert "removed" in changed


def test_the_first_of_two_reads_that_nothing_runs_yet_and_is_not_asked_again(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, approvals=2, effect="once")
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    bob = as_(cast.bob)
    step = send(bob, row, "approve").content.decode()
    assert "Nothing runs yet: 1 more is needed" in step
    assert "Approve and run" not in step
    assert bob.post(path_of(row, "/decide"), form_of(step)).status_code == 302
    page = get(bob, row)
    assert "You have approved this" in page
    assert "1 more approval is needed, now from <bdi>Support</bdi>" in page
    assert "Approve, " not in page
    other = as_(erin)
    step = send(other, row, "approve").content.decode()
    assert "Approve and run" in step
    other.post(path_of(row, "/decide"), form_of(step))
    ended = get(other, row)
    assert re.search(r"Decided by</dt><dd><bdi>Bob</bdi>, <bdi>Erin</bdi>", ended)
    told = calls_out([ToolCall.objects.get(pk=row.tool_call_id)])[0].model_text
    assert told.startswith("The reviewers Bob and Erin approved")


def test_a_claim_of_somebody_else_says_whose_and_until_when_and_is_taken_over(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    erin = member("erin", workspace=cast.workspace, role="reviewer", teams=(cast.support,))
    as_(cast.bob).post(path_of(row, "/claim"))
    until = f"{ReviewRequest.objects.get(pk=row.pk).claimed_until:%H:%M}"
    client = as_(erin)
    answer = send(client, row, "reject", message="Use staging instead")
    page = answer.content.decode()
    assert answer.status_code == 409
    assert re.search(rf"<bdi>Bob</bdi> has claimed this until <time [^>]+>{until} UTC</time>", page)
    assert "was first" not in page
    assert "Use staging instead" in page
    assert state(row) == "pending"
    assert client.post(path_of(row, "/decide"), {**form_of(page), "take_over": "1"}).status_code == 302
    assert state(row) == "rejected"


def test_who_said_that_it_happened(cast: Cast, as_: As) -> None:
    row = waiting(cast.support, kind="unknown", seconds=None)
    ToolCall.objects.filter(pk=row.tool_call_id).update(state="unknown", attempt=1)
    assert send(as_(cast.bob), row, "happened", value='{"id":7}').status_code == 302
    page = get(as_(cast.bob), row)
    assert "It happened, says <bdi>Bob</bdi>" in page
    assert "The tool reports success" not in page
    assert ">7<" in page.split('id="outcome"')[1]


@pytest.mark.parametrize(("over", "words"), [("stop", "The agent is stopped"), ("end", "The run has ended")])
def test_nothing_goes_on_when_agent_or_run_is_over(cast: Cast, as_: As, over: str, words: str) -> None:
    row = waiting(cast.support)
    send(as_(cast.bob), row, "reject", message="Not this one")
    if over == "stop":
        Agent.objects.filter(pk=row.agent_id).update(stopped_at=now())
    else:
        Branch.objects.filter(pk=row.branch_id).update(state="cancelled")
    page = get(as_(cast.bob), row)
    assert words in page
    assert "goes on without it" not in page


def test_arguments_results_and_errors_of_calls_can_be_opened(cast: Cast, as_: As) -> None:
    schema = '{"type":"object","properties":{"order_id":{"type":"string","writeOnly":true}}}'
    row = waiting(cast.support, schema=schema)
    ToolCall.objects.filter(pk=row.tool_call_id).update(
        state="succeeded", attempt=1, result='{"receipt":"R-77","token":"t0ps3cretvalue"}'
    )
    run = as_(cast.bob).get(f"/northwind/runs/{row.run_id}").content.decode()
    assert "1240.00" in run
    assert "R-77" in run
    # An id may hold any four digits, between others.
    assert not re.search(r"(?<![0-9a-f])8812(?![0-9a-f])", run)
    assert "t0ps3cret" not in run
    asked = waiting(cast.support)
    ToolCall.objects.filter(pk=row.tool_call_id).update(branch_id=asked.branch_id)
    before = get(as_(cast.bob), asked).split('id="tools"')[1]
    assert "R-77" in before
    assert "1240.00" in before


def names(page: str) -> list[str]:
    """The names of the arguments that a page lists."""
    return re.findall(r"<dt>(?:<[^>]*>)*(k\d+)<", page)


def test_arguments_beyond_some_hundreds_stand_on_pages_of_their_own(cast: Cast, as_: As) -> None:
    many = {f"k{at:03}": at for at in range(700)} | {"k650": "pay\u202eme"}
    row = waiting(cast.support, arguments=json.dumps(many, ensure_ascii=False))
    client = as_(cast.bob)
    first = client.get(path_of(row)).content.decode()
    listed = names(first)
    assert listed == [*list(many)[:300], "k650"], "what carries a warning stands on the first page too"
    assert "400 more arguments stand on other pages" in first and "page 2 of 3" in first
    shown = [names(client.get(path_of(row, f"/arguments?page={at}")).content.decode()) for at in (1, 2, 3)]
    assert [name for page in shown for name in page] == list(many), "all of it can be seen, once and in order"
    assert client.get(path_of(row, "/arguments?page=4")).status_code == 404
    given = form_of(first)
    assert "seen" not in given
    told = client.post(path_of(row, "/decide"), given)
    assert told.status_code == 422 and "say that you have read them" in told.content.decode()
    assert "I have read all 700 arguments, on 3 pages." in first
    assert client.post(path_of(row, "/decide"), given | {"seen": "1"}).status_code == 302


def test_several_are_not_decided_at_once_where_one_needs_pages(cast: Cast) -> None:
    few, many = ({f"k{at}": at for at in range(count)} for count in (300, 301))
    assert rows(json.dumps(few)).is_shown_whole and not rows(json.dumps(many)).is_shown_whole


def test_who_may_read_the_record_is_led_to_the_whole_story(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    page = f"/northwind/requests/{row.number}"
    link = f'href="/northwind/audit/runs/{row.run_id}"'
    assert link in as_(cast.alice).get(page).content.decode()
    assert link not in as_(cast.bob).get(page).content.decode()
    assert as_(cast.alice).get(f"/northwind/audit/runs/{row.run_id}").status_code == 200
