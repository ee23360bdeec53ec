"""The page of later looks: one stands open, a verdict leads to the next, several get one together, flags lead on."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviewhub.accounts.models import Member, Role
from reviewhub.checkpoints.load import load
from reviewhub.policies.models import PolicyDraft
from reviewhub.reviews.models import FollowUp, PostReview
from tests.cast import Cast, member
from tests.driver import agent_of, observed
from tests.shared import shared
from tests.web.make import drawn, suggested_rule, waiting

As = Callable[[Member], Client]
pytestmark = pytest.mark.django_db
PAGE = "/northwind/post-review"


@shared
def rows(cast: Cast) -> list[PostReview]:
    """Three calls to look at, the worst first."""
    calls = [waiting(cast.support).tool_call for _ in range(3)]
    return [drawn(call, rank=rank) for call, rank in zip(calls, (4, 1, 0), strict=True)]


def text(client: Client, where: str = PAGE, status: int = 200) -> str:
    answer = client.get(where)
    assert answer.status_code == status
    return str(answer.content.decode())


def send(client: Client, row: PostReview, verb: str = "grade", **fields: Any) -> Any:
    return client.post(f"{PAGE}/{row.tool_call_id}/{verb}", {"key": uuid.uuid4(), "show": "drawn", **fields})


def test_the_worst_stands_open_and_a_verdict_leads_to_the_next(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    worst, middle, last = rows
    carol = as_(cast.carol)
    page = text(carol)
    assert f"{PAGE}/{worst.tool_call_id}/grade" in page and "(3) Post-review" in page
    assert 'data-key-form="o"' in page and 'data-key-click="3"' in page
    assert 'value="fork"' not in page, "a manager is offered no fork"
    assert 'value="fork"' not in text(as_(cast.bob)), "and nobody where there is no checkpoint"
    answer = send(carol, worst, verdict="fine")
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"{PAGE}?at={middle.tool_call_id}&last={worst.tool_call_id}"
    page = text(carol, answer.headers["Location"])
    assert 'data-key-form="z"' in page and f"{PAGE}/{middle.tool_call_id}/grade" in page
    assert (
        send(carol, last, verdict="skipped")
        .headers["Location"]
        .startswith(f"{PAGE}?at={middle.tool_call_id}")
    )
    assert 'data-key-form="z"' not in text(as_(cast.bob), f"{PAGE}?last={worst.tool_call_id}"), "not yours"
    assert send(carol, worst, "take-back").status_code == 302
    worst.refresh_from_db()
    assert (worst.state, worst.member_name) == ("drawn", "")


def test_who_comes_second_is_told_whose_verdict_stands(cast: Cast, rows: list[PostReview], as_: As) -> None:
    send(as_(cast.carol), rows[0], verdict="fine")
    late = send(as_(cast.bob), rows[0], verdict="flagged", severity="low", note="Mine")
    assert late.status_code == 409
    page = late.content.decode()
    assert "Carol has looked at this already: fine." in page and 'value="Mine"' not in page


def test_a_flag_needs_a_severity_and_keeps_what_was_typed(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol = as_(cast.carol)
    answer = send(carol, rows[0], verdict="flagged", note="<b>Too much")
    assert answer.status_code == 422 and "&lt;b&gt;Too much" in answer.content.decode()
    for bad in (
        {"verdict": "great"},
        {"verdict": "flagged", "severity": "low", "follow_up": "escalate", "to": "bob"},
    ):
        assert send(carol, rows[0], **bad).status_code == 422
    assert not PostReview.objects.exclude(state="drawn").exists()


def test_a_flag_is_followed_and_the_follow_up_closed(cast: Cast, rows: list[PostReview], as_: As) -> None:
    row, carol, alice = rows[0], as_(cast.carol), as_(cast.alice)
    send(carol, row, verdict="flagged", severity="high", follow_up="escalate", to=str(cast.bob.pk))
    bob = as_(cast.bob)
    assert f"{PAGE}/{row.tool_call_id}/follow-up" in text(bob, f"{PAGE}?show=mine")
    assert "Handed on to <bdi>Bob</bdi>" in text(bob, f"{PAGE}/{row.tool_call_id}")
    assert send(bob, row, "follow-up", follow_up="draft_rule").status_code == 302
    handed = FollowUp.objects.get(kind="escalate")
    bob.post(f"{PAGE}/follow-ups/{handed.pk}/close", {"note": "Paid back."})
    assert "Paid back." in text(carol, f"{PAGE}/{row.tool_call_id}")
    assert "needs an approval" in text(alice, "/northwind/policy/suggestions")
    rule = FollowUp.objects.get(kind="draft_rule")
    assert alice.post(f"{PAGE}/follow-ups/{rule.pk}/take-up").status_code == 302
    assert "After a flag" in PolicyDraft.objects.get().rules
    assert alice.post(f"{PAGE}/follow-ups/{rule.pk}/take-up").status_code == 404, "once"
    assert send(carol, row, "take-back").status_code == 409


def test_what_was_handed_on_is_on_the_start_page_and_in_the_menu_of_whom_it_was_handed_to(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol, bob = as_(cast.carol), as_(cast.bob)
    start, named = "/northwind/start", "Handed on to you"
    for client in (carol, bob):
        assert named not in text(client, start) and "handed to you" not in text(client, start)
    for row in rows[:2]:
        to = {"follow_up": "escalate", "to": str(cast.bob.pk), "note": "<b>Look"}
        assert send(carol, row, verdict="flagged", severity="high", **to).status_code == 302
    page = text(bob, start)
    assert named in page and page.count("post-review?show=mine&amp;at=") == 2
    assert f"post-review?show=mine&amp;at={rows[0].tool_call_id}" in page
    assert "&lt;b&gt;Look" in page and "<b>Look" not in page, "what the flag says"
    count = '<span class="count">2<span class="vh"> handed to you</span></span>'
    assert page.count(count) == 3 and page.count(count) == text(bob, "/northwind/queue").count(count)
    assert named not in text(carol, start) and named not in text(as_(cast.dave), start), "nobody else's"
    handed = FollowUp.objects.filter(kind="escalate").order_by("id")
    bob.post(f"{PAGE}/follow-ups/{handed[0].pk}/close", {"note": "Paid back."})
    assert text(bob, start).count("post-review?show=mine&amp;at=") == 1
    assert send(bob, rows[1], "follow-up", follow_up="escalate", to=str(cast.carol.pk)).status_code == 302
    assert named not in text(bob, start) and named in text(carol, start), "handed on again"
    cast.bob.teams.clear()
    send(carol, rows[1], "follow-up", follow_up="escalate", to=str(cast.alice.pk))
    assert text(as_(cast.alice), start).count("post-review?show=mine&amp;at=") == 1


def in_turn(page: str, rows: list[PostReview]) -> list[PostReview]:
    """The rows that a page links, in its order."""
    return sorted(
        (row for row in rows if str(row.tool_call_id) in page),
        key=lambda row: page.index(str(row.tool_call_id)),
    )


def test_flags_that_were_handed_on_begin_with_the_worst_and_then_the_oldest(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    rows = [*rows, drawn(waiting(cast.support).tool_call)]
    to = {"follow_up": "escalate", "to": str(cast.bob.pk)}
    for row, severity in zip(rows, ("low", "high", "medium", "high"), strict=True):
        assert send(as_(cast.carol), row, verdict="flagged", severity=severity, **to).status_code == 302
    low, high, medium, other = rows
    assert in_turn(text(as_(cast.bob), "/northwind/start"), rows) == [high, other, medium, low]
    cast.bob.is_active = False
    cast.bob.save()
    assert in_turn(text(as_(cast.carol), "/northwind/start"), rows) == [high, other, medium, low]
    handed_on = {"follow_up": "escalate", "to": str(cast.carol.pk)}
    for row in rows:
        assert send(as_(cast.alice), row, "follow-up", **handed_on).status_code == 302
    assert in_turn(text(as_(cast.carol), "/northwind/start"), rows) == [high, other, medium, low]


def test_what_waits_for_a_look_and_a_suggested_guardrail_are_on_the_start_page(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    """For those who may look, with a number in the menu; the guardrail for admins."""
    carol, start = as_(cast.carol), "/northwind/start"
    count = '<span class="count count--soft">{}<span class="vh"> to look at</span></span>'
    page = text(carol, start)
    assert "1 of them ran without the approval that policy asks for." in page
    assert page.count(count.format(3)) == 2 == text(carol, "/northwind/queue").count(count.format(3))
    assert "To look at afterwards" not in text(as_(cast.dave), start), "of another team"
    send(carol, rows[0], verdict="flagged", severity="high", follow_up="draft_rule")
    page = text(carol, start)
    assert "ran without the approval" not in page and page.count(count.format(2)) == 2
    assert "suggests a guardrail" not in page and "suggests a guardrail" in text(as_(cast.alice), start)
    for row in rows[1:]:
        send(carol, row, verdict="fine")
    assert "To look at afterwards" not in text(carol, start)


def test_what_one_may_not_look_at_any_more_is_not_counted(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    to = {"follow_up": "escalate", "to": str(cast.bob.pk)}
    send(as_(cast.carol), rows[0], verdict="flagged", severity="low", **to)
    assert "handed to you" in text(as_(cast.bob), "/northwind/start")
    cast.bob.teams.set([cast.finance])
    page = text(as_(cast.bob), "/northwind/start")
    assert "handed to you" not in page and "Handed on to you" not in page


def test_what_its_taker_cannot_see_to_comes_back_to_those_who_may_hand_it_on(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    start, named = "/northwind/start", "who cannot see to it any more"
    carol, erin = (
        as_(cast.carol),
        as_(member("erin", workspace=cast.workspace, role=Role.REVIEWER, teams=(cast.support,))),
    )
    for row, to in zip(rows, (cast.bob, cast.alice), strict=False):
        escalate = {"follow_up": "escalate", "to": str(to.pk), "note": "why: <b>"}
        assert send(carol, row, verdict="flagged", severity="low", **escalate).status_code == 302
    assert named not in text(carol, start)
    cast.bob.teams.set([cast.finance])
    assert named in text(carol, start) and named not in text(as_(cast.bob), start)
    cast.bob.teams.set([cast.support])
    assert named not in text(carol, start)
    cast.bob.is_active = False
    cast.bob.save()
    for client in (carol, erin):
        page = text(client, start)
        assert "why: &lt;b&gt;" in page
        assert named in page and page.count(f"post-review/{rows[0].tool_call_id}") == 1
        assert f"post-review/{rows[1].tool_call_id}" not in page, "Alice can see to hers"
    assert named not in text(as_(cast.dave), start), "of another team"
    assert send(erin, rows[0], "follow-up", follow_up="escalate", to=str(cast.carol.pk)).status_code == 302
    assert named not in text(carol, start) and "Handed on to you" in text(carol, start)


def test_taking_back_is_offered_as_long_as_nothing_followed(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol = as_(cast.carol)
    plain = send(carol, rows[0], verdict="flagged", severity="low").headers["Location"]
    assert "take-back" in text(carol, plain)
    to = {"follow_up": "escalate", "to": str(cast.bob.pk)}
    handed = send(carol, rows[1], verdict="flagged", severity="low", **to).headers["Location"]
    assert f"last={rows[1].tool_call_id}" in handed
    for where in (handed, f"{PAGE}/{rows[1].tool_call_id}"):
        assert f"{rows[1].tool_call_id}/take-back" not in text(carol, where), where
    refused = send(carol, rows[1], "take-back")
    assert refused.status_code == 409
    one = FollowUp.objects.get(kind="escalate")
    as_(cast.bob).post(f"{PAGE}/follow-ups/{one.pk}/close", {})
    assert send(carol, rows[1], "take-back").status_code == 409, "also when that is done"
    rows[1].refresh_from_db()
    assert rows[1].state == "flagged"


def test_several_get_one_verdict_and_what_was_not_taken_is_said(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol = as_(cast.carol)
    send(carol, rows[0], verdict="skipped")
    picks = [str(row.tool_call_id) for row in rows[:2]]
    form = {"key": uuid.uuid4(), "show": "drawn", "verdict": "fine"}
    assert carol.post(f"{PAGE}/batch", form).status_code == 422, "nothing is ticked"
    answer = carol.post(f"{PAGE}/batch", {**form, "pick": [*picks, "x"]})
    assert answer.status_code == 409 and "already: skipped" in answer.content.decode()
    assert list(PostReview.objects.order_by("-rank").values_list("state", flat=True)) == [
        "skipped",
        "fine",
        "drawn",
    ]
    dave = as_(cast.dave).post(f"{PAGE}/batch", {**form, "pick": str(rows[2].tool_call_id)})
    assert dave.status_code == 409 and PostReview.objects.filter(state="drawn").count() == 1


def test_a_batch_is_taken_back_as_one_and_what_stays_is_said(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol = as_(cast.carol)
    picks = [str(row.tool_call_id) for row in rows]
    form = {"key": uuid.uuid4(), "show": "drawn", "verdict": "flagged", "severity": "low", "pick": picks}
    page = text(carol, carol.post(f"{PAGE}/batch", form).headers["Location"])
    assert page.count(f'action="{PAGE}/take-back"') == 1 and "3 actions" in page
    send(carol, rows[1], "follow-up", follow_up="draft_rule")
    assert carol.post(f"{PAGE}/take-back", {}).status_code == 422
    answer = carol.post(f"{PAGE}/take-back", {"pick": [*picks, "x"]})
    assert answer.status_code == 409 and rows[1].plain_sentence in answer.content.decode()
    assert {str(row.tool_call_id): row.state for row in PostReview.objects.all()} == dict(
        zip(picks, ("drawn", "flagged", "drawn"), strict=True)
    )
    assert as_(cast.dave).post(f"{PAGE}/take-back", {"pick": picks[1]}).status_code == 409
    rows[1].refresh_from_db()
    assert rows[1].state == "flagged"


def test_links_and_forms_keep_the_page_of_the_list(cast: Cast, as_: As) -> None:
    made = [drawn(waiting(cast.support).tool_call, rank=0) for _ in range(52)]
    carol = as_(cast.carol)
    second = re.findall(r'href="([^"]+)">Next page', text(carol))[0].replace("&amp;", "&")
    page = text(carol, second)
    at = str(made[51].tool_call_id)
    (after,) = re.findall(r'data-key="j" href="([^"]+)"', page)
    assert at in after
    page = text(carol, after.replace("&amp;", "&"))
    assert 'data-key="k"' in page, "still among those of its page"
    cursor = re.findall(r'name="cursor" value="([^"]+)"', page)[0]
    assert f"cursor={cursor}" in send(carol, made[50], verdict="fine", cursor=cursor).headers["Location"]


def test_counts_are_of_the_filter_and_flags_say_whether_something_followed(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol = as_(cast.carol)
    assert "(3) Post-review" in text(carol, f"{PAGE}?tool=payments.refund_order")
    assert "(3) Post-review" not in text(carol, f"{PAGE}?tool=other")
    send(carol, rows[0], verdict="flagged", severity="low", follow_up="escalate", to=str(cast.bob.pk))
    send(carol, rows[1], verdict="flagged", severity="low")
    assert text(carol, f"{PAGE}?show=flagged").count("follow-up open") == 1
    as_(cast.bob).post(f"{PAGE}/follow-ups/{FollowUp.objects.get().pk}/close", {})
    page = text(carol, f"{PAGE}?show=flagged")
    assert "follow-up open" not in page and page.count("followed up") == 1


def test_the_queries_of_the_page_do_not_depend_on_its_rows(
    cast: Cast, rows: list[PostReview], as_: As
) -> None:
    carol, counted = as_(cast.carol), []
    suggested_rule(drawn(waiting(cast.support).tool_call, state="flagged"), cast.carol)
    for _ in range(2):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            text(carol)
        counted.append(len(queries))
        for _ in range(6):
            drawn(waiting(cast.support).tool_call)
    assert counted[0] == counted[1] <= 30


def test_what_an_agent_wrote_is_shown_as_what_it_is(cast: Cast, as_: As) -> None:
    row = drawn(
        waiting(cast.support).tool_call, plain_sentence="<script>alert(1)</script>", drawn_because="\u202ebad"
    )
    page = text(as_(cast.carol), f"{PAGE}/{row.tool_call_id}")
    assert "<script>alert" not in page and "\u202e" not in page
    for nothing in ("?at=x", f"?at={uuid.uuid4()}"):
        text(as_(cast.carol), PAGE + nothing, 404)


def test_a_corrective_branch_is_made_in_the_form_with_a_changed_state(cast: Cast, as_: As) -> None:
    """Also when the run has ended: it supersedes nothing. The flag counts at once, the branch when the form is sent."""
    agent, bob = agent_of(cast.support), as_(cast.bob)
    call = observed(agent, agent.run()["id"])
    row = PostReview.objects.get(tool_call=call)
    agent.post(f"/branches/{row.tool_call.branch_id}/finish", {}).ok()
    flagged = send(bob, row, verdict="flagged", severity="high", note="Wrong <n>", follow_up="fork")
    row.refresh_from_db()
    point = row.tool_call.checkpoint_id
    form = flagged.headers["Location"]
    assert (row.state, FollowUp.objects.count()) == ("flagged", 0)
    assert form == f"/northwind/checkpoints/{point}/rewrite?look={call}&reason=Wrong+%3Cn%3E"
    page = text(bob, form)
    assert (
        "Corrective branch from checkpoint 1" in page
        and "Wrong &lt;n&gt;" in page
        and f'value="{call}"' in page
    )
    to = f"/northwind/checkpoints/{point}/rewrite"
    told = {"look": call, "reason": "Wrong", "changes": '[{"op":"set","path":"/n","value":7}]'}
    asked = bob.post(to, told | {"do": "preview"}).content.decode()
    assert "What this corrective branch means" in asked and "Make the branch" in asked
    sent = {**told, "do": "confirm", "key": str(uuid.uuid4())}
    assert bob.post(to, sent).headers["Location"] == f"/northwind/post-review/{call}"
    assert bob.post(to, sent).status_code == 302
    made = FollowUp.objects.get()
    assert (made.kind, made.note) == ("fork", "Wrong")
    row.tool_call.branch.refresh_from_db()
    assert row.tool_call.branch.state == "succeeded"
    assert load(made.branch.checkpoints.get()) == '{"n":7}'
    assert f"post-review/{call}/follow-up" in text(bob, f"{PAGE}/{call}")
    again = send(bob, row, "follow-up", follow_up="fork", note="")
    assert again.headers["Location"] == f"{to}?look={call}&reason=Wrong+%3Cn%3E", "what the flag says"
    for odd in ("x", str(uuid.uuid4())):
        assert bob.get(f"{to}?look={odd}").status_code == 404


def test_who_may_not_fork_sets_no_flag_by_it(cast: Cast, as_: As) -> None:
    agent = agent_of(cast.support)
    row = PostReview.objects.get(tool_call=observed(agent, agent.run()["id"]))
    refused = send(as_(cast.carol), row, verdict="flagged", severity="low", follow_up="fork")
    row.refresh_from_db()
    assert (refused.status_code, row.state) == (403, "drawn")


def test_the_page_says_once_why_it_was_drawn(cast: Cast, as_: As) -> None:
    row = drawn(waiting(cast.support).tool_call, drawn_because="Rule Glance draws it.", number=7, percent=10)
    page = text(as_(cast.carol), f"{PAGE}/{row.tool_call_id}")
    assert page.count("Rule Glance draws it.") == 1
    assert page.count("10 of 100 such calls are drawn") == 1
