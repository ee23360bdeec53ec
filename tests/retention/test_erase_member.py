"""Erasing who a former member was: the name is nowhere, the chain holds, and the database lets nothing else pass."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, models, transaction

from reviewhub.accounts.models import Member, Role
from reviewhub.accounts.new_password import BelongsElsewhere
from reviewhub.audit import kinds, seal
from reviewhub.audit.kinds import AuditRead
from reviewhub.audit.models import Event, EventPayload
from reviewhub.audit.record import record
from reviewhub.audit.verify import verify
from reviewhub.checkpoints.models import Hold, Pin
from reviewhub.core.clock import now
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.insights.models import Backtest
from reviewhub.policies.models import PolicyDraft
from reviewhub.retention.erase import StillOpen
from reviewhub.retention.erase import erase as erase_runs
from reviewhub.retention.erase_member import BY_NAME, NAMED, _take_away, erase_member, invented
from reviewhub.retention.mentions import KEPT as KEPT_KINDS
from reviewhub.retention.mentions import WRITTEN
from reviewhub.retention.person_data import export_member, export_subject
from reviewhub.reviews.disable_member import disable_member
from reviewhub.reviews.models import FollowUp, Review, ReviewRequest
from reviewhub.runs.models import Halt, RetentionRule, Run
from reviewhub.toolcalls.models import CallVersion, Decision
from reviewhub.verdicts.models import Verdict
from tests.cast import ALICE, Cast, member
from tests.driver import PersonHttp, agent_of, call, observed, policy
from tests.web.make import standing_approval

pytestmark = pytest.mark.django_db
NAME, ADDRESS = "Bobadil Ochoa", "bob@example.com"


@pytest.fixture
def gone(cast: Cast, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Member:
    """Bob edited and commented, Dave took over what he had claimed, and Bob has left."""
    settings.AUDIT_KEYS = tmp_path
    monkeypatch.setattr(seal, "horizon", lambda: None)
    cast.bob.person.name = NAME
    cast.bob.person.save()
    agent, bob = agent_of(cast.support), PersonHttp(cast.bob)
    policy(cast.support, {"name": "All", "tool": "*", "action": "require"})
    run = agent.run(on_behalf_of="ann@example.org", input={"api_key": "s3cret-s3cret"})
    (waiting,) = agent.pause(run["id"], call()).ok(201)["tool_calls"]
    request = f"/requests/{waiting['request']['id']}"
    bob.post(f"{request}/comment", {"text": "Looks large."}).ok()
    bob.post(f"{request}/claim", {}).ok()
    change = {"op": "set", "path": "/amount", "value": "7.50"}
    bob.decide(waiting, "edit", changes=[change], message="Less.").ok()
    disable_member(member=cast.bob, actor=ALICE)
    return Member.objects.select_related("person").get(pk=cast.bob.pk)


def told(cast: Cast) -> str:
    """Every text of every table of ours."""
    found = []
    for model in apps.get_models():
        names = [
            one.name for one in model._meta.fields if isinstance(one, models.CharField | models.TextField)
        ]
        found += [str(row) for row in model._default_manager.values_list(*names)] if names else []
    return "\n".join(found)


def test_the_name_is_nowhere_and_the_chain_holds(cast: Cast, gone: Member) -> None:
    seal.seal_all()
    assert NAME in told(cast) and ADDRESS in told(cast)
    assert erase_member(member=gone, reason="Art. 17", actor=ALICE) > 5
    assert NAME not in told(cast) and ADDRESS not in told(cast)
    assert Decision.objects.get().by_name == Review.objects.get().name == invented(gone)
    assert Decision.objects.get().message == "Less."
    seal.seal_all()
    found = verify(cast.workspace.pk)
    assert found.broken is None and found.erased > 5
    assert erase_member(member=gone, reason="Art. 17", actor=ALICE) == 0
    assert Event.objects.filter(kind="member.erased").count() == 1


def test_it_is_refused_while_they_may_act_under_hold_or_elsewhere(cast: Cast, gone: Member) -> None:
    with pytest.raises(Invalid):
        erase_member(member=gone, reason=" ", actor=ALICE)
    with pytest.raises(StillOpen, match="disable them first"):
        erase_member(member=cast.dave, reason="x", actor=ALICE)
    hold = Hold.objects.create(run=Run.objects.get(), reason="a lawsuit", by_name="Carol")
    with pytest.raises(StillOpen, match="under hold"):
        erase_member(member=gone, reason="x", actor=ALICE)
    hold.delete()
    Member.objects.create(workspace=cast.other, person=gone.person, role="reviewer")
    with pytest.raises(BelongsElsewhere):
        erase_member(member=gone, reason="x", actor=ALICE)
    assert not Event.objects.filter(kind__in=("member.erased", "audit.erased")).exists()


@pytest.mark.parametrize(
    ("rows", "fields"),
    [
        (Decision, {"by_name": "Erased person 00000000", "type": "reject"}),
        (Decision, {"by_name": "Mallory"}),
        (Review, {"name": "Erased person 00000000", "verdict": "reject"}),
        (CallVersion, {"author_name": "Erased person 00000000", "arguments": "{}"}),
    ],
)
def test_the_database_lets_nothing_pass_but_the_name(
    cast: Cast, gone: Member, rows: Any, fields: dict[str, str]
) -> None:
    name = next(iter(fields))
    whose = {"by_name": {"by_id": gone.pk}, "name": {"member": gone}, "author_name": {"author_id": gone.pk}}[
        name
    ]
    mine = rows.objects.filter(**whose)
    with pytest.raises(IntegrityError), transaction.atomic():  # nobody was erased yet
        mine.update(**{name: "Erased person 00000000"})
    erase_member(member=gone, reason="Art. 17", actor=ALICE)
    with pytest.raises(IntegrityError), transaction.atomic():
        mine.update(**fields)


def test_every_name_that_stands_beside_a_members_id_is_taken() -> None:
    """A table that is new: put it into NAMED, or say here why its name is none of theirs."""
    others = {("accounts.SavedView", "name"), ("accounts.Agent", "name"), ("accounts.AgentKey", "name")}
    known = {(model._meta.label, called) for model, _, called in NAMED}
    for model in apps.get_models():
        fields = model._meta.fields
        if any(isinstance(one, models.ForeignKey) and one.related_model is Member for one in fields):
            names = {one.name for one in fields} & {"name", "member_name", "owner_name", "by_name"}
            assert {(model._meta.label, name) for name in names} <= known | others


KEPT = {
    "policies.PolicyVersion.author_name",
    "plans.PlanVersion.author_name",
    "checkpoints.Checkpoint.author_name",
    "checkpoints.Removal.by_name",
    "reviews.Review.in_place_of",
}
"""What docs/retention.md says about: the database lets nothing of these rows change."""
OTHERWISE = {
    "accounts.Person.name": "the account itself",
    "audit.EventPayload.actor_name": "erased with the entry's words",
    "reviews.ReviewRequest.decided_by_name": "found by the decision",
    "reviews.ReviewRequest.edited_by_name": "found by the version",
    "toolcalls.Decision.by_name": "found by its id",
    "toolcalls.CallVersion.author_name": "found by its id",
    "reviews.FollowUp.to_names": "several names in one text",
    "checkpoints.Hold.by_name": "a hold refuses the erasure",
}
"""Columns with a name that is taken in another way, or is nobody's."""
OF_THINGS = re.compile(
    r"(agent|tool|schema)_name$|^(accounts\.(Workspace|Team|SavedView|Agent|AgentKey)|runs\.Branch|tools\.Tool|checkpoints\."
    r"(StateSchema|StoreState)|policies\.KnownTool|verdicts\.Verdict|reviews\.RejectReason)\.name$"
)


