"""B39: who did something stays readable, whatever becomes of them; nothing that goes takes the record along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import models, transaction
from django.test import Client

from reviewhub.accounts.models import Agent, Person
from reviewhub.audit.models import Event
from reviewhub.reviews.disable_member import disable_member
from tests.cast import ALICE, Cast
from tests.driver import AgentHttp, PersonHttp, call, policy

RULE = {"name": "All", "tool": "*", "action": "require"}


@pytest.fixture
def approved(cast: Cast, agent: AgentHttp) -> Event:
    """Bob approved a call, was renamed, and left; his team and the rule have other names."""
    policy(cast.support, RULE)
    (waiting,) = agent.pause(agent.run()["id"], call()).ok(201)["tool_calls"]
    PersonHttp(cast.bob).decide(waiting, "approve").ok()
    Person.objects.filter(pk=cast.bob.person_id).update(name="Robert")
    type(cast.support).objects.filter(pk=cast.support.pk).update(name="Care", folded="care")
    policy(cast.support, {**RULE, "name": "Nothing like it"})
    cast.bob.refresh_from_db()
    disable_member(member=cast.bob, actor=ALICE)
    return Event.objects.get(kind="request.decided")


def test_b39_the_record_says_who_it_was_then(cast: Cast, approved: Event) -> None:
    carol = Client()
    carol.force_login(cast.carol.person)
    listed = carol.get(f"/northwind/audit?who={cast.bob.pk}&kind=request.decided").content.decode()
    table = b"".join(
        carol.get(f"/northwind/audit/export?as=csv&who={cast.bob.pk}").streaming_content
    ).decode()
    for told in (listed, table, approved.payload.body):
        assert "Bob" in told and str(cast.bob.pk) in told
    assert "Bob approved" in approved.payload.sentence
    assert "Robert" not in approved.payload.body + table.split("member.disabled")[0]


@pytest.mark.parametrize("what", ["person", "member", "team", "agent", "workspace"])
def test_b39_what_the_record_names_is_not_removed(cast: Cast, approved: Event, what: str) -> None:
    rows: dict[str, Callable[[], Any]] = {
        "person": lambda: cast.bob.person,
        "member": lambda: cast.bob,
        "team": lambda: cast.support,
        "agent": lambda: Agent.objects.get(),
        "workspace": lambda: cast.workspace,
    }
    before = Event.objects.count()
    with pytest.raises((models.ProtectedError, models.RestrictedError)), transaction.atomic():
        rows[what]().delete()
    assert Event.objects.count() == before


def test_b39_no_foreign_key_leads_out_of_the_record_or_takes_some_of_it_along() -> None:
    inside = {f"audit.{name}" for name in ("event", "eventpayload", "position", "seal", "sealkey")}
    for model in apps.get_models():
        for field in model._meta.get_fields():
            target = getattr(field, "related_model", None)
            if not isinstance(field, models.ForeignKey) or target is None:
                continue
            if model._meta.label_lower in inside:
                assert target._meta.label_lower in inside, f"{field} can vanish under the record"
            if target._meta.label_lower in inside:
                assert field.remote_field.on_delete in (models.PROTECT, models.DO_NOTHING), field
