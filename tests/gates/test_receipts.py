"""Receipts prove a decision and an execution to who has nothing but the key."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from reviewhub_agents import BadReceipt, canonical, verify_audit, verify_receipt
from reviewhub_agents.receipts import pae

from reviewhub.audit import keys
from reviewhub.audit.models import Event
from reviewhub.audit.rotate_key import rotate_key
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import SYSTEM
from reviewhub.reviews.models import ReviewRequest
from tests.cast import Cast
from tests.driver import AgentHttp, PersonHttp, agent_of, call

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


def paused(agent: AgentHttp) -> Any:
    return agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"][0]


def test_the_examples_of_the_specification() -> None:
    """The test vector of DSSE's protocol.md."""
    said = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("http://example.com/HelloWorld", b"hello world") == said


def test_a_decision_and_an_execution_are_proven(agent: AgentHttp, cast: Cast) -> None:
    one = paused(agent)
    assert agent.get(f"/tool-calls/{one['id']}/receipts").ok()["items"] == []
    bob = PersonHttp(cast.bob)
    bob.decide(one, "approve").ok()
    (given,) = agent.get(f"/tool-calls/{one['id']}/receipts").ok()["items"]
    key = keys.newest().public
    arguments = json.dumps(call()["arguments"])
    receipt = verify_receipt(json.dumps(given["envelope"]), key, tool=one["tool"], arguments=arguments)
    assert receipt.allows and receipt.digest == one["digest"]
    facts = receipt.facts
    row = ReviewRequest.objects.get(tool_call=one["id"])
    assert facts["by"] == {"kind": "person", "id": str(cast.bob.pk), "name": "Bob"}
    assert [(vote["name"], vote["verdict"], vote["digest"]) for vote in facts["reviewers"]] == [
        ("Bob", "approve", one["digest"])
    ]
    assert facts["checkpoint"] == Checkpoint.objects.get().state_hash
    shown = {
        "agent": "Support agent",
        "digest": one["digest"],
        "environment": row.environment,
        "number": canonical.Number(str(row.number)),
        "risk": row.risk,
        "sentence": row.plain_sentence,
        "tool": one["tool"],
        "version": canonical.Number("1"),
    }
    assert facts["displayed"] == canonical.body_digest(shown)
    assert facts["request"] == str(row.pk) and facts["type"] == "approve"
    for kind, names in {
        "request.opened": ("checkpoint", "digest"),
        "request.voted": ("displayed", "digest"),
        "request.decided": ("displayed", "checkpoint", "digest"),
    }.items():
        data = json.loads(Event.objects.get(kind=kind).payload.body)["data"]
        assert all(data[name].startswith("sha256:") for name in names), kind

    agent.consume(one).ok()
    agent.outcome(one, result={"id": "r1"}).ok()
    again, ended = bob.get(f"/requests/{row.pk}/receipts").ok()["items"]
    assert again == given, "the same facts, the same signature"
    end = verify_receipt(ended["envelope"], key)
    assert (end.kind, end.allows, end.facts["status"], end.facts["attempt"]) == (
        "execution",
        False,
        "succeeded",
        1,
    )
    assert end.facts["decision"] == facts["decision"]
    tree = {"status": "succeeded", "result": {"id": "r1"}}
    assert end.facts["outcome"] == canonical.body_digest(tree)  # type: ignore[arg-type]
    new = rotate_key(actor=SYSTEM).public
    (by_new, _) = agent.get(f"/tool-calls/{one['id']}/receipts").ok()["items"]
    assert verify_receipt(by_new["envelope"], new).facts == facts


