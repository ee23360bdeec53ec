"""Who asks: keys and sessions on one API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from reviewhub.accounts.models import AgentKey, Member, Person, Role
from reviewhub.accounts.permissions import AgentCaller
from reviewhub.api.authentication import KeyThrottle, actor_of, caller_in, caller_of, key_is_known
from reviewhub.core.clock import now
from tests.cast import PASSWORD, Cast, make_test_agent


class Who(APIView):
    def get(self, request: Request) -> Response:
        caller = caller_of(request)
        actor = actor_of(request)
        kind = "agent" if isinstance(caller, AgentCaller) else "member"
        return Response(
            {
                "is": kind,
                "workspace": str(caller.workspace_id),
                "name": actor.name,
                "request": actor.http_request,
            }
        )

    post = get


class Thing(APIView):
    def get(self, request: Request, workspace: Any) -> Response:
        return Response({"workspace": str(caller_in(request, workspace).workspace_id)})


urlpatterns = [path("who", Who.as_view()), path("thing/<uuid:workspace>", Thing.as_view())]

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.api.test_authentication")]


def signed_in(member: Member, **options: Any) -> Client:
    client = Client(**options)
    assert client.login(username=member.person.email, password=PASSWORD)
    return client


def with_key(text: str, **headers: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {text}", **headers}}


class TestKeys:
    def test_a_key_is_its_agent_in_its_workspace(self, cast: Cast, client: Client) -> None:
        _, _, text = make_test_agent(cast.support)
        answer = client.get("/who", **with_key(text, **{"X-Request-ID": "req-1"}))
        assert answer.json() == {
            "is": "agent",
            "workspace": str(cast.workspace.pk),
            "name": "Support agent",
            "request": "req-1",
        }

    @pytest.mark.parametrize(
        ("given", "kept"), [("req-1", True), ("", False), ("a b", False), ("x" * 65, False)]
    )
    def test_every_request_has_an_id_that_the_answer_gives_back(
        self, cast: Cast, client: Client, given: str, kept: bool
    ) -> None:
        _, _, text = make_test_agent(cast.support)
        answer = client.get("/who", **with_key(text, **{"X-Request-ID": given}))
        assert answer["X-Request-ID"] == answer.json()["request"] != ""
        assert (answer["X-Request-ID"] == given) is kept

    @pytest.mark.parametrize(
        "header",
        [
            "",
            "Bearer",
            "Bearer ",
            "Bearer rh_pro_nonsense",
            "Basic YTpi",
            "Bearer ü",
            "rh_pro_x",
            "Bearer {key}x",
            "Basic {key}",
        ],
    )
    def test_anything_else_in_the_header_is_401(self, cast: Cast, client: Client, header: str) -> None:
        _, _, text = make_test_agent(cast.support)
        answer = client.get("/who", HTTP_AUTHORIZATION=header.format(key=text))
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == 'Bearer realm="reviewhub"'
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "unauthenticated"

    def test_a_wrong_key_is_401_even_with_a_session(self, cast: Cast) -> None:
        assert signed_in(cast.bob).get("/who", **with_key("rh_pro_x")).status_code == 401

    def test_a_key_typed_in_lower_case_scheme_works(self, cast: Cast, client: Client) -> None:
        _, _, text = make_test_agent(cast.support)
        assert client.get("/who", HTTP_AUTHORIZATION=f"bearer {text}").status_code == 200

    def test_a_revoked_key_is_401_and_no_longer_known(self, cast: Cast, client: Client) -> None:
        _, key, text = make_test_agent(cast.support)
        assert key_is_known(text)
        AgentKey.objects.filter(pk=key.pk).update(revoked_at=now())
        assert not key_is_known(text)
        assert client.get("/who", **with_key(text)).status_code == 401

    def test_nonsense_is_not_looked_up(self, cast: Cast, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            assert not key_is_known("rh_pro_" + "a" * 49)
            assert not key_is_known("\ud800")

    def test_using_a_key_writes_once_a_minute(
        self, cast: Cast, client: Client, django_assert_num_queries: Any
    ) -> None:
        _, key, text = make_test_agent(cast.support)
        with django_assert_num_queries(2):
            client.get("/who", **with_key(text))
        key.refresh_from_db()
        assert key.last_used_at is not None
        with django_assert_num_queries(1):
            client.get("/who", **with_key(text))
        AgentKey.objects.update(last_used_at=datetime.now(UTC) - timedelta(seconds=61))
        client.get("/who", **with_key(text))
        key.refresh_from_db()
        assert datetime.now(UTC) - key.last_used_at < timedelta(seconds=30)

    def test_another_workspaces_thing_is_not_found(self, cast: Cast, client: Client) -> None:
        _, _, text = make_test_agent(cast.support)
        assert client.get(f"/thing/{cast.workspace.pk}", **with_key(text)).status_code == 200
        assert client.get(f"/thing/{cast.other.pk}", **with_key(text)).status_code == 404

    def test_each_key_is_slowed_down_by_itself(
        self, cast: Cast, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache.clear()
        monkeypatch.setattr(KeyThrottle, "THROTTLE_RATES", {"agent": "2/min"})
        _, _, first = make_test_agent(cast.support)
        _, _, second = make_test_agent(cast.support, name="Another")
        answers = [client.get("/who", **with_key(first)) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert answers[2].json()["code"] == "slow_down"
        assert 0 < int(answers[2]["Retry-After"]) <= 61
        assert client.get("/who", **with_key(second)).status_code == 200


class TestPeople:
    def test_a_session_is_the_only_membership(self, cast: Cast) -> None:
        answer = signed_in(cast.bob).get("/who")
        assert answer.json()["is"] == "member"
        assert answer.json()["name"] == "Bob"

    def test_nobody_is_401(self, cast: Cast, client: Client) -> None:
        answer = client.get("/who")
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")

    def test_writing_needs_the_csrf_token(self, cast: Cast) -> None:
        client = signed_in(cast.bob, enforce_csrf_checks=True)
        refused = client.post("/who", data=b"{}", content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        client.cookies["csrftoken"] = "a" * 32
        accepted = client.post(
            "/who", data=b"{}", content_type="application/json", headers={"X-CSRFToken": "a" * 32}
        )
        assert accepted.status_code == 200

    def test_a_key_needs_no_csrf_token(self, cast: Cast) -> None:
        _, _, text = make_test_agent(cast.support)
        client = Client(enforce_csrf_checks=True)
        answer = client.post("/who", data=b"{}", content_type="application/json", **with_key(text))
        assert answer.status_code == 200

    def test_who_names_no_workspace_means_the_one_they_joined_first(self, cast: Cast) -> None:
        """Whoever invites them: their scripts go on as they were, or say that they cannot."""
        client = signed_in(cast.bob)
        theirs = Member.objects.create(workspace=cast.other, person=cast.bob.person, role=Role.REVIEWER)
        assert client.get("/who").json()["workspace"] == str(cast.workspace.pk)
        assert client.get("/who?workspace=contoso").json()["workspace"] == str(cast.other.pk)
        named = client.get("/who", headers={"ReviewHub-Workspace": "northwind"})
        assert named.json()["workspace"] == str(cast.workspace.pk)
        assert client.get(f"/thing/{cast.other.pk}").status_code == 200
        assert client.get(f"/thing/{cast.other.pk}?workspace=northwind").status_code == 404
        Member.objects.filter(pk=cast.bob.pk).update(is_active=False)
        refused = client.get("/who")
        assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "/workspace")
        assert client.get("/who?workspace=contoso").json()["workspace"] == str(theirs.workspace_id)

    def test_another_workspace_is_not_found(self, cast: Cast) -> None:
        client = signed_in(cast.mallory)
        assert client.get("/who?workspace=northwind").status_code == 404
        assert client.get("/who?workspace=no-such").status_code == 404
        assert client.get(f"/thing/{cast.workspace.pk}").status_code == 404

    def test_a_disabled_member_is_nobody_here(self, cast: Cast) -> None:
        client = signed_in(cast.bob)
        Member.objects.filter(pk=cast.bob.pk).update(is_active=False)
        assert client.get("/who").status_code == 404
        assert client.get(f"/thing/{cast.workspace.pk}").status_code == 404

    def test_a_disabled_person_has_no_session(self, cast: Cast) -> None:
        client = signed_in(cast.bob)
        Person.objects.filter(pk=cast.bob.person_id).update(is_active=False)
        assert client.get("/who").status_code == 401

    def test_a_one_time_password_opens_nothing_but_its_change(self, cast: Cast) -> None:
        client = signed_in(cast.bob)
        Person.objects.filter(pk=cast.bob.person_id).update(must_change_password=True)
        answer = client.get("/who")
        assert (answer.status_code, answer.json()["code"]) == (403, "password_change_due")
