"""B39: whatever becomes of the people, agents and names of the day, an old row of the record says what it said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.test import Client

from reviewhub.accounts.change_role import change_role
from reviewhub.accounts.enable import enable
from reviewhub.accounts.models import Agent, AgentKey, Member, Person, Role
from reviewhub.accounts.move_agent import move_agent
from reviewhub.accounts.revoke_key import revoke_key
from reviewhub.accounts.set_teams import set_teams
from reviewhub.audit.models import Event
from reviewhub.gates.stop import stop
from reviewhub.reviews.disable_member import disable_member
from reviewhub.tools.models import Tool
from tests.cast import ALICE, Cast, member
from tests.driver import AgentHttp, PersonHttp, call, policy
from tests.shared import shared

RULE = {"name": "All", "tool": "*", "action": "require"}
HOSTILE = '=HYPERLINK("http://evil.example")\u202e\u200b'


@dataclass(frozen=True)
class Then:
    """A decision of Bob's, and what the record showed of it that day."""

    cast: Cast
    event: Event
    listed: str
    exported: str


def shown(cast: Cast, who: Member) -> tuple[str, str]:
    """The sentences of somebody's decisions, on the page and in the table; as Carol reads them."""
    carol = Client()
    carol.force_login(cast.carol.person)
    query = f"who={who.pk}&kind=request.decided"
    page = carol.get(f"/northwind/audit?{query}").content.decode()
    table = b"".join(carol.get(f"/northwind/audit/export?as=csv&{query}").streaming_content).decode()
    return page, table.split("\r\n", 2)[1] if "\r\n" in table else table


@shared
def then(cast: Cast, agent: AgentHttp) -> Then:
    policy(cast.support, RULE)
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(waiting, "approve").ok()
    listed, exported = shown(cast, cast.bob)
    assert "Bob" in exported
    return Then(cast, Event.objects.get(kind="request.decided"), listed, exported)


def set_name(model: Any, pk: Any, **fields: Any) -> None:
    model.objects.filter(pk=pk).update(**fields)


def leaves_and_comes_back(at: Then) -> None:
    disable_member(member=at.cast.bob, actor=ALICE)
    enable(member=Member.objects.get(pk=at.cast.bob.pk), actor=ALICE)


def another_bob(at: Then) -> None:
    """The old one is called otherwise, and a new colleague has the name."""
    set_name(Person, at.cast.bob.person_id, name="Robert", email="robert@example.com")
    new = member("bob", workspace=at.cast.workspace, role=Role.REVIEWER, teams=(at.cast.support,))
    assert str(new.pk) not in shown(at.cast, at.cast.bob)[1]
    assert "approved" not in shown(at.cast, new)[1]


CHANGES: dict[str, Callable[[Then], Any]] = {
    "renamed and married": lambda at: set_name(
        Person, at.cast.bob.person_id, name="Robert Other", email="other@example.com"
    ),
    "a hostile name": lambda at: set_name(Person, at.cast.bob.person_id, name=HOSTILE),
    "another Bob": another_bob,
    "promoted": lambda at: change_role(member=at.cast.bob, role=Role.ADMIN, actor=ALICE),
    "another team": lambda at: set_teams(member=at.cast.bob, teams=[at.cast.finance], actor=ALICE),
    "no team": lambda at: set_teams(member=at.cast.bob, teams=[], actor=ALICE),
    "left and came back": leaves_and_comes_back,
    "agent renamed": lambda at: set_name(Agent, at.event.agent_id, name="Somebody else"),
    "agent moved": lambda at: move_agent(agent=Agent.objects.get(), team=at.cast.finance, actor=ALICE),
    "agent stopped": lambda at: stop(agent_id=at.event.agent_id, reason="enough", actor=ALICE),
    "key revoked": lambda at: revoke_key(key=AgentKey.objects.get(), actor=ALICE),
    "tool described anew": lambda at: Tool.objects.update(sentence="Nothing to see here", description="?"),
    "policy turned round": lambda at: policy(at.cast.support, {**RULE, "action": "deny", "name": "Never"}),
    "workspace renamed": lambda at: set_name(type(at.cast.workspace), at.cast.workspace.pk, name="Other"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("change", CHANGES)
def test_b39_an_old_row_says_what_it_said(then: Then, change: str) -> None:
    CHANGES[change](then)
    page, row = shown(then.cast, then.cast.bob)
    assert row == then.exported
    assert then.event.payload.sentence in page
    now = Event.objects.get(pk=then.event.pk)
    assert (now.payload.sentence, now.payload.body) == (then.event.payload.sentence, then.event.payload.body)


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["queryset", "raw", "cascade"])
@pytest.mark.parametrize("what", ["accounts_person", "accounts_member", "accounts_agent", "accounts_team"])
def test_b39_who_is_named_is_not_deleted_past_the_models(then: Then, what: str, how: str) -> None:
    """With foreign keys of the database, not only Django's."""
    rows = {
        "accounts_person": (Person, then.cast.bob.person_id),
        "accounts_member": (Member, then.cast.bob.pk),
        "accounts_agent": (Agent, then.event.agent_id),
        "accounts_team": (type(then.cast.support), then.cast.support.pk),
    }
    model, pk = rows[what]
    before = Event.objects.count()
    refused = (IntegrityError, models.ProtectedError, models.RestrictedError)
    with pytest.raises(refused), transaction.atomic():
        if how == "raw":
            id_ = pk if connection.vendor == "postgresql" else pk.hex
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {what} WHERE id = %s", [id_])  # noqa: S608  a name of our own
            connection.check_constraints()
        elif how == "cascade":
            model.objects.get(pk=pk).delete()
        else:
            model.objects.filter(pk=pk)._raw_delete("default")
            connection.check_constraints()
    assert Event.objects.count() == before
    assert model.objects.filter(pk=pk).exists()
