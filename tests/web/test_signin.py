"""Signing in and out, and one's own account, through HTTP."""

from datetime import timedelta

import pytest
from django.test import Client

from reviewhub.accounts.models import Member, Person, SignInFailure
from reviewhub.audit.models import Event
from reviewhub.core.clock import now
from tests.cast import PASSWORD


@pytest.fixture
def client() -> Client:
    return Client()


def sign_in(client: Client, email: str, password: str = PASSWORD, **more: str):
    return client.post("/signin", {"email": email, "password": password, **more})


@pytest.mark.parametrize("path", ["/", "/account", "/northwind/queue"])
def test_a_stranger_is_sent_to_the_sign_in_page(client: Client, bob: Member, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/signin")


def test_right_password_opens_the_queue_and_is_on_record(client: Client, bob: Member) -> None:
    answer = sign_in(client, "Bob@Example.com ")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert client.get("/").headers["Location"] == "/northwind/start"
    event = Event.objects.get(kind="person.signed_in")
    assert (event.workspace_id, event.actor_id) == (bob.workspace_id, bob.pk)


def test_wrong_password_says_how_many_tries_are_left_and_is_on_record(client: Client, bob: Member) -> None:
    answer = sign_in(client, "bob@example.com", "no")
    assert answer.status_code == 403
    assert "4 tries left" in answer.content.decode()
    assert Event.objects.filter(kind="person.sign_in_failed", workspace_id=bob.workspace_id).count() == 1


def test_an_unknown_account_gets_the_same_words(client: Client, bob: Member) -> None:
    ours = sign_in(client, "bob@example.com", "no").content.decode()
    theirs = sign_in(client, "nobody@example.com", "no").content.decode()
    assert "4 tries left" in ours
    assert "4 tries left" in theirs


def test_after_five_failures_even_the_right_password_waits(client: Client, bob: Member) -> None:
    for _ in range(5):
        sign_in(client, "bob@example.com", "no")
    answer = sign_in(client, "bob@example.com")
    assert answer.status_code == 429
    assert "_auth_user_id" not in client.session


def test_after_a_quarter_of_an_hour_it_goes_on(client: Client, bob: Member) -> None:
    for _ in range(5):
        sign_in(client, "bob@example.com", "no")
    SignInFailure.objects.update(at=now() - timedelta(minutes=16))
    assert sign_in(client, "bob@example.com").status_code == 302


def test_somebody_elses_failures_do_not_lock_me_out(client: Client, bob: Member, alice: Member) -> None:
    for _ in range(5):
        sign_in(client, "alice@example.com", "no")
    assert sign_in(client, "bob@example.com").status_code == 302


def test_one_account_is_not_guessed_from_many_addresses(client: Client, bob: Member) -> None:
    for host in range(30):
        client.post("/signin", {"email": "bob@example.com", "password": "no"}, REMOTE_ADDR=f"192.0.2.{host}")
    answer = client.post(
        "/signin", {"email": "bob@example.com", "password": PASSWORD}, REMOTE_ADDR="192.0.2.99"
    )
    assert answer.status_code == 429


@pytest.mark.parametrize("who", ["member", "person"])
def test_the_disabled_do_not_come_in(client: Client, bob: Member, who: str) -> None:
    if who == "member":
        Member.objects.filter(pk=bob.pk).update(is_active=False)
    else:
        Person.objects.filter(pk=bob.person_id).update(is_active=False)
    assert sign_in(client, "bob@example.com").status_code == 403


@pytest.mark.parametrize(
    ("following", "to"),
    [
        ("/northwind/runs", "/northwind/runs"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_where_one_goes_next_stays_on_this_site(client: Client, bob: Member, following: str, to: str) -> None:
    assert sign_in(client, "bob@example.com", next=following).headers["Location"] == to


def test_signing_out_takes_a_post(client: Client, bob: Member) -> None:
    sign_in(client, "bob@example.com")
    assert client.get("/signout").headers["Location"] == "/"
    assert "_auth_user_id" in client.session
    client.post("/signout")
    assert "_auth_user_id" not in client.session


def test_a_given_password_has_to_be_changed_first(client: Client, bob: Member) -> None:
    Person.objects.filter(pk=bob.person_id).update(must_change_password=True)
    assert sign_in(client, "bob@example.com").headers["Location"] == "/account"
    assert (
        client.get("/northwind/queue?risk=low").headers["Location"]
        == "/account?next=/northwind/queue%3Frisk%3Dlow"
    )
    new = "purple monkey dishwasher 9"
    client.post("/account/password", {"old": PASSWORD, "new": new, "again": new})
    assert client.get("/").headers["Location"] == "/northwind/start"
    assert Event.objects.filter(kind="person.password_changed").count() == 1


@pytest.mark.parametrize(
    ("wanted", "to"), [("/northwind/runs", "/northwind/runs"), ("//evil.example/", "/account")]
)
def test_after_the_first_password_one_is_where_one_wanted_to_be(
    client: Client, bob: Member, wanted: str, to: str
) -> None:
    Person.objects.filter(pk=bob.person_id).update(must_change_password=True)
    page = client.get(sign_in(client, "bob@example.com", next=wanted).headers["Location"]).content.decode()
    assert (f'name="next" value="{wanted}"' in page) == (to == wanted)
    new = "purple monkey dishwasher 9"
    given = {"old": PASSWORD, "new": new, "again": new, "next": wanted}
    assert client.post("/account/password", given).headers["Location"] == to


def test_a_disabled_persons_tries_are_on_record(client: Client, bob: Member) -> None:
    Member.objects.filter(pk=bob.pk).update(is_active=False)
    for password in (PASSWORD, "no"):
        assert sign_in(client, "bob@example.com", password).status_code == 403
    failed = Event.objects.filter(kind="person.sign_in_failed", workspace_id=bob.workspace_id)
    assert failed.count() == 2
    assert not Event.objects.filter(kind="person.signed_in").exists()


@pytest.mark.parametrize(
    ("old", "new", "again", "said"),
    [
        ("wrong", "purple monkey dishwasher 9", "purple monkey dishwasher 9", "not your password"),
        (PASSWORD, "short", "short", "too short"),
        (PASSWORD, "purple monkey dishwasher 9", "other", "differ"),
        (PASSWORD, PASSWORD, PASSWORD, "another password"),
    ],
)
def test_a_bad_new_password_changes_nothing(
    client: Client, bob: Member, old: str, new: str, again: str, said: str
) -> None:
    sign_in(client, "bob@example.com")
    answer = client.post("/account/password", {"old": old, "new": new, "again": again})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert Person.objects.get(pk=bob.person_id).check_password(PASSWORD)


def test_a_changed_password_ends_other_sessions(client: Client, bob: Member) -> None:
    other = Client()
    sign_in(client, "bob@example.com")
    sign_in(other, "bob@example.com")
    new = "purple monkey dishwasher 9"
    client.post("/account/password", {"old": PASSWORD, "new": new, "again": new})
    assert client.get("/account").status_code == 200
    assert other.get("/account").status_code == 302


def test_look_and_keys_are_kept(client: Client, bob: Member) -> None:
    sign_in(client, "bob@example.com")
    client.post("/account/look", {"theme": "dark"})
    page = client.get("/account").content.decode()
    assert 'data-theme="dark"' in page
    assert 'data-keys="off"' in page


def test_forms_are_refused_without_their_token(bob: Member) -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/signin", {"email": "bob@example.com", "password": PASSWORD})
    assert answer.status_code == 403
    assert "too old" in answer.content.decode()
