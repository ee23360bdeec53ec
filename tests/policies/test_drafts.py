"""Drafts: kept, replaced, published, given up; and older versions that come back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reviewhub.accounts.models import Agent
from reviewhub.audit.models import Event
from reviewhub.core.errors import IllegalTransition, Invalid
from reviewhub.policies.compare import change_of
from reviewhub.policies.discard_draft import discard_draft
from reviewhub.policies.drafts import DraftBehind, DraftChanged, open_draft
from reviewhub.policies.known_tools import known_to
from reviewhub.policies.models import PolicyDraft, PolicyVersion
from reviewhub.policies.publish import Changed
from reviewhub.policies.publish_draft import publish_draft
from reviewhub.policies.roll_back import roll_back
from reviewhub.policies.rules import Answer, Requirement
from reviewhub.policies.save_draft import save_draft
from reviewhub.policies.set_shadow import set_shadow
from tests.cast import ALICE, Cast
from tests.policies.conftest import Publish
from tests.racing import together

ALL = {"name": "All", "tool": "*", "action": "require"}
READS = {"name": "Reads", "tool": "*.get", "action": "allow"}


def save(cast: Cast, *rules: dict[str, Any], replaces: Any = None) -> PolicyDraft:
    return save_draft(
        workspace=cast.workspace,
        rules_text=json.dumps({"rules": rules}),
        note="",
        replaces=replaces,
        actor=ALICE,
    )


def answer(action: Any, team: str = "Support", approvals: int = 1, silence: Any = "deny") -> Answer:
    needed = Requirement(team=team, approvals=approvals, on_timeout=silence) if action == "require" else None
    return Answer(action=action, text="", requirement=needed)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (answer("allow"), answer("allow"), None),
        (answer("allow"), answer("observe"), None),
        (answer("allow"), answer("require"), "held"),
        (answer("allow"), answer("deny"), "denied"),
        (answer("observe"), answer("require"), "held"),
        (answer("require"), answer("require"), None),
        (answer("require"), answer("require", "Finance"), "rerouted"),
        (answer("require"), answer("require", approvals=2), "rerouted"),
        (answer("require"), answer("require", silence="allow"), "rerouted"),
        (answer("require", silence="allow"), answer("require"), "rerouted"),
        (answer("require", silence="allow"), answer("require", silence="allow"), None),
        (answer("require"), answer("observe"), "freed"),
        (answer("require"), answer("deny"), "denied"),
        (answer("deny"), answer("deny"), None),
        (answer("deny"), answer("require"), "held"),
        (answer("deny"), answer("allow"), "freed"),
    ],
)
def test_what_another_policy_changes(before: Answer, after: Answer, change: str | None) -> None:
    assert change_of(before, after) == change


def test_a_draft_is_replaced_shadowed_and_published_once(cast: Cast, put_in_force: Publish) -> None:
    put_in_force(ALL)
    first = save(cast, READS)
    with pytest.raises(DraftChanged):
        save(cast, ALL)
    second = save(cast, READS, ALL, replaces=first.pk)
    ids = {"workspace_id": cast.workspace.pk, "actor": ALICE}
    for stale in (first.pk, cast.workspace.pk):
        with pytest.raises(DraftChanged):
            set_shadow(draft_id=stale, on=True, **ids)
    set_shadow(draft_id=second.pk, on=True, **ids)
    with pytest.raises(IllegalTransition):
        set_shadow(draft_id=second.pk, on=True, **ids)
    put_in_force(ALL)
    with pytest.raises(Changed):
        publish_draft(draft_id=second.pk, note="why", base=1, **ids)
    with pytest.raises(Invalid):
        publish_draft(draft_id=second.pk, note=" ", base=2, on_top=True, **ids)
    assert open_draft(cast.workspace.pk) == second, "a refused publication leaves the draft as it was"
    with pytest.raises(DraftBehind, match="published v2 after the draft was made from v1"):
        publish_draft(draft_id=second.pk, note="why", base=2, **ids)
    assert open_draft(cast.workspace.pk) == second
    made = publish_draft(draft_id=second.pk, note="why", base=2, on_top=True, **ids)
    second.refresh_from_db()
    assert (made.number, made.rules) == (3, second.rules)
    assert (second.state, second.published_as) == ("published", 3)
    with pytest.raises(DraftChanged):
        discard_draft(draft_id=second.pk, **ids)
    discard_draft(draft_id=save(cast, ALL).pk, **ids)
    assert open_draft(cast.workspace.pk) is None
    told = Event.objects.exclude(kind="policy.published").filter(kind__startswith="policy.").order_by("id")
    assert [event.kind.removeprefix("policy.") for event in told] == [
        "draft_saved", "draft_saved", "shadow_started", "draft_saved", "draft_discarded",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({**ALL, "team": "Marketing"}, "/rules/0/team"),
        ({**ALL, "approvals": 0}, "/rules/0/approvals"),
        ({**ALL, "expression": "args.a >"}, "/rules/0/expression"),
    ],
)
def test_a_draft_that_could_not_be_published_is_not_kept(cast: Cast, rule: Any, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        save(cast, rule)
    assert refused.value.errors[0]["path"] == path
    assert not PolicyDraft.objects.exists()


def test_an_older_version_comes_back_as_a_new_one(cast: Cast, agent: Agent, put_in_force: Publish) -> None:
    put_in_force(READS)
    put_in_force(ALL)
    given = {"workspace": cast.workspace, "actor": ALICE}
    with pytest.raises(Invalid):
        roll_back(number=2, note="why", base=2, **given)
    with pytest.raises(Invalid):
        roll_back(number=1, note="", base=2, **given)
    with pytest.raises(Changed):
        roll_back(number=1, note="why", base=1 + 2, **given)
    made = roll_back(number=1, note="v2 held too much", base=2, **given)
    older = PolicyVersion.objects.get(number=1)
    assert (made.number, made.restores, made.rules) == (3, 1, older.rules)
    assert {name for _, name, _ in known_to(made.pk)} == {"orders.get"}
    event = Event.objects.filter(kind="policy.published").latest("id")
    assert '"restores":1' in event.payload.body
    assert event.payload.sentence == "Alice published policy v3: v2 held too much"


@pytest.mark.django_db(transaction=True)
def test_of_two_drafts_at_once_one_is_kept(cast: Cast) -> None:
    results = together(*[lambda: save(cast, ALL)] * 3)
    assert sorted(type(result).__name__ for result in results) == ["DraftChanged"] * 2 + ["PolicyDraft"]