def test_every_column_with_a_name_is_erased_or_said_to_stay() -> None:
    """A new one: put it into NAMED (with an id) or BY_NAME (without), or say in docs/retention.md why it stays."""
    found = {
        f"{model._meta.label}.{one.name}"
        for model in apps.get_models()
        if model.__module__.startswith("reviewhub.")
        for one in model._meta.concrete_fields
        if isinstance(one, models.CharField | models.TextField)
        and re.search(r"names?$|in_place_of$", one.name)
    }
    taken = {f"{model._meta.label}.{called}" for model, called in [(m, c) for m, _, c in NAMED]}
    taken |= {f"{model._meta.label}.{called}" for model, called, _ in BY_NAME}
    assert {one for one in found if not OF_THINGS.search(one)} == taken | KEPT | set(OTHERWISE)


def test_a_name_without_an_id_goes_unless_somebody_else_has_it(cast: Cast, gone: Member) -> None:
    run = Run.objects.get()
    branch, where = run.branches.get(), {"workspace": cast.workspace}
    Halt.objects.create(**where, branch=branch, kind="person", reason="x", by_name=NAME, began_at=now())
    RetentionRule.objects.create(**where, max_age_days=9, author_name=NAME)
    Pin.objects.create(run=run, checkpoint=run.checkpoints.first(), reason="x", by_name=NAME)
    draft = PolicyDraft.objects.create(**where, base=0, rules="{}", author_name=NAME)
    Backtest.objects.create(
        **where,
        draft=draft,
        number=0,
        days=1,
        since=now(),
        until=now(),
        by_name=NAME,
        total=0,
        figures="{}",
    )
    row = ReviewRequest.objects.get()
    standing_approval(row, cast.dave, revoked_by_name=NAME, revoked_at=now())
    Verdict.objects.create(
        **where,
        run=run,
        branch=branch,
        name="Plan",
        source="person",
        judges="plan",
        status="failed",
        ended_at=now(),
        by_name=NAME,
    )
    agent, dave = agent_of(cast.support, name="Other"), PersonHttp(cast.dave)
    cast.dave.teams.add(cast.support)
    flagged = observed(agent, agent.run()["id"])
    dave.post(f"/observations/{flagged}/grade", {"verdict": "flagged", "severity": "low"}).ok()
    dave.post(f"/observations/{flagged}/follow-up", {"kind": "notify"}).ok()
    FollowUp.objects.update(to_names=f"Dave, {NAME}, {NAME}son", done_by_name=NAME)
    _take_away(cast.workspace.pk, "Somebody", "x")
    assert {getattr(model._default_manager.get(), called) for model, called, _ in BY_NAME} == {NAME}
    erase_member(member=gone, reason="Art. 17", actor=ALICE)
    assert {getattr(model._default_manager.get(), called) for model, called, _ in BY_NAME} == {invented(gone)}
    assert FollowUp.objects.get().to_names == f"Dave, {invented(gone)}, {NAME}son"


