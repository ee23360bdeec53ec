"""Search and the start pages: nobody finds, or is reminded of, what is not theirs to see."""

from collections.abc import Callable

import pytest
from django.test import Client

from reviewhub.accounts.models import Agent, Member
from reviewhub.reviews.models import Review
from reviewhub.runs.note import note_run
from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast, make_test_agent
from tests.web.make import waiting

As = Callable[[Member], Client]


def shown(client: Client, path: str) -> str:
    answer = client.get(f"/northwind/{path}")
    assert answer.status_code == 200
    return answer.content.decode().split("<main")[1].split("</main>")[0]


def test_strangers_find_nothing_and_reviewers_what_is_their_teams(cast: Cast, as_: As) -> None:
    row = waiting(
        cast.support, arguments='{"order_id":"ZQ-8812","password":"zqsecret"}', agent="Zqbot", tool="zq.pay"
    )
    row.run.title = "Zq ticket"
    row.run.save()
    note_run(row.run)
    waiting(cast.support, arguments='{"order_id":"ZQ-9"}', tool="zq.silent")
    assert as_(cast.mallory).get("/northwind/search?q=zq").status_code == 404
    dave = shown(as_(cast.dave), "search?q=zq")
    assert "Nothing begins with these words" in dave
    assert "Bob" not in shown(as_(cast.dave), "search?q=bob")
    for who in (cast.bob, cast.carol, cast.alice):
        found = shown(as_(who), "search?q=Zq")
        for said in (f"#{row.number}", "Zq ticket", "zq.silent", "zq.pay", "Zqbot"):
            assert said in found, (who, said)
        assert "Nothing begins" in shown(as_(who), "search?q=zqsecret"), "a secret is not guessed at"
        assert f"runs/{row.run_id}" in shown(as_(who), f"search?q={row.run_id}")
    assert f"by={cast.bob.pk}" in shown(as_(cast.carol), "search?q=bob%40example")
    assert "Nothing begins" in shown(as_(cast.bob), "search?q=bob%40example"), (
        "an address is for who may read it"
    )


@pytest.mark.parametrize("text", ["%", "'", "<b>", "\\", "a:* | b", "%00"])
def test_any_text_may_be_looked_for(text: str, cast: Cast, as_: As) -> None:
    for page in ("search", "queue", "runs", "tools"):
        assert as_(cast.bob).get(f"/northwind/{page}", {"q": text}).status_code in (200, 422), page


def test_an_id_with_dashes_finds_what_has_it_and_not_all_that_begins_alike(cast: Cast, as_: As) -> None:
    one = waiting(cast.support, arguments='{"order_id":"INV-2024-17"}')
    other = waiting(cast.support, arguments='{"order_id":"INVOICE-20240-1788"}')
    for text, found in (
        ("INV-2024-17", [one]),
        ("inv-2024-1", [one]),
        ("inv 2024 17", [one, other]),
        ("IN-2024", []),
    ):
        page = shown(as_(cast.bob), f"search?q={text}")
        assert [row for row in (one, other) if f"#{row.number}" in page] == found, text


def test_what_somebody_voted_on(cast: Cast, as_: As) -> None:
    row, _ = waiting(cast.support), waiting(cast.support)
    Review.objects.create(request=row, member=cast.bob, name="Bob", verdict="approve", version=1, digest="d")
    page = as_(cast.carol).get(f"/northwind/queue?state=any&by={cast.bob.pk}").content.decode()
    assert page.count('<li class="row') == 1
    assert as_(cast.carol).get("/northwind/queue?by=nobody").content.decode().count('<li class="row') == 2


def test_each_role_begins_with_what_is_theirs(cast: Cast, as_: As) -> None:
    row, late = waiting(cast.support), waiting(cast.support, seconds=-5)
    voted = waiting(cast.support, approvals=2)
    Review.objects.create(
        request=voted, member=cast.bob, name="Bob", verdict="approve", version=1, digest="d"
    )
    make_test_agent(cast.support, name="Keyed")
    Agent.objects.create(workspace=cast.workspace, team=cast.support, name="Keyless")
    bob, dave, carol, alice = (
        shown(as_(who), "start") for who in (cast.bob, cast.dave, cast.carol, cast.alice)
    )
    needed, others = bob.split("You voted, and it waits for others")
    assert f"/requests/{row.number}" in needed
    assert f"/requests/{voted.number}" in others.split("</section>")[0]
    assert f"/requests/{late.number}" not in bob
    assert "/requests/" not in dave
    assert "No request needs you now" in dave
    assert f"/requests/{late.number}" in carol.split("Overdue")[1].split("</section>")[0]
    assert "To see to" not in bob + dave + carol
    assert "The agent Keyless has no key that works" in alice
    assert "Keyed" not in alice
    assert ToolCall.objects.count() == 3
