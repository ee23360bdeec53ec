"""What no verb stores, whoever calls it, and long texts that are read back after they were taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reviewhub_agents import wire

from reviewhub.accounts.make_agent import make_agent
from reviewhub.accounts.sign_in import sign_in
from reviewhub.audit.models import Event
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Invalid
from reviewhub.gates.cancel import cancel
from reviewhub.gates.stop import stop
from reviewhub.policies.publish import publish
from reviewhub.reviews.ask import ask
from reviewhub.reviews.comment import comment
from reviewhub.reviews.decide import decide
from reviewhub.reviews.reveal import reveal
from reviewhub.tools.models import Tool
from reviewhub.tools.set_sentence import set_sentence
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.web.make import waiting

MOST = 64_000
BAD = ["a\x00b", "a\ud800b"]


def decided(row: Any, cast: Cast, **fields: Any) -> Any:
    body = wire.DecideBody(type=wire.Verdict.RESPOND, version=1, digest=row.digest, **{"value": 1, **fields})
    return decide(request_id=row.pk, member=cast.bob, body=body, body_digest="d", key="k", actor=SYSTEM)


VERBS: dict[str, Callable[[Any, Cast, str], Any]] = {
    "ask": lambda row, cast, text: ask(request_id=row.pk, member=cast.bob, text=text, actor=SYSTEM),
    "comment": lambda row, cast, text: comment(request_id=row.pk, member=cast.bob, text=text, actor=SYSTEM),
    "reveal": lambda row, cast, text: reveal(request_id=row.pk, reason=text, actor=SYSTEM),
    "cancel": lambda row, cast, text: cancel(run_id=row.run_id, reason=text, actor=SYSTEM),
    "stop": lambda row, cast, text: stop(agent_id=row.agent_id, reason=text, actor=SYSTEM),
    "message": lambda row, cast, text: decided(row, cast, message=text),
    "note": lambda row, cast, text: decided(row, cast, note=text),
    "value": lambda row, cast, text: decided(row, cast, value={"rows": [text]}),
    "description": lambda row, cast, text: make_agent(
        team=cast.support, name="new", description=text, actor=SYSTEM
    ),
    "publish": lambda row, cast, text: publish(
        workspace=cast.workspace, rules_text='{"rules":[]}', note=text, base=0, actor=SYSTEM
    ),
    "sentence": lambda row, cast, text: set_sentence(tool=Tool.objects.get(), sentence=text, actor=SYSTEM),
    "e-mail": lambda row, cast, text: sign_in(email=text, password="x", address=""),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("text", BAD, ids=["nul", "surrogate"])
def test_no_verb_stores_what_cannot_be_kept(verb: str, text: str, cast: Cast) -> None:
    row = waiting(cast.support)
    before = Event.objects.count()
    with pytest.raises(Invalid, match=r"U\+(0000|D800)"):
        VERBS[verb](row, cast, text)
    row.agent.refresh_from_db()
    assert (Event.objects.count(), row.agent.stopped_at) == (before, None)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", [one for one in VERBS if one != "value"])
def test_no_verb_stores_more_than_the_limit(verb: str, cast: Cast, settings: Any) -> None:
    settings.LIMIT_TEXT_BYTES = 20
    with pytest.raises(Invalid, match=r"has 22 bytes; the limit is 20\."):
        VERBS[verb](waiting(cast.support), cast, "é" * 11)


def paused(agent: AgentHttp, **fields: Any) -> tuple[str, Any]:
    run = agent.run()["id"]
    return run, agent.pause(run, call("l.x", **fields)).ok(201)


def rejected(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    bob.decide(one, "reject", message=text, note=text).ok()


def approved(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    bob.decide(one, "approve", message=text).ok()


def edited(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    changes = [{"op": "set", "path": "/n", "value": text}]
    bob.decide(one, "edit", message=text, changes=changes).ok()


def answered(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    bob.decide(one, "respond", value=text).ok()


def answered_at_length(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    bob.decide(one, "respond", value={"rows": [text] * 14}).ok()


def withdrawn(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    agent.post(f"/tool-calls/{one['id']}/withdraw", {"reason": text}).ok()


def cancelled(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    agent.post(f"/runs/{one['run']}/cancel", {"reason": text}).ok()


def failed(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    agent.post(f"/branches/{one['branch_id']}/fail", {"error": text}).ok()


def rewritten(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    changes = [{"op": "set", "path": "/n", "value": 2}]
    bob.post(f"/checkpoints/{one['checkpoint']}/rewrite", {"reason": text, "changes": changes}).ok()


def talked(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
    bob.post(f"/requests/{one['request']['id']}/comment", {"text": text}).ok()
    asked = bob.post(f"/requests/{one['request']['id']}/ask", {"text": text}).ok()
    agent.post(f"/questions/{asked['id']}/answer", {"text": text}).ok()


def ended(status: str) -> Callable[[AgentHttp, PersonHttp, Any, str], None]:
    def end(agent: AgentHttp, bob: PersonHttp, one: Any, text: str) -> None:
        bob.decide(one, "approve").ok()
        agent.consume(one).ok()
        agent.outcome(one, status, error=text, partial=[text]).ok()

    return end


ALL = [
    rejected, approved, edited, answered, answered_at_length, withdrawn, cancelled, failed, rewritten, talked,
    ended("failed"), ended("unknown"),
]  # fmt: skip
LONGEST = "x" * MOST
# As long in bytes, but not in characters: each of these is cut, or put into another text, in a place of its own.
LONGEST_IN_BYTES = "€" * (MOST // 3)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("happens", "text"),
    [
        *((happens, LONGEST) for happens in ALL),
        *((happens, LONGEST_IN_BYTES) for happens in (rejected, edited, failed, talked)),
    ],
    ids=lambda value: "" if callable(value) else value[0],
)
def test_the_longest_texts_are_read_back(happens: Any, text: str, cast: Cast) -> None:
    """Longer texts grow out of the longest that are taken ("The run was rewritten: …"); readers take any size."""
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    run, pause = paused(agent, arguments={"body": "b" * 40_000, "n": "1"}, reason=text)
    one = pause["tool_calls"][0]
    at = {"run": run, "branch_id": pause["branch_id"], "checkpoint": pause["checkpoint"]["id"]}
    happens(agent, bob, {**one, **at}, text)
    request = f"/requests/{one['request']['id']}"
    for reader, path in (
        (agent, f"/pauses/{pause['id']}"),
        (agent, f"/tool-calls/{one['id']}"),
        (agent, f"/runs/{run}"),
        (agent, f"/runs/{run}/checkpoints"),
        (agent, "/questions"),
        (bob, request),
        (bob, "/requests"),
    ):
        assert reader.get(path).status == 200, path
    for page in (f"requests/{one['request']['number']}", f"runs/{run}", "queue"):
        assert bob.client.get(f"/northwind/{page}").status_code == 200, page