def test_a_name_that_somebody_else_has_stays_where_it_has_no_id(cast: Cast, gone: Member) -> None:
    RetentionRule.objects.create(workspace=cast.workspace, max_age_days=9, author_name=NAME)
    cast.dave.person.name = NAME
    cast.dave.person.save()
    erase_member(member=gone, reason="Art. 17", actor=ALICE)
    assert RetentionRule.objects.get().author_name == NAME


FULL = "Zoe van Rijn"
TOLD = f"told Alice, {FULL}, Dave after it"


CHOSEN = {"follow_up": "notify", "type": "approve", "verdict": "approve"}
"""Facts that are one of a few words, by which the sentence is made."""


def filled(model: Any, said: str, only: str) -> Any:
    """A payload with the text in one fact, if it is a text, a list or a table of texts."""
    facts = {}
    for name, fact in model.model_fields.items():
        named = CHOSEN.get(name) or (said if name == only else "-")
        kind = str(fact.annotation)
        texts = {"list[str]": [named], "dict[str, str]": {named: named}, "list[int]": [1], "bool": False}
        plain = named if "str" in kind and "[" not in kind else 1
        facts[name] = next((value for of, value in texts.items() if of in kind), plain)
    return model(**facts)


@pytest.fixture
def zoe(cast: Cast, settings: Any, tmp_path: Any) -> Member:
    """A former member whose name stands in entries of others only."""
    settings.AUDIT_KEYS = tmp_path
    made = member("zoe", workspace=cast.workspace, role=Role.REVIEWER)
    made.person.name = FULL
    made.person.save()
    Member.objects.filter(pk=made.pk).update(is_active=False)
    return Member.objects.select_related("person").get(pk=made.pk)


