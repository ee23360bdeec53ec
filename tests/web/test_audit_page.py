"""The audit page: what it is narrowed to, what an entry says, stories, exports, and that looking is recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction
from django.test import Client

from reviewhub.accounts.kinds import TeamMade
from reviewhub.accounts.models import Member
from reviewhub.audit import progress
from reviewhub.audit.models import Event
from reviewhub.audit.queries import kind_names
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.display.segments import plain
from reviewhub.web import audit_kinds
from reviewhub.web.audit_entry import Line
from reviewhub.web.audit_kinds import kind_words
from tests.cast import Cast
from tests.driver import PersonHttp, agent_of, call, policy

pytestmark = pytest.mark.django_db
As = Callable[[Member], Client]


@pytest.fixture
def edited(cast: Cast) -> Event:
    """Bob edited a refund, which approved it."""
    agent = agent_of(cast.support)
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    run = agent.run(external_id="thread-7")
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    change = {"op": "set", "path": "/amount", "value": "7.50"}
    PersonHttp(cast.bob).decide(waiting, "edit", changes=[change], message="Less.").ok()
    return Event.objects.get(kind="request.changed")


def found(client: Client, query: str) -> set[str]:
    """The kinds of the entries that the page lists."""
    page = client.get(f"/northwind/audit?{query}")
    assert page.status_code == 200
    return {line.event.kind for line in page.context["lines"]}


def test_all_that_happened_to_a_call_is_found_by_its_arguments(cast: Cast, as_: As) -> None:
    """Also by those of an older version, and however a number is written; a name may stand in the sentence."""
    agent, carol = agent_of(cast.support), as_(cast.carol)
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    for amount, order in (("1240.00", "8812"), ("77.00", "9001")):
        fields = {"arguments": {"amount": amount, "order_id": order}}
        (waiting,) = agent.pause(agent.run()["id"], call(**fields)).ok(201)["tool_calls"]
        change = {"op": "set", "path": "/amount", "value": "990.50"}
        PersonHttp(cast.bob).decide(waiting, "edit", changes=[change], message="Less.").ok()
        decided = agent.get(f"/tool-calls/{waiting['id']}").ok()
        agent.consume(decided).ok()
        agent.outcome(decided).ok()
    about = {"request.changed", "request.decided", "call.started", "call.ended"}
    for text in ("1240.00", "1,240.00", "1240.00+8812", "990.50+8812", "refund+8812"):
        assert found(carol, f"q={text}") >= about | {"request.opened"}, text
    for text in ("1240.00", "1,240.00", "1240.00+8812", "8812+Bob"):
        assert found(carol, f"q={text}&kind=request.decided") == {"request.decided"}, text
        assert len(carol.get(f"/northwind/audit?q={text}&kind=request.decided").context["lines"]) == 1, text
    for text in ("1240.00+9001", "8812+Mallory", '"1240.00+8812"'):
        assert found(carol, f"q={text}&kind=request.decided") == set(), text


def test_filters_and_search(cast: Cast, as_: As, edited: Event) -> None:
    carol = as_(cast.carol)
    about = {"run.started", "pause.opened", "request.opened", "request.changed", "request.decided"}
    for query in (
        f"team={cast.support.pk}",
        f"agent={edited.agent_id}",
        f"run={edited.run_id}",
        "run=thread-7",
    ):
        assert found(carol, query) >= about, query
    assert found(carol, f"team={cast.finance.pk}") == set()
    assert "request.opened" in found(carol, "tool=refund") and "run.started" not in found(
        carol, "tool=refund"
    )
    about_the_call = {"request.opened", "request.changed", "request.voted", "request.decided"}
    assert found(carol, "q=%22amount%22%3A%2210.00%22") == about_the_call
    assert found(carol, "q=7.50&kind=request.changed") == {"request.changed"}
    assert found(carol, f"about={cast.bob.pk}") == {"request.changed", "request.decided", "request.voted"}
    for query in ("run=thread-8", "who=x", "agent=x", "team=x", "tool=refun"):
        assert found(carol, query) == set(), query


def test_an_entry_says_where_from_on_what_evidence_and_what_differs(
    cast: Cast, as_: As, edited: Event
) -> None:
    page = as_(cast.carol).get(f"/northwind/audit?event={edited.pk}").content.decode()
    for words in ("the API", "127.0.0.1", "What was, and what is", "10.00", "7.50", "all about it"):
        assert words in page, words
    decided = Event.objects.get(kind="request.decided")
    page = as_(cast.carol).get(f"/northwind/audit?event={decided.pk}").content.decode()
    for words in ("Digest of the call", "Policy version", "Checkpoint’s hash"):
        assert words in page, words


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"role": "admin", "old_role": "manager"}, [("role", "manager", "admin")]),
        ({"role": "admin", "old_role": "admin"}, []),
        ({"teams": ["A", "B"], "old_teams": []}, [("teams", "", "A, B")]),
        ({"effect": "once", "effect_before": "read"}, [("effect", "read", "once")]),
        ({"risk": "high", "before": "low", "tool": "t"}, [("risk", "low", "high")]),
        ({"tool": "t"}, []),
        (
            {
                "changes": '[{"op":"set","path":"/a","value":2},{"op":"remove","path":"/b"}]',
                "before": '[{"op":"set","path":"/a","value":1},{"op":"insert","path":"/b","value":"x"}]',
            },
            [("a", "1", "2"), ("b", "x", None)],
        ),
    ],
)
def test_what_differs(data: dict[str, object], expected: list[tuple[str, str | None, str | None]]) -> None:
    line = Line(Event())
    line.__dict__["data"] = data
    told = [
        (plain(one.name), *(None if part is None else plain(part) for part in (one.was, one.becomes)))
        for one in line.differences
    ]
    assert told == expected


def test_stories_of_a_run_and_of_a_person(cast: Cast, as_: As, edited: Event) -> None:
    carol = as_(cast.carol)
    told = carol.get(f"/northwind/audit/runs/{edited.run_id}").context["told"]
    kinds = [one.line.event.kind for one in told]
    assert kinds[0] == "run.started" and kinds.index("request.opened") < kinds.index("request.decided")
    page = carol.get(f"/northwind/audit/people/{cast.bob.pk}")
    assert "Bob changed the arguments" in page.content.decode()
    assert {one.line.event.actor_id for one in page.context["told"]} == {cast.bob.pk}


def test_an_export_says_how_far_it_has_come(
    cast: Cast, as_: As, edited: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", -1)
    carol, where = as_(cast.carol), f"/northwind/audit/export/{edited.run_id}"
    assert "The export begins" in carol.get(where).content.decode()
    made = carol.get(f"/northwind/audit/export?as=jsonl&export={edited.run_id}&run={edited.run_id}")
    lines = iter(made.streaming_content)
    for _ in range(3):
        next(lines)
    begun = carol.get(f"{where}?asked=1").content.decode()
    assert "2 entries written" in begun and "hx-trigger" in begun
    left = len(list(lines))
    ended = carol.get(f"{where}?asked=1").content.decode()
    assert f"{3 + left} entries written" in ended and "hx-trigger" not in ended
    assert "The export begins" in as_(cast.alice).get(where).content.decode()
    assert "hx-trigger" not in as_(cast.alice).get(f"{where}?asked=40").content.decode()


def test_looking_is_recorded_and_exports_are(cast: Cast, as_: As, edited: Event) -> None:
    carol = as_(cast.carol)
    for _ in range(2):
        carol.get("/northwind/audit?q=refund")
        carol.get(f"/northwind/audit/runs/{edited.run_id}")
    table = carol.get("/northwind/audit/export?as=csv&kind=request.changed")
    assert table["Content-Type"] == "text/csv; charset=utf-8"
    assert b"changed the arguments" in b"".join(table.streaming_content)
    assert carol.get("/northwind/audit/export?as=xls").status_code == 422
    told = Event.objects.filter(kind__in=("audit.read", "audit.listed")).order_by("id")
    assert list(told.values_list("payload__sentence", flat=True)) == [
        "Carol looked at what fits “q refund” in the record (page)",
        f"Carol looked at the story of the run {edited.run_id} in the record (page)",
        "Carol exported what fits “kind request.changed” of the record as csv",
    ]


def test_kinds_are_told_in_words_and_by_name(cast: Cast, edited: Event, as_: As) -> None:
    carol = as_(cast.carol)
    page = carol.get(f"/northwind/audit?kind=request.changed&event={edited.pk}").content.decode()
    assert '<option value="request.changed" title="request.changed" selected>Request changed</option>' in page
    assert '<option value="audit.read" title="audit.read">Record looked at</option>' in page
    assert '<h2 id="ev-t">Request changed</h2>' in page and "<code>request.changed</code>" in page


def test_no_two_kinds_are_called_the_same_and_no_name_is_of_none() -> None:
    names = list(kind_names())
    assert len({kind_words(name).casefold() for name in names}) == len(names)
    assert set(audit_kinds._SAID) <= set(names)


@pytest.mark.parametrize(
    ("door", "words"), [("page", "<dt>HTTP request</dt>"), ("api", "not on record"), ("schedule", "")]
)
def test_an_entry_that_names_no_http_request_says_so(cast: Cast, as_: As, door: str, words: str) -> None:
    """As older versions wrote them."""
    old = Actor(kind="person", name="Mina", id=cast.carol.pk, source=door)
    with transaction.atomic():
        kept = record("team.made", workspace_id=cast.workspace.pk, actor=old, data=TeamMade(name="Night"))
    page = as_(cast.carol).get(f"/northwind/audit?event={kept.id}").content.decode()
    assert words in page and ("HTTP request" in page) is bool(words)
