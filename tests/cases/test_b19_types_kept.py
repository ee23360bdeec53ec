"""B19 and its class: a state comes back through the API with every value and type it had, on both databases."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from reviewhub_agents import canonical, exact, wire

from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from tests.agents.values import PLAIN, REFUSED, TYPES, VALUES, equal
from tests.cases.conftest import AgentHttp
from tests.cast import Cast
from tests.driver import API


def save(agent: AgentHttp, run: str, **fields: Any) -> wire.CheckpointOut:
    """Saves Python state as an external agent does."""
    body = wire.CheckpointSave.of(types=TYPES, **fields).to_text()
    saved = agent.post(f"/runs/{run}/checkpoints", raw=body.encode()).ok(201)
    return fetch(agent, saved["id"])


def fetch(agent: AgentHttp, checkpoint: Any) -> wire.CheckpointOut:
    """Reads a checkpoint in the exact bytes of the answer."""
    answer = agent.client.get(
        f"{API}/checkpoints/{checkpoint}?state=full", headers={"Authorization": f"Bearer {agent.token}"}
    )
    assert answer.status_code == 200
    return wire.CheckpointOut.from_text(answer.content)


def hash_of(state: Any) -> str:
    """The hash of a state as docs/state-hash.md says."""
    fields = {name: canonical.body_digest(value).removeprefix("sha256:") for name, value in state.items()}
    return canonical.body_digest({"fields": fields, "version": 1})


def test_b19_every_value_comes_back_equal_and_of_its_type(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    for name, value in VALUES.items():
        state = {"field": value, "list": [value, {"inside": value}]}
        found = save(agent, run, state=state)
        assert equal(found.value(types=TYPES), state), name
        assert found.hash == hash_of(exact.pack(state, types=TYPES)), name


def test_b19_all_of_them_in_one_state_to_the_byte(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    found = save(agent, run, state=VALUES)
    assert equal(found.value(types=TYPES), VALUES)
    text = canonical.dumps(exact.pack(VALUES, types=TYPES))
    assert load(Checkpoint.objects.get(pk=found.id)) == text
    # Read by somebody who knows none of the types, and saved again: not a byte differs.
    again = save(agent, run, state=found.value())
    assert load(Checkpoint.objects.get(pk=again.id)) == text
    assert again.hash == found.hash


def test_a_plain_state_has_the_hash_that_it_always_had(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    state = {name: VALUES[name] for name in PLAIN}
    raw = canonical.dumps({"state": state}).encode()
    before = agent.post(f"/runs/{run}/checkpoints", raw=raw).ok(201)
    assert save(agent, run, state=state).hash == before["hash"]


def test_b19_what_changed_is_packed_too(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"log": [(1,)], "$rh": {1}, "same": b"\xff"})
    second = save(
        agent,
        run,
        parent=first.id,
        parent_hash=first.hash,
        changed={"$rh": {2}},
        append={"log": [(2,), "a\0"]},
        unchanged=["same"],
    )
    assert second.value() == {"log": [(1,), (2,), "a\0"], "$rh": {2}, "same": b"\xff"}
    third = save(
        agent,
        run,
        parent=second.id,
        parent_hash=second.hash,
        changed={"same": b""},
        unchanged=["$rh", "log"],
    )
    assert third.value() == second.value() | {"same": b""}
    with pytest.raises(ValueError, match="names of fields"):
        wire.CheckpointSave.of(parent=first.id, parent_hash=first.hash, changed={1: 2})


@pytest.mark.parametrize(("value", "path", "kind"), REFUSED.values(), ids=REFUSED)
def test_b19_what_cannot_be_kept_is_refused_before_it_is_sent(value: Any, path: str, kind: str) -> None:
    with pytest.raises(exact.NotExact, match=re.escape(kind)) as caught:
        wire.CheckpointSave.of(types=TYPES, state={"a": value})
    assert caught.value.errors[0]["path"].startswith("/a" + path)


def test_b19_a_decimal_does_not_become_a_number_in_silence() -> None:
    body = wire.CheckpointSave(state={"a": [{"b": Decimal("10.10")}]})
    with pytest.raises(canonical.BadJson, match="^/state/a/0/b: A Decimal would come back"):
        body.to_text()


def test_b01_raw_nul_and_lone_surrogates_are_refused_in_states_as_ever(agent: AgentHttp) -> None:
    run = agent.run()["id"]
    for text in (r"a\u0000", r"\ud800"):
        for state, path in (
            ('{"a":["%s"]}', "/state/a/0"),
            ('{"%s":1}', "/state/"),
            ('{"a":{"$rh":"text","value":"%s"}}', "/state/a/value"),
        ):
            raw = f'{{"state":{state % text}}}'.encode()
            refused = agent.post(f"/runs/{run}/checkpoints", raw=raw)
            assert refused.status in (400, 422)
            assert refused.json["errors"][0]["path"].startswith(path)
    assert not Checkpoint.objects.exists()


def test_the_run_page_shows_values_and_not_their_marks(agent: AgentHttp, cast: Cast) -> None:
    run = agent.run()["id"]
    browser = Client()
    browser.force_login(cast.bob.person)
    shown = ("decimal", "zone", "flags", "tuple keys", "set", "dataclass", "bytes", "opaque bytes")
    save(agent, run, state={"text": "<b>\0</b>"} | {name: VALUES[name] for name in shown})
    page = browser.get(f"/northwind/runs/{run}").content.decode()
    assert all(text in page for text in ("1.10", "Europe/Berlin", "Right.READ | SHARE", "2 bytes"))
    assert "&lt;b&gt;\\u0000" in page
    assert "/(1, (2, x))" in re.sub("<[^>]+>", "", page)
    assert "$rh" not in page
    save(agent, run, state=VALUES)
    assert browser.get(f"/northwind/runs/{run}").status_code == 200
