"""Of an erased run nothing can be read any more, and everything that was provable stays so."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from reviewhub.accounts.acting import NotAnyMore
from reviewhub.accounts.actors import actor_for
from reviewhub.accounts.models import Member
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.audit.leaf import leaf_hash, payload_hash
from reviewhub.audit.models import Event, EventPayload
from reviewhub.checkpoints.models import Blob, Checkpoint, Pin, Removal, RemovalEnd, Tombstone
from reviewhub.core import faults
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.deliveries.models import Email
from reviewhub.retention.contents import TEXTS
from reviewhub.retention.erase import StillOpen, erase
from reviewhub.retention.hold import hold
from reviewhub.reviews.models import PostReview, ReviewRequest
from reviewhub.runs.models import Branch, Run
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared

ANN = "Ann-Zebra"


def acting(who: Member) -> Actor:
    return actor_for(MemberCaller(who), source="page")


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def started(agent: AgentHttp) -> str:
    """A run in which every field that takes a text has one about Ann."""
    told: dict[str, Any] = {name: f"{ANN} {name}" for name in ("title", "external_id", "on_behalf_of")}
    told["on_behalf_of"] = ANN
    return str(agent.run(**told, labels={"who": ANN}, input={"mail": ANN})["id"])


def ended(agent: AgentHttp, cast: Cast) -> str:
    """The same, decided upon and finished."""
    run = started(agent)
    for number in range(5):
        state = {"log": [f"{ANN} {number}" * 40], "n": number}
        agent.post(f"/runs/{run}/checkpoints", {"state": state, "reason": ANN, "node": ANN}).ok(201)
    one = {**call(), "arguments": {"who": ANN}, "call_id": ANN, "reason": ANN, "labels": {"l": ANN}}
    (paused,) = agent.pause(run, one, checkpoint={"state": {"who": ANN}}).ok(201)["tool_calls"]
    bob = PersonHttp(cast.bob)
    request = paused["request"]["id"]
    bob.post(f"/requests/{request}/comment", {"text": ANN}).ok()
    bob.post(f"/requests/{request}/ask", {"text": f"who is {ANN}?"}).ok()
    (question,) = agent.get("/questions").ok()["items"]
    agent.post(f"/questions/{question['id']}/answer", {"text": ANN}).ok()
    bob.decide(paused, "approve", message=ANN, note=ANN).ok()
    agent.consume(paused).ok()
    agent.post(f"/tool-calls/{paused['id']}/progress", {"partial": ANN}).ok()
    agent.outcome(paused, result={"who": ANN}).ok()
    seen = {"checkpoint": {"state": {"who": ANN}}, "tool_calls": [{**call("mail"), "arguments": {"to": ANN}}]}
    seen["tool_calls"][0]["outcome"] = {"status": "failed", "error": ANN}  # type: ignore[index]
    agent.post(f"/runs/{run}/observations", seen).ok(201)
    drawn = str(PostReview.objects.get().tool_call_id)
    flag = {"verdict": "flagged", "severity": "low", "note": ANN, "follow_up": "notify"}
    bob.post(f"/observations/{drawn}/grade", flag).ok()
    handed = bob.post(
        f"/observations/{drawn}/follow-up", {"kind": "escalate", "note": ANN, "to": str(cast.bob.pk)}
    )
    (open_one,) = [one for one in handed.ok()["follow_ups"] if one["kind"] == "escalate"]
    bob.post(f"/follow-ups/{open_one['id']}/close", {"note": ANN}).ok()
    agent.post(f"/branches/{Branch.objects.get(run=run).pk}/finish", {"result": {"who": ANN}}).ok()
    return run


def erased(cast: Cast, **more: Any) -> int:
    given = {"on_behalf_of": ANN, "reason": "they asked for it", "actor": acting(cast.alice), **more}
    return erase(workspace_id=cast.workspace.pk, **given).runs


def mentions() -> set[str]:
    """Every column of every table in which something still says Ann."""
    found = set()
    for model in apps.get_models():
        for row in model._default_manager.values():
            found |= {f"{model.__name__}.{name}" for name, value in row.items() if ANN in repr(value)}
    return found


def test_only_an_admin_of_the_workspace(agent: AgentHttp, cast: Cast) -> None:
    run = ended(agent, cast)
    for who in (cast.mallory, cast.bob, cast.carol):
        with pytest.raises(NotAnyMore):
            erased(cast, actor=acting(who))
    with pytest.raises(NotFound):
        erase(workspace_id=cast.other.pk, on_behalf_of=ANN, reason="mine", actor=acting(cast.mallory))
    assert Checkpoint.objects.filter(run=run).count() == 7


def test_nothing_that_was_said_is_left(agent: AgentHttp, cast: Cast) -> None:
    run = ended(agent, cast)
    for name in (
        "Run.title",
        "CallVersion.arguments",
        "Comment.text",
        "Question.answer",
        "PostReview.plain_sentence",
        "FollowUp.done_note",
        "EventPayload.body",
    ):
        assert name in mentions()
    hashes = dict(Checkpoint.objects.values_list("id", "state_hash"))
    digests = set(CallVersion.objects.values_list("digest", flat=True))
    leaves = dict(Event.objects.values_list("id", "leaf"))
    Pin.objects.create(checkpoint=Checkpoint.objects.first(), run_id=run, reason=ANN, by_name="Bob")
    assert erased(cast) == 1
    assert mentions() == set()
    assert dict(Tombstone.objects.values_list("id", "state_hash")) == hashes
    assert set(CallVersion.objects.values_list("digest", flat=True)) == digests
    assert {pk: bytes(leaf) for pk, leaf in leaves.items()}.items() <= {
        pk: bytes(leaf) for pk, leaf in Event.objects.values_list("id", "leaf")
    }.items()
    assert not Blob.objects.exists() and not Email.objects.filter(body__contains=ANN).exists()
    last = Event.objects.filter(kind="run.erased").get()
    assert last.payload.sentence == "Alice erased what a run held: they asked for it"
    # What was not erased still proves its leaf.
    for payload in EventPayload.objects.filter(erased_at__isnull=True).select_related("event"):
        event = payload.event
        hashed = payload_hash(salt=bytes(payload.salt), body=payload.body)
        assert bytes(event.leaf) == leaf_hash(
            workspace_id=event.workspace_id, kind=event.kind, at=event.at, payload=hashed
        )
    assert agent.get(f"/runs/{run}").ok()["title"] == ""
    assert ToolCall.objects.get(tool_name="refund").state == "succeeded"
    assert Decision.objects.filter(by_name="Bob").exists()


def test_nothing_is_added_to_its_requests_afterwards(agent: AgentHttp, cast: Cast) -> None:
    run = started(agent)
    (paused,) = agent.pause(run, call(), checkpoint={"state": {}}).ok(201)["tool_calls"]
    bob = PersonHttp(cast.bob)
    request = paused["request"]["id"]
    question = bob.post(f"/requests/{request}/ask", {"text": "who?"}).ok(201)["id"]
    bob.decide(paused, "reject", message="Not now.").ok()
    agent.post(f"/branches/{Branch.objects.get(run=run).pk}/finish", {"result": None}).ok()
    assert erased(cast) == 1
    number = ReviewRequest.objects.get(pk=request).number
    before = Event.objects.count()
    said = {
        "comment": bob.post(f"/requests/{request}/comment", {"text": ANN}),
        "vote": bob.decide(paused, "approve", message=ANN),
        "claim": bob.post(f"/requests/{request}/claim"),
        "take over": bob.post(f"/requests/{request}/claim", {"take_over": True}),
        "release": bob.post(f"/requests/{request}/release"),
        "ask": bob.post(f"/requests/{request}/ask", {"text": ANN}),
        "reveal": bob.post(f"/requests/{request}/reveal", {"reason": ANN}),
        "answer": agent.post(f"/questions/{question}/answer", {"text": ANN}),
    }
    assert {name: (reply.status, reply.code) for name, reply in said.items()} == dict.fromkeys(
        said, (409, "run_erased")
    )
    page = f"/northwind/requests/{number}"
    for deed, form in {
        "comment": {"text": ANN},
        "claim": {},
        "ask": {"message": ANN},
        "decide": {
            "type": "reject",
            "version": "1",
            "digest": paused["digest"],
            "message": f"{ANN} is enough",
        },
    }.items():
        reply = bob.client.post(f"{page}/{deed}", form | {"key": "k"})
        assert (reply.status_code, "was erased" in reply.content.decode()) == (409, True), deed
    shown = bob.client.get(page).content.decode()
    assert "Nothing is added here any more" in shown and f"{page}/comment" not in shown
    assert mentions() == set() and Event.objects.count() == before


def test_it_is_erased_once(agent: AgentHttp, cast: Cast) -> None:
    ended(agent, cast)
    erased(cast)
    with pytest.raises(NotFound):
        erased(cast)
    assert Run.objects.get().erased_at is not None


def test_refused_while_something_is_open_or_held(agent: AgentHttp, cast: Cast) -> None:
    run = Run.objects.get(pk=ended(agent, cast))
    other = agent.run(on_behalf_of=ANN)["id"]
    with pytest.raises(StillOpen, match=f"Run {other} cannot be erased: it is running. Nothing was erased"):
        erased(cast)
    paused = agent.pause(other, call()).ok(201)
    with pytest.raises(StillOpen, match="1 pending requests, 1 tool calls that are not over"):
        erased(cast)
    agent.post(f"/runs/{paused['run']}/cancel").ok()
    hold(run=run, reason="a lawsuit", actor=acting(cast.carol))
    with pytest.raises(StillOpen, match="it is under hold"):
        erased(cast)
    assert "Run.title" in mentions()


@pytest.mark.parametrize("given", [{"reason": " "}, {"on_behalf_of": ""}, {"on_behalf_of": " "}])
def test_it_has_to_be_said_whose_and_why(cast: Cast, given: dict[str, str]) -> None:
    with pytest.raises(Invalid):
        erased(cast, **given)


def test_the_names_of_its_branches_go_too(agent: AgentHttp, cast: Cast) -> None:
    ended(agent, cast)
    first = Checkpoint.objects.get(number=1)
    fork = agent.post(f"/checkpoints/{first.pk}/fork", {"branch": f"for {ANN}"}).ok(201)["branch"]
    agent.post(f"/branches/{fork['id']}/finish", {}).ok()
    assert "Branch.name" in mentions()
    erased(cast)
    assert mentions() == set()
    assert set(Branch.objects.values_list("name", flat=True)) == {"main", fork["id"]}


def test_who_is_stopped_by_a_fork_in_the_middle_is_not_told_that_nothing_went(
    agent: AgentHttp, cast: Cast, settings: Any
) -> None:
    settings.RETENTION_BATCH_ROWS = 3
    ended(agent, cast)
    first = Checkpoint.objects.get(number=1)
    forked: list[Any] = []

    def forking() -> None:
        if not forked:
            forked.append(agent.post(f"/checkpoints/{first.pk}/fork", {}).ok(201)["branch"])

    with faults.armed("erase.after_commit", forking), pytest.raises(StillOpen, match="stays so") as refused:
        erased(cast)
    assert "Nothing was erased" not in str(refused.value)
    assert Removal.objects.filter(kind="erasure").exists()
    agent.post(f"/branches/{forked[0]['id']}/finish", {}).ok()
    assert erased(cast) == 1
    assert mentions() == set()


def test_stopped_before_a_commit_nothing_of_it_is_done(agent: AgentHttp, cast: Cast) -> None:
    ended(agent, cast)
    before, rows = mentions(), Removal.objects.count()
    with faults.armed("erase.before_commit"), pytest.raises(faults.Fault):
        erased(cast)
    assert (mentions(), Removal.objects.count()) == (before, rows)
    assert erased(cast) == 1


def test_stopped_in_the_middle_it_goes_on(agent: AgentHttp, cast: Cast, settings: Any) -> None:
    settings.RETENTION_BATCH_ROWS = 3
    ended(agent, cast)
    steps = 0
    while True:
        try:
            with faults.armed("erase.after_commit"):
                erased(cast)
        except faults.Fault:
            steps += 1
            continue
        except NotFound:
            break
    assert steps > 10
    assert mentions() == set()


def test_without_an_erasure_no_guarded_text_is_emptied(agent: AgentHttp, cast: Cast) -> None:
    run = Run.objects.get(pk=ended(agent, cast))
    for texts in TEXTS[:2]:
        with pytest.raises(IntegrityError, match="rows are never changed"), transaction.atomic():
            texts.rows(run.pk).update(**texts.empty)
    fields = {"workspace_id": run.workspace_id, "run": run, "created_at": now()}
    for kind, passes in (("retention", False), ("erasure", True)):
        with transaction.atomic():
            removal = Removal.objects.create(kind=kind, end_id=uuid.uuid4(), **fields)
            for texts in TEXTS[:2]:
                if passes:
                    texts.rows(run.pk).update(**texts.empty)
                    continue
                with pytest.raises(IntegrityError, match="rows are never changed"), transaction.atomic():
                    texts.rows(run.pk).update(**texts.empty)
            with pytest.raises(IntegrityError), transaction.atomic():
                CallVersion.objects.update(arguments="{}", changes="[]", digest="other")
            with pytest.raises(IntegrityError), transaction.atomic():
                CallVersion.objects.update(arguments='{"a":1}', changes="[]")
            RemovalEnd.objects.create(id=removal.end_id, checkpoints=0, blobs=0, bytes=0, digest="")