def test_no_fact_of_any_kind_names_an_erased_person_but_what_was_written_about_a_run(
    cast: Cast, zoe: Member
) -> None:
    """A new kind: its facts go, unless they are said in `mentions.WRITTEN` (and docs/retention.md) to stay."""
    run = uuid.uuid4()
    made: dict[tuple[str, str, bool], int] = {}
    with transaction.atomic():
        for name in kinds.names():
            model = kinds.find(name).model
            for fact in model.model_fields:
                for in_run in (False, True):
                    about = {"run_id": run} if in_run else {}
                    data = filled(model, TOLD, only=fact)
                    event = record(name, workspace_id=cast.workspace.pk, actor=ALICE, data=data, **about)
                    made[name, fact, in_run] = event.id
    erase_member(member=zoe, reason="Art. 17", actor=ALICE)
    said = EventPayload.objects.filter(body__contains=FULL) | EventPayload.objects.filter(
        sentence__contains=FULL
    )
    left = set(said.values_list("pk", flat=True))
    stays = {key for key, pk in made.items() if pk in left}
    assert {key for key in stays if key[0] not in KEPT_KINDS and not key[2]} == set(), (
        "outside of a run nothing"
    )
    assert {fact for kind, fact, in_run in stays if in_run and kind not in KEPT_KINDS} <= WRITTEN


def test_who_looked_for_a_part_of_the_name_is_not_told_any_more(cast: Cast, zoe: Member) -> None:
    """Of names that others share a part, only the rest counts; what only looks alike stays."""
    cast.dave.person.name = "Dave van Dam"
    cast.dave.person.save()
    found = {}
    with transaction.atomic():
        for what in ("q zoe", "q Rijn refund", "q van", "q Zoetermeer", "who zoe@example.com"):
            data = AuditRead(what=what, door="page")
            found[what] = record("audit.read", workspace_id=cast.workspace.pk, actor=ALICE, data=data).id
    erase_member(member=zoe, reason="Art. 17", actor=ALICE)
    left = EventPayload.objects.filter(pk__in=found.values(), erased_at__isnull=True)
    assert {what for what, pk in found.items() if left.filter(pk=pk).exists()} == {"q van", "q Zoetermeer"}


def test_erasing_the_runs_of_somebody_takes_who_looked_for_them(cast: Cast, gone: Member) -> None:
    agent = agent_of(cast.support, "Other agent")
    ended = agent.run(on_behalf_of="zoe@example.org")
    agent.post(f"/branches/{Run.objects.get(pk=ended['id']).branches.get().pk}/finish", {}).ok()
    with transaction.atomic():
        list(
            export_subject(workspace_id=cast.workspace.pk, on_behalf_of="zoe@example.org", actor=ALICE).lines
        )
        data = AuditRead(what="q zoe@example.org", door="page")
        record("audit.read", workspace_id=cast.workspace.pk, actor=ALICE, data=data)
    erase_runs(workspace_id=cast.workspace.pk, on_behalf_of="zoe@example.org", reason="Art. 17", actor=ALICE)
    assert not EventPayload.objects.filter(body__contains="zoe@example.org").exists()


def lines(made: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in made.lines]


def test_what_is_kept_about_a_member(cast: Cast, gone: Member) -> None:
    found = lines(export_member(member=gone, actor=ALICE))
    assert {one["about"] for one in found} >= {
        "account",
        "membership",
        "vote",
        "decision",
        "comment",
        "edit",
        "event",
    }
    kinds = {one["kind"] for one in found if one["about"] == "event"}
    assert {"request.decided", "request.commented", "member.disabled"} <= kinds
    assert "run.started" not in kinds
    assert Event.objects.get(kind="person.exported").payload.sentence.endswith(f"what is kept about {NAME}")


def test_what_the_runs_of_somebody_hold_without_secrets(cast: Cast, gone: Member) -> None:
    given = {"workspace_id": cast.workspace.pk, "actor": ALICE}
    found = lines(export_subject(on_behalf_of="ann@example.org", **given))
    assert {one["about"] for one in found} == {"run", "tool call", "request", "event"}
    assert [one["arguments"]["amount"] for one in found if one["about"] == "tool call"] == ["10.00", "7.50"]
    assert "s3cret" not in json.dumps(found)
    for refused in ("", "nobody"):
        with pytest.raises((Invalid, NotFound)):
            export_subject(on_behalf_of=refused, **given)
