"""People come, change, go and come back; every step is on record, and a workspace keeps an admin."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from reviewhub.accounts.admins import LastAdmin, lock_member
from reviewhub.accounts.change_role import change_role
from reviewhub.accounts.disable import disable
from reviewhub.accounts.enable import enable
from reviewhub.accounts.invite import AlreadyMember, invite
from reviewhub.accounts.models import Member, Person, Role
from reviewhub.accounts.new_password import BelongsElsewhere, new_password
from reviewhub.accounts.permissions import Action, Target, allowed
from reviewhub.accounts.rules import clean_name, one_time_password
from reviewhub.accounts.set_teams import set_teams
from reviewhub.audit.models import Event
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import Invalid, ReviewHubError
from reviewhub.live.visitor import visitor
from tests.cast import ALICE, PASSWORD, Cast, caller, make_cast, member


def said() -> list[str]:
    """The sentences on record, the oldest first."""
    return [event.payload.sentence for event in Event.objects.select_related("payload").order_by("id")]


@pytest.mark.django_db
class TestInvite:
    def test_a_new_person_gets_a_password_to_change(self, cast: Cast) -> None:
        made = invite(
            workspace=cast.workspace,
            email=" Erin@Example.com ",
            name=" Erin ",
            role="reviewer",
            teams=[cast.support],
            actor=ALICE,
        )
        person = made.member.person
        assert (person.email, person.name, person.must_change_password) == ("erin@example.com", "Erin", True)
        assert person.check_password(made.password)
        assert list(made.member.teams.all()) == [cast.support]
        assert said() == ["Alice invited Erin as reviewer"]
        assert made.password not in repr(made)
        assert not any(made.password in event.payload.body for event in Event.objects.all())

    def test_somebody_known_keeps_name_and_password(self, cast: Cast) -> None:
        made = invite(
            workspace=cast.workspace, email="MALLORY@example.com", name="Other", role="reviewer", actor=ALICE
        )
        assert (made.password, made.member.person.name) == ("", "Mallory")
        assert made.member.person.check_password(PASSWORD)
        assert not made.member.person.must_change_password

    def test_twice_is_refused_also_when_disabled(self, cast: Cast) -> None:
        disable(member=cast.bob, actor=ALICE)
        with pytest.raises(AlreadyMember):
            invite(workspace=cast.workspace, email="bob@example.com", name="Bob", role="admin", actor=ALICE)
        cast.bob.refresh_from_db()
        assert (cast.bob.role, cast.bob.is_active) == ("reviewer", False)

    @pytest.mark.parametrize(
        ("field", "value", "path"),
        [
            ("email", "", "/email"),
            ("email", "nobody", "/email"),
            ("email", "a@b.example\n", None),
            ("email", "a\x00@b.example", "/email"),
            ("email", "a" * 250 + "@b.example", "/email"),
            ("name", " ", "/name"),
            ("name", "a" * 121, "/name"),
            ("name", "Er\u202ein", "/name"),
            ("name", "Er\u200bin", "/name"),
            ("name", "Er\x00in", "/name"),
            ("name", "Er\ud800in", "/name"),
            ("role", "owner", "/role"),
            ("role", "", "/role"),
        ],
    )
    def test_what_cannot_be_taken_is_named_and_leaves_nothing(
        self, cast: Cast, field: str, value: str, path: str | None
    ) -> None:
        people = Person.objects.count()
        given: dict[str, Any] = {"email": "erin@example.com", "name": "Erin", "role": "reviewer"} | {
            field: value
        }
        if path is None:
            invite(workspace=cast.workspace, actor=ALICE, **given)
            return
        with pytest.raises(Invalid) as raised:
            invite(workspace=cast.workspace, actor=ALICE, **given)
        assert raised.value.errors[0]["path"] == path
        assert Person.objects.count() == people
        assert said() == []

    def test_a_team_of_another_workspace_is_not_there(self, cast: Cast) -> None:
        elsewhere = cast.mallory.teams.get()
        with pytest.raises(Invalid):
            invite(
                workspace=cast.workspace,
                email="erin@example.com",
                name="Erin",
                role="reviewer",
                teams=[elsewhere],
                actor=ALICE,
            )
        with pytest.raises(Invalid):
            set_teams(member=cast.bob, teams=[elsewhere], actor=ALICE)
        assert list(cast.bob.teams.all()) == [cast.support]


@pytest.mark.django_db
class TestChanges:
    def test_role_and_teams(self, cast: Cast) -> None:
        assert change_role(member=cast.bob, role="manager", actor=ALICE).role == "manager"
        set_teams(member=cast.bob, teams=[cast.support, cast.finance], actor=ALICE)
        set_teams(member=cast.bob, teams=[], actor=ALICE)
        assert said() == [
            "Alice made Bob manager in Support",
            "Alice made Bob manager in Finance, Support",
            "Alice made Bob manager in no team",
        ]

    def test_no_change_is_no_event(self, cast: Cast) -> None:
        change_role(member=cast.bob, role="reviewer", actor=ALICE)
        set_teams(member=cast.bob, teams=[cast.support], actor=ALICE)
        enable(member=cast.bob, actor=ALICE)
        assert said() == []

    def test_an_unknown_role_is_refused(self, cast: Cast) -> None:
        with pytest.raises(Invalid):
            change_role(member=cast.bob, role="Admin", actor=ALICE)

    def test_it_counts_at_the_next_look(self, cast: Cast) -> None:
        target = Target(workspace_id=cast.workspace.pk, team_ids=frozenset({cast.finance.pk}))
        assert not allowed(caller(cast.bob), Action.REQUEST_DECIDE, target)
        set_teams(member=cast.bob, teams=[cast.finance], actor=ALICE)
        assert allowed(caller(cast.bob), Action.REQUEST_DECIDE, target)
        change_role(member=cast.bob, role="manager", actor=ALICE)
        assert not allowed(caller(cast.bob), Action.REQUEST_DECIDE, target)


@pytest.mark.django_db
class TestDisable:
    def test_it_ends_what_sessions_may_do_here_for_good_and_nothing_elsewhere(self, cast: Cast) -> None:
        elsewhere = Member.objects.create(workspace=cast.other, person=cast.bob.person, role=Role.REVIEWER)
        client = Client()
        shown = {"email": "bob@example.com", "password": PASSWORD}
        client.post("/signin", shown)
        before = caller(cast.bob)

        def reach() -> list[int]:
            pages = [f"/{slug}/queue" for slug in ("northwind", "contoso")]
            lists = [f"/api/v1/requests?workspace={slug}" for slug in ("northwind", "contoso")]
            return [client.get(path).status_code for path in (*pages, *lists)]

        assert reach() == [200, 200, 200, 200]
        disable(member=cast.bob, actor=ALICE)
        assert reach() == [302, 200, 404, 200]
        enable(member=cast.bob, actor=ALICE)
        assert reach() == [302, 200, 404, 200]
        scope = {"user": cast.bob.person, "session": client.session}
        assert (visitor(scope, "northwind"), visitor(scope, "contoso")) == (None, caller(elsewhere))
        client.post("/signin", shown)
        assert reach() == [200, 200, 200, 200]
        assert before.member.is_active, "a caller is a look at one moment"
        told = [one for one in said() if one.startswith("Alice")]
        assert told == ["Alice disabled Bob", "Alice enabled Bob again"]

    def test_who_is_disabled_may_nothing(self, cast: Cast) -> None:
        disable(member=cast.bob, actor=ALICE)
        disable(member=cast.bob, actor=ALICE)
        assert not allowed(caller(cast.bob), Action.QUEUE_READ, Target(workspace_id=cast.workspace.pk))
        assert said() == ["Alice disabled Bob"]

    def test_the_last_admin_stays(self, cast: Cast) -> None:
        erin = member("erin", workspace=cast.workspace, role=Role.ADMIN)
        disable(member=erin, actor=ALICE)
        for verb in (
            lambda: disable(member=cast.alice, actor=ALICE),
            lambda: change_role(member=cast.alice, role="manager", actor=ALICE),
        ):
            with pytest.raises(LastAdmin):
                verb()
        cast.alice.refresh_from_db()
        assert (cast.alice.is_active, cast.alice.role) == (True, "admin")
        enable(member=erin, actor=ALICE)
        change_role(member=cast.alice, role="manager", actor=ALICE)

    def test_an_admin_who_cannot_sign_in_does_not_count(self, cast: Cast) -> None:
        erin = member("erin", workspace=cast.workspace, role=Role.ADMIN)
        Person.objects.filter(pk=erin.person_id).update(is_active=False)
        with pytest.raises(LastAdmin):
            disable(member=cast.alice, actor=ALICE)


@pytest.mark.django_db
class TestNewPassword:
    def test_it_must_be_changed_and_ends_sessions(self, cast: Cast) -> None:
        before = cast.bob.person.get_session_auth_hash()
        password = new_password(member=cast.bob, actor=ALICE)
        person = Person.objects.get(pk=cast.bob.person_id)
        assert person.check_password(password)
        assert person.must_change_password
        assert person.get_session_auth_hash() != before
        assert said() == ["Alice made a one-time password for Bob"]

    def test_nobody_gets_into_another_workspace_with_it(self, cast: Cast) -> None:
        Member.objects.create(workspace=cast.workspace, person=cast.mallory.person, role=Role.REVIEWER)
        with pytest.raises(BelongsElsewhere):
            new_password(
                member=Member.objects.get(workspace=cast.workspace, person=cast.mallory.person), actor=ALICE
            )
        assert Person.objects.get(pk=cast.mallory.person_id).check_password(PASSWORD)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["disable", "demote"])
def test_two_admins_cannot_end_each_other(verb: str) -> None:
    cast = make_cast()
    erin = member("erin", workspace=cast.workspace, role=Role.ADMIN)
    both = threading.Barrier(2)
    failed: list[str] = []

    def end(who: Member) -> None:
        act: Callable[[], Any] = (
            (lambda: disable(member=who, actor=SYSTEM))
            if verb == "disable"
            else (lambda: change_role(member=who, role="reviewer", actor=SYSTEM))
        )
        try:
            both.wait(20)
            act()
        except ReviewHubError as error:
            failed.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=end, args=(who,)) for who in (cast.alice, erin)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failed == ["last_admin"]
    assert Member.objects.filter(workspace=cast.workspace, role="admin", is_active=True).count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_member_is_locked_only_inside_a_transaction() -> None:
    with pytest.raises(RuntimeError):
        lock_member(make_cast().bob, ALICE)


def test_one_time_passwords_differ_and_are_long() -> None:
    made = {one_time_password() for _ in range(100)}
    assert len(made) == 100
    assert all(len(one) == 23 for one in made)


def test_names_lose_the_space_around_them() -> None:
    assert clean_name("  Zoë O'Neill-李 ") == "Zoë O'Neill-李"
