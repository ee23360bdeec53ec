"""The queue through HTTP."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from reviewhub.accounts.models import AgentKey, Member
from reviewhub.core.clock import now
from reviewhub.reviews.models import RejectReason, Review, ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.reviews.share import share
from reviewhub.runs.models import Run
from reviewhub.toolcalls.models import CallVersion
from reviewhub.tools.models import Tool
from tests.cast import Cast, make_test_agent
from tests.web.make import waiting

As = Callable[[Member], Client]


def numbers(page: str) -> list[str]:
    return [part.split('"')[0] for part in page.split('id="rq-')[1:] if "-" not in part.split('"')[0]]


def get(client: Client, path: str = "/northwind/queue") -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content.decode()[:500]
    return answer.content.decode()


def test_a_stranger_gets_404(cast: Cast, as_: As) -> None:
    waiting(cast.support)
    assert as_(cast.mallory).get("/northwind/queue").status_code == 404


def test_a_reviewer_sees_their_teams_requests_only(cast: Cast, as_: As) -> None:
    ours, theirs = waiting(cast.support), waiting(cast.finance, agent="treasury")
    assert numbers(get(as_(cast.bob))) == [str(ours.number)]
    assert numbers(get(as_(cast.dave))) == [str(theirs.number)]


@pytest.mark.parametrize(
    "page", ["queue", "queue?q=secret_tool", "runs", "agents", "tools", "tools?q=secret"]
)
def test_no_page_tells_a_reviewer_of_other_teams_agents_and_tools(cast: Cast, as_: As, page: str) -> None:
    waiting(cast.support)
    waiting(cast.finance, agent="hidden-treasury", tool="secret_tool")
    theirs, key, _ = make_test_agent(cast.finance, name="hidden-second")
    Tool.objects.create(workspace=theirs.workspace, agent=theirs, name="secret_second", effect="once")
    for who, sees in ((cast.bob, False), (cast.carol, True), (cast.dave, True)):
        shown = get(as_(who), f"/northwind/{page}").replace('value="secret_tool"', "")
        found = [word for word in ("hidden-", "secret_second", key.prefix) if word in shown]
        assert bool(found) == sees, (who, found)


def test_the_filters_offer_what_another_teams_agent_asks_us(cast: Cast, as_: As) -> None:
    row = waiting(cast.finance, agent="treasury", tool="transfer")
    share(row, [cast.support.pk])
    for page in ("queue", "runs"):
        assert "treasury" in get(as_(cast.bob), f"/northwind/{page}"), page
    assert 'value="transfer"' in get(as_(cast.bob))
    assert "treasury" not in get(as_(cast.bob), "/northwind/agents")


@pytest.mark.parametrize("who", ["alice", "carol"])
def test_admins_and_managers_see_all(cast: Cast, as_: As, who: str) -> None:
    waiting(cast.support)
    waiting(cast.finance, agent="treasury")
    assert len(numbers(get(as_(cast.people[who])))) == 2


def test_only_who_may_decide_is_offered_it(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    for member, offered in ((cast.bob, True), (cast.alice, False), (cast.carol, False)):
        page = get(as_(member)) + get(as_(member), f"/northwind/requests/{row.number}/peek")
        assert ('type="checkbox" name="pick"' in page) == offered, member
        assert ("mode=reject" in page) == offered, member


def test_an_empty_queue_says_so(cast: Cast, as_: As) -> None:
    assert "Nothing waits for you" in get(as_(cast.bob))


def test_who_is_in_no_team_is_told_so(cast: Cast, as_: As) -> None:
    waiting(cast.support)
    cast.bob.teams.clear()
    page = get(as_(cast.bob))
    assert "You are in no team" in page
    assert "Nothing waits for you" not in page


def test_groups_by_time_left_then_risk_then_age(cast: Cast, as_: As) -> None:
    later = waiting(cast.support, seconds=None)
    low = waiting(cast.support, seconds=7000, risk="low")
    high = waiting(cast.support, seconds=8000, risk="critical")
    soon = waiting(cast.support, seconds=300, risk="low")
    late = waiting(cast.support, seconds=-60, risk="low")
    page = get(as_(cast.bob))
    assert numbers(page) == [str(row.number) for row in (late, soon, high, low, later)]


def test_the_panel_shows_the_first_row_as_displayed(cast: Cast, as_: As) -> None:
    waiting(cast.support, seconds=3600, risk="low")
    top = waiting(cast.support, seconds=7200, risk="critical")
    assert f'hx-get="/northwind/requests/{top.number}/peek"' in get(as_(cast.bob))


def test_decided_rows_stand_apart_the_newest_first(cast: Cast, as_: As) -> None:
    low = waiting(cast.support, seconds=3600, risk="low")
    decided = [waiting(cast.support, seconds=3600, risk=risk) for risk in ("critical", "low")]
    ReviewRequest.objects.filter(pk__in=[row.pk for row in decided]).update(
        state="approved", decided_at=now(), decided_by_name="Alice"
    )
    page = get(as_(cast.bob), "/northwind/queue?state=any")
    assert numbers(page) == [str(row.number) for row in (low, decided[1], decided[0])]
    assert numbers(page.split('data-group="done"')[1]) == [str(row.number) for row in reversed(decided)]


def test_the_bare_address_of_a_workspace_is_its_start_page(cast: Cast, as_: As) -> None:
    for path in ("/northwind/", "/northwind"):
        answer = as_(cast.bob).get(path, follow=True)
        assert (answer.status_code, answer.request["PATH_INFO"]) == (200, "/northwind/start")


def test_hostile_text_is_shown_as_text(cast: Cast, as_: As) -> None:
    waiting(
        cast.support,
        tool="<img src=x onerror=alert(1)>",
        arguments='{"reason":"<script>alert(1)</script>\\u202e\\" hx-get=/x "}',
        template="Refund {reason}",
    )
    page = get(as_(cast.bob))
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "U+202E" in page
    assert '" hx-get=/x' not in page


def test_the_list_reads_no_arguments_and_asks_the_same_for_2_and_60_rows(cast: Cast, as_: As) -> None:
    client = as_(cast.bob)
    for _ in range(2):
        waiting(cast.support)
    with CaptureQueriesContext(
        connection,
    ) as few:
        get(client)
    for _ in range(58):
        waiting(cast.support)
    with CaptureQueriesContext(connection) as many:
        assert len(numbers(get(client, "/northwind/queue?limit=100"))) == 60
    assert len(many) == len(few) <= 22
    assert not any("toolcalls_callversion" in query["sql"] for query in many)


def test_pages_hold_every_request_once(cast: Cast, as_: As) -> None:
    for seconds in (*range(30), *[None] * 30):
        waiting(cast.support, seconds=None if seconds is None else 1000 + 10 * seconds)
    client = as_(cast.bob)
    seen: list[str] = []
    path = "/northwind/queue?limit=25"
    while path:
        page = get(client, path)
        seen += numbers(page)
        more = page.split('href="?limit=25&amp;cursor=')[1:]
        path = f"/northwind/queue?limit=25&cursor={more[0].split(chr(34))[0]}" if more else ""
    assert len(seen) == len(set(seen)) == 60


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJhIiwiYiJd"])
def test_a_foreign_cursor_is_refused(cast: Cast, as_: As, cursor: str) -> None:
    assert as_(cast.bob).get(f"/northwind/queue?cursor={cursor}").status_code == 422


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=4001", {4001}),
        ("q=%234002", {4002}),
        ("q=wire", {4002}),
        ("tool=bank.wire", {4002}),
        ("risk=low", {4001}),
        ("risk=nonsense", {4001, 4002, 4003}),
        ("late=1", {4003}),
        ("mine=1", {4001}),
        ("free=1", {4002, 4003}),
        ("agent=treasury", {4002}),
        ("state=any", {4001, 4002, 4003}),
        ("q=nothing-like-it", set()),
        ("q=refund+8812", {4001, 4003}),
        ("q=%C3%89CLAIR", {4002}),
        ("q=%C3%A9cl", {4002}),
        ("q=clair", set()),
        ("q=%25", set()),
        ("q=%27+OR+zz", set()),
    ],
)
def test_filters(cast: Cast, as_: As, query: str, found: set[int]) -> None:
    claimed = waiting(cast.support, risk="low")
    claimed.claimed_by, claimed.claimed_until = cast.bob, now() + timedelta(minutes=5)
    claimed.save()
    waiting(cast.support, tool="bank.wire", agent="treasury", arguments='{"for":"Éclair"}')
    waiting(cast.support, seconds=-5)
    page = get(as_(cast.bob), f"/northwind/queue?{query}")
    assert {int(number) for number in numbers(page)} == found


def test_needs_me_is_what_nobody_but_i_and_my_teams_can_bring_on(cast: Cast, as_: As) -> None:
    open_, voted, late, next_turn = (waiting(cast.support, seconds=s) for s in (None, None, -5, 60))
    Review.objects.create(
        request=voted, member=cast.bob, name="Bob", verdict="approve", version=1, digest="d"
    )
    ReviewRequest.objects.filter(pk=next_turn.pk).update(asks=f" {cast.finance.pk} ", asks_managers=True)

    def needs(member: Member) -> list[str]:
        return numbers(get(as_(member), "/northwind/queue?me=1"))

    assert needs(cast.bob) == [str(open_.number)]
    assert needs(cast.alice) == needs(cast.dave) == []
    assert needs(cast.carol) == [str(next_turn.number)]
    cast.alice.teams.add(cast.finance)
    assert needs(cast.alice) == [str(next_turn.number)]
    Review.objects.update(voided_at=now(), voided_because="edited")
    assert needs(cast.bob) == [str(open_.number), str(voted.number)]


def test_what_four_eyes_keep_from_me_does_not_need_me(cast: Cast, as_: As) -> None:
    rows = [waiting(cast.support) for _ in range(6)]
    began, edited, acts, _, theirs, two_hands = rows
    for row in rows[:5]:
        stored = Stored.model_validate_json(row.requirement)
        eyes = stored.requirement.model_copy(update={"four_eyes": True})
        row.requirement = stored.model_copy(update={"requirement": eyes}).model_dump_json()
        row.save()
    for row in (began, two_hands):
        Run.objects.filter(pk=row.run_id).update(started_by=cast.bob)
    mine = CallVersion.objects.get(tool_call=edited.tool_call)
    mine.pk, mine.version, mine.author_kind, mine.author_id = None, 2, "person", cast.bob.pk
    mine.save(force_insert=True)
    ReviewRequest.objects.filter(pk=edited.pk).update(version=2)
    Run.objects.filter(pk=acts.run_id).update(on_behalf_of=f"Bob <{cast.bob.person.email}>")
    Run.objects.filter(pk=theirs.run_id).update(on_behalf_of=f"not{cast.bob.person.email}")
    needed = {int(number) for number in numbers(get(as_(cast.bob), "/northwind/queue?me=1"))}
    assert needed == {row.number for row in rows[3:]}, "not my name, or no four eyes"
    AgentKey.objects.create(
        workspace=cast.workspace, agent=rows[3].agent, name="k", prefix="p", key_hash="h", made_by=cast.bob
    )
    assert numbers(get(as_(cast.bob), "/northwind/queue?me=1")) == [str(two_hands.number)]


def test_a_claim_that_ran_out_is_nobodys(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    row.claimed_by, row.claimed_until = cast.alice, now() - timedelta(seconds=1)
    row.save()
    assert "Alice" not in get(as_(cast.bob))


def test_decided_rows_are_named_with_who_and_what(cast: Cast, as_: As) -> None:
    row = waiting(cast.support)
    ReviewRequest.objects.filter(pk=row.pk).update(
        state="rejected", decided_at=now(), decided_by_name="Alice"
    )
    client = as_(cast.bob)
    assert numbers(get(client)) == []
    assert "rejected" in get(client, "/northwind/queue?state=any")


def test_managers_get_no_bulk_form(cast: Cast, as_: As) -> None:
    waiting(cast.support)
    assert 'name="pick"' in get(as_(cast.bob))
    assert 'name="pick"' not in get(as_(cast.carol))


def test_bulk_approves_what_it_showed_whole(cast: Cast, as_: As) -> None:
    plain = waiting(cast.support, risk="low", arguments='{"amount":"3.00","note":"end of it"}')
    long = waiting(cast.support, risk="low", arguments=f'{{"amount":"3.00","note":"{"x" * 3000}"}}')
    picks = [f"{row.number}:1:{row.digest}" for row in (plain, long)]
    bulk = "/northwind/queue/bulk"
    shown = as_(cast.bob).post(bulk, {"type": "approve", "pick": picks[:1]})
    assert shown.status_code == 200
    assert "end of it" in shown.content.decode()
    for path in (bulk, f"{bulk}/send"):
        answer = as_(cast.bob).post(path, {"type": "approve", "pick": picks, "key": "k"})
        assert answer.status_code == 422
        assert f"Not everything of #{long.number}" in answer.content.decode()
    assert not ReviewRequest.objects.exclude(state="pending").exists()


def test_bulk_rejects_with_a_preset_reason(cast: Cast, as_: As) -> None:
    RejectReason.objects.create(workspace=cast.workspace, name="Too much", text="Refund less.", place=1)
    rows = [waiting(cast.support), waiting(cast.support)]
    given = {"type": "reject", "pick": [f"{row.number}:1:{row.digest}" for row in rows], "key": "k"}
    assert "Too much" in as_(cast.bob).post("/northwind/queue/bulk", given).content.decode()
    assert as_(cast.bob).post("/northwind/queue/bulk/send", given).status_code == 422, "no words at all"
    as_(cast.bob).post("/northwind/queue/bulk/send", given | {"reason": "Too much", "message": "Half of it."})
    told = list(Review.objects.values_list("verdict", "message"))
    assert told == [("reject", "Refund less.\n\nHalf of it.")] * 2


def test_of_two_equal_risks_the_one_with_less_time_left_stands_first(cast: Cast, as_: As) -> None:
    late = waiting(cast.support, risk="high", seconds=800)
    soon = waiting(cast.support, risk="high", seconds=60)
    worse = waiting(cast.support, risk="critical", seconds=850)
    page = as_(cast.bob).get("/northwind/queue").content.decode()
    assert sorted((late, soon, worse), key=lambda row: page.index(f'id="rq-{row.number}"')) == [
        worse,
        soon,
        late,
    ]
