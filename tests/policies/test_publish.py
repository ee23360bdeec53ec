"""Publishing policies."""

from __future__ import annotations

import json

import pytest

from reviewhub.audit.models import Event
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Invalid, NotFound
from reviewhub.policies import queries
from reviewhub.policies.defaults import first_policy
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import Changed, publish
from reviewhub.policies.reading import parse_policy
from tests.cast import ALICE, Cast
from tests.policies.conftest import Publish
from tests.racing import together


def test_a_publication_is_numbered_in_force_and_on_record(cast: Cast) -> None:
    version = publish(
        workspace=cast.workspace, rules_text=first_policy(), note="to begin", base=0, actor=ALICE
    )
    assert (version.number, version.author_name) == (1, "Alice")
    assert queries.current(cast.workspace.id) == version
    event = Event.objects.get(kind="policy.published")
    assert event.payload.sentence == "Alice published policy v1: to begin"
    assert queries.current(cast.other.id) is None


def test_rules_are_kept_in_canonical_text(cast: Cast) -> None:
    text = '{ "rules": [ {"tool":"*", "name":"All", "action":"require"} ] }'
    version = publish(workspace=cast.workspace, rules_text=text, note="why", base=0, actor=ALICE)
    assert version.rules == '{"rules":[{"action":"require","name":"All","tool":"*"}]}'
    assert parse_policy(version.rules) == parse_policy(text)


def test_who_started_from_an_older_version_is_told_who_was_faster(cast: Cast, put_in_force: Publish) -> None:
    put_in_force()
    for base in (0, 2):
        with pytest.raises(Changed) as refused:
            publish(workspace=cast.workspace, rules_text='{"rules":[]}', note="why", base=base, actor=ALICE)
        assert (refused.value.code, refused.value.extra["number"], refused.value.extra["by"]) == (
            "changed",
            1,
            "Alice",
        )
    assert PolicyVersion.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[]", ""),
        ("{", ""),
        ('{"rules":[{"name":"a","tool":"*","action":"permit"}]}', "/rules/0/action"),
        ('{"rules":[{"name":"a","tool":"*","action":"allow","approvals":2}]}', "/rules/0/approvals"),
        ('{"rules":[],"rules":[]}', "/rules"),
        ('{"rules":[],"extra":1}', "/extra"),
        ('{"rules":[{"name":"a","tool":"*","action":"require","team":"Marketing"}]}', "/rules/0/team"),
    ],
)
def test_what_is_no_policy_is_refused_by_path(cast: Cast, text: str, path: str) -> None:
    with pytest.raises(Invalid) as refused:
        publish(workspace=cast.workspace, rules_text=text, note="why", base=0, actor=ALICE)
    assert refused.value.errors[0]["path"] == path
    assert not PolicyVersion.objects.exists()


def test_a_team_of_another_workspace_is_no_team(cast: Cast) -> None:
    rule = {"name": "a", "tool": "*", "action": "require", "team": "Finance"}
    with pytest.raises(Invalid):
        publish(
            workspace=cast.other, rules_text=json.dumps({"rules": [rule]}), note="why", base=0, actor=SYSTEM
        )


def test_a_note_has_a_limit(cast: Cast) -> None:
    with pytest.raises(Invalid, match="401 characters; the limit is 400"):
        publish(workspace=cast.workspace, rules_text='{"rules":[]}', note="n" * 401, base=0, actor=ALICE)


def test_history_is_paged_newest_first(cast: Cast, put_in_force: Publish) -> None:
    for _ in range(5):
        put_in_force()
    first = queries.history(cast.workspace.id, limit=3)
    second = queries.history(cast.workspace.id, cursor=first.next, limit=3)
    assert [row.number for row in first.rows + second.rows] == [5, 4, 3, 2, 1]
    assert second.next == ""
    assert queries.version(cast.workspace.id, 2).number == 2
    with pytest.raises(NotFound):
        queries.version(cast.other.id, 2)
    with pytest.raises(Invalid):
        queries.history(cast.workspace.id, cursor="WyJ4Il0")


@pytest.mark.django_db(transaction=True)
def test_of_two_publications_at_once_one_wins(cast: Cast) -> None:
    for base in range(10):
        results = together(
            *[
                lambda base=base: publish(
                    workspace=cast.workspace, rules_text='{"rules":[]}', note="why", base=base, actor=ALICE
                )
            ]
            * 3
        )
        assert sum(isinstance(result, PolicyVersion) for result in results) == 1
        assert sum(isinstance(result, Changed) for result in results) == 2
    assert Event.objects.filter(kind="policy.published").count() == 10