def test_the_file_of_the_page_is_checked_by_the_program_that_stands_alone(
    agent: AgentHttp, cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it is downloaded; what was changed in it is named, and another key signed nothing of it."""
    one = paused(agent)
    PersonHttp(cast.bob).decide(one, "approve").ok()
    agent.consume(one).ok()
    agent.outcome(one).ok()
    carol, number = Client(), ReviewRequest.objects.get().number
    carol.force_login(cast.carol.person)
    given = carol.get(f"/northwind/requests/{number}/receipts").content
    file, key = tmp_path / "receipts.json", keys.newest().public
    page = carol.get(f"/northwind/requests/{number}").content.decode()
    assert f"python verify_audit.py receipts-{number}.json --key {key}" in page

    def said(content: bytes, public: str = key) -> tuple[int, str]:
        file.write_bytes(content)
        code = verify_audit.main([str(file), "--key", public])
        return code, capsys.readouterr().out

    code, words = said(given)
    assert code == 0 and words.startswith("OK. 2 receipts") and "approve by person Bob" in words
    assert "execution: succeeded" in words and one["digest"] in words
    items = json.loads(given)["items"]
    assert said(json.dumps(items[0]["envelope"]).encode())[0] == 0, "one by itself"
    payload = json.loads(base64.b64decode(items[1]["envelope"]["payload"]))
    payload["predicate"]["status"] = "failed"
    items[1]["envelope"]["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
    code, words = said(json.dumps({"items": items}).encode())
    assert code == 1 and words.startswith("BROKEN: receipt 2: ")
    assert said(given, "0" * 64)[0] == 1
    assert said(b'{"items":[]}')[0] == said(b'{"items":[{"envelope":{}}]}')[0] == said(b"{}")[0] == 1


def test_a_rejection_is_proven_and_allows_nothing(agent: AgentHttp, cast: Cast) -> None:
    one = paused(agent)
    PersonHttp(cast.bob).decide(one, "reject", message="not this order").ok()
    (given,) = agent.get(f"/tool-calls/{one['id']}/receipts").ok()["items"]
    receipt = verify_receipt(given["envelope"], keys.newest().public)
    assert (receipt.allows, receipt.facts["type"]) == (False, "reject")


def _payload(change: Callable[[Any], object]) -> Callable[[Any], object]:
    def act(envelope: Any) -> None:
        said = json.loads(base64.b64decode(envelope["payload"]))
        change(said)
        envelope["payload"] = base64.b64encode(json.dumps(said).encode()).decode()

    return act


FORGED: dict[str, Callable[[Any], object]] = {
    "another answer": _payload(lambda said: said["predicate"].update(type="approve", allows=True)),
    "another call": _payload(lambda said: said["subject"][0]["digest"].update(sha256="ab" * 32)),
    "another kind": _payload(lambda said: said.update(predicateType="urn:reviewhub:execution:1")),
    "another type": lambda envelope: envelope.update(payloadType="application/json"),
    "no signature": lambda envelope: envelope.update(signatures=[]),
    "signatures of no form": lambda envelope: envelope.update(signatures="x"),
    "no base 64": lambda envelope: envelope.update(payload="*"),
    "no payload": lambda envelope: envelope.pop("payload"),
}


def test_no_forged_receipt_passes(agent: AgentHttp, cast: Cast) -> None:
    one = paused(agent)
    PersonHttp(cast.bob).decide(one, "reject", message="not this order").ok()
    envelope = agent.get(f"/tool-calls/{one['id']}/receipts").ok()["items"][0]["envelope"]
    key = keys.newest().public
    for name, forge in FORGED.items():
        forged = copy.deepcopy(envelope)
        forge(forged)
        with pytest.raises(BadReceipt):
            verify_receipt(forged, key)
            raise AssertionError(name)
    for broken in ("", "[]", "{}", "nan"):
        with pytest.raises(BadReceipt):
            verify_receipt(broken, key)
    with pytest.raises(BadReceipt, match="another call"):
        verify_receipt(envelope, key, tool=one["tool"], arguments='{"order": "other"}')
    with pytest.raises(BadReceipt, match="did not sign"):
        verify_receipt(envelope, "ab" * 32)
    for wrong in ({"public_key": "ab"}, {"public_key": key, "tool": "refund"}):
        with pytest.raises(ValueError):
            verify_receipt(envelope, **wrong)
    url_safe = envelope["payload"].replace("+", "-").replace("/", "_")
    assert verify_receipt({**envelope, "payload": url_safe}, key).digest == one["digest"]
