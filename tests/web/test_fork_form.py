"""A fork with a changed state on the page: from any checkpoint, also of a branch that is over."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts.models import Member
from reviewhub.audit.models import Event, EventPayload
from reviewhub.checkpoints import recall
from reviewhub.checkpoints.blobs.fetch import BlobsAway
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.runs.models import Branch
from tests.cast import Cast
from tests.checkpoints.test_damage import damage
from tests.driver import AgentHttp, PersonHttp, agent_of, call
from tests.shared import shared
from tests.web.test_checkpoints import form_of, page, save

As = Callable[[Member], Client]


@shared
def agent(cast: Cast) -> AgentHttp:
    return agent_of(cast.support)


@shared
def ended(cast: Cast, agent: AgentHttp) -> Any:
    """The checkpoint before a refund that ran, in a run that has ended."""
    agent.put("/tools/refund", {"effect": "once"}).ok(200, 201)
    run = agent.run()["id"]
    first = save(agent, run, state={"amount": 1240, "log": ["a"]})
    (done,) = agent.pause(run, call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(done, "approve").ok()
    agent.consume(done).ok()
    agent.outcome(done).ok()
    agent.post(f"/branches/{first['branch']}/finish", {}).ok()
    return first


def test_whom_the_run_is_none_of_forks_nothing(cast: Cast, as_: As, ended: Any) -> None:
    address = f"/northwind/checkpoints/{ended['id']}/fork/edit"
    given = {
        "do": "confirm",
        "reason": "r",
        "key": "k",
        "changes": '[{"op":"set","path":"/amount","value":1}]',
    }
    for who, status in ((cast.mallory, 404), (cast.dave, 404), (cast.carol, 403), (cast.alice, 403)):
        assert as_(who).get(address).status_code == status
        assert as_(who).post(address, given).status_code == status
    assert Branch.objects.count() == 1


def test_an_ended_run_goes_on_from_a_changed_state(cast: Cast, as_: As, ended: Any) -> None:
    client = as_(cast.bob)
    shown = page(client, f"checkpoints/{ended['id']}")
    address = f"/northwind/checkpoints/{ended['id']}/fork/edit"
    assert f'href="{address}"' in shown and "Fork with changes…" in shown
    assert "1 done and not undone" in shown, "told before anything is pressed"
    opened = client.get(address).content.decode()
    assert "Fork from checkpoint 1" in opened
    assert "Already done, will not be undone" in opened and "refund" in opened
    form = form_of(opened) | {"f:/amount": "1250", "reason": "wrong amount"}
    asked = client.post(address, form | {"do": "preview"}).content.decode()
    assert "What this fork means" in asked and "1 value of checkpoint 1 changes" in asked
    assert "Already done, will not be undone" in asked and "stays as it is" in asked
    assert Branch.objects.count() == 1, "a look changes nothing"
    form = form_of(asked)
    back = client.post(address, form | {"back": "1"}).content.decode()
    assert form_of(back)["changes"] == form["changes"]
    for _ in range(2):  # Pressed twice, it forks once.
        answer = client.post(address, form | {"do": "confirm"})
        made = Checkpoint.objects.get(branch__fork_of=ended["id"])
        assert answer.headers["Location"] == f"/northwind/checkpoints/{made.pk}"
    assert load(made) == '{"amount":1250,"log":["a"]}'
    assert (made.reason, made.author_name) == ("wrong amount", "Bob")
    states = dict(Branch.objects.values_list("name", "state"))
    assert states == {"main": "succeeded", "fork-1": "running"}
    assert '"changed":["/amount"]' in EventPayload.objects.get(event__kind="checkpoint.forked").body
    assert (
        "fork-1 goes on from here; main stays as it is."
        in client.get(answer.headers["Location"]).content.decode()
    )


def test_an_open_branch_is_forked_with_changes_and_goes_on_itself(
    cast: Cast, as_: As, agent: AgentHttp
) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 1})
    (waits,) = agent.pause(run, call("mail", "c2")).ok(201)["tool_calls"]
    client = as_(cast.bob)
    assert f"checkpoints/{first['id']}/fork/edit" in page(client, f"runs/{run}?checkpoint={first['id']}")
    address = f"/northwind/checkpoints/{first['id']}/fork/edit"
    shown = client.get(address).content.decode()
    assert "or was allowed there: stays so" in shown and "Withdrawn: the request ends" not in shown
    taken = form_of(shown) | {"f:/n": "2", "reason": "r", "branch": "main"}
    form = form_of(client.post(address, taken | {"do": "preview"}).content.decode())
    refused = client.post(address, form | {"do": "confirm"})
    assert (refused.status_code, Branch.objects.count()) == (409, 1)
    assert "has a branch &#x27;main&#x27; already" in refused.content.decode()
    form = form_of(refused.content.decode()) | {"branch": "other way"}
    form = form_of(client.post(address, form | {"do": "preview"}).content.decode())
    assert client.post(address, form | {"do": "confirm"}).status_code == 302
    assert load(Checkpoint.objects.get(branch__name="other way")) == '{"n":2}'
    assert Branch.objects.get(name="main").state == "paused"
    PersonHttp(cast.bob).decide(waits, "approve").ok()


def test_what_was_put_together_for_a_rewrite_becomes_a_fork(cast: Cast, as_: As, agent: AgentHttp) -> None:
    run = agent.run()["id"]
    first = save(agent, run, state={"n": 1})
    client = as_(cast.bob)
    address = f"/northwind/checkpoints/{first['id']}/rewrite"
    form = form_of(client.get(address).content.decode()) | {"f:/n": "2", "reason": "two\nlines"}
    form = form_of(client.post(address, form | {"do": "preview"}).content.decode())
    agent.post(f"/branches/{first['branch']}/finish", {}).ok()
    over = client.post(address, form | {"do": "confirm"})
    assert over.status_code == 409
    shown = over.content.decode()
    assert (
        "Fork with these changes…" in shown and f'action="{address.replace("rewrite", "fork/edit")}"' in shown
    )
    opened = client.post(address.replace("rewrite", "fork/edit"), form_of(shown)).content.decode()
    taken = form_of(opened)
    assert json.loads(taken["changes"]) == [{"op": "set", "path": "/n", "value": 2}]
    assert (taken["reason"], taken["f:/n"]) == ("two\nlines", "2")
    agent_page = client.get(address).content.decode()
    assert "takes no rewrite any more" in agent_page and "fork/edit" in agent_page


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"key": ""}, 422, "printable ASCII"),
        ({"changes": '[{"op":"set","path":"/no/where","value":1}]'}, 422, "there is no /no/where"),
        ({"changes": "x"}, 422, "damaged"),
        ({"plan": "x"}, 422, "plan"),
        ({"branch": "main"}, 409, "has a branch"),
        ({"branch": "two  spaces"}, 422, "nor two in a row"),
    ],
)
def test_what_cannot_be_is_said_in_the_form(
    cast: Cast, as_: As, ended: Any, given: dict[str, str], status: int, said: str
) -> None:
    right = {"do": "confirm", "reason": "my words", "key": "k", "changes": "[]"}
    answer = as_(cast.bob).post(f"/northwind/checkpoints/{ended['id']}/fork/edit", right | given)
    shown = answer.content.decode()
    assert (answer.status_code, said in shown, "my words" in shown) == (status, True, True)
    assert Branch.objects.count() == 1


def test_a_stopped_agent_is_not_forked(cast: Cast, as_: As, ended: Any) -> None:
    as_(cast.alice).post(f"/northwind/agents/{agent_id_of(ended)}/stop", {"reason": "stop"})
    client = as_(cast.bob)
    assert "fork/edit" not in page(client, f"checkpoints/{ended['id']}")
    given = {"do": "confirm", "reason": "r", "key": "k", "changes": "[]"}
    assert client.post(f"/northwind/checkpoints/{ended['id']}/fork/edit", given).status_code == 403
    assert Branch.objects.count() == 1


def agent_id_of(saved: Any) -> str:
    return str(Checkpoint.objects.get(pk=saved["id"]).run.agent_id)


@pytest.mark.parametrize("form", ["rewrite", "fork/edit"])
@pytest.mark.parametrize("do", ["take", "preview", "confirm"])
@pytest.mark.parametrize("why", ["away", "damaged"])
def test_what_was_put_together_outlives_a_state_that_cannot_be_read(
    cast: Cast, as_: As, agent: AgentHttp, monkeypatch: pytest.MonkeyPatch, form: str, do: str, why: str
) -> None:
    first = save(agent, agent.run()["id"], state={"n": 1})
    recall.forget_all()
    if why == "away":
        monkeypatch.setattr(recall, "tip_of", refuse)
    else:
        damage(Checkpoint.objects.filter(pk=first["id"]), content=b"")
    changes = '[{"op":"set","path":"/n","value":2}]'
    given = {"do": do, "reason": "my words", "key": "k", "changes": changes}
    answer = as_(cast.bob).post(f"/northwind/checkpoints/{first['id']}/{form}", given)
    kept = form_of(answer.content.decode())
    # A branch that stands on damage is set aside, and takes no rewrite from then on.
    damaged = 409 if form == "rewrite" else 500
    assert answer.status_code == (503 if why == "away" else damaged)
    assert (kept["reason"], kept["changes"]) == ("my words", changes)
    assert Branch.objects.count() == 1
    assert Event.objects.filter(kind="checkpoint.corrupt").count() == (why == "damaged")


def refuse(row: Checkpoint) -> None:
    raise BlobsAway
