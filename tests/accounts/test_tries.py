"""A password is guessed no faster by guessing at the same moment, nor where it is changed."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from reviewhub.accounts import sign_in as module
from reviewhub.accounts.change_password import change_password
from reviewhub.accounts.models import Person, SignInFailure
from reviewhub.accounts.sign_in import WrongPassword, sign_in
from reviewhub.audit.models import Event
from reviewhub.core.errors import Invalid, SlowDown
from tests.cast import PASSWORD, Cast, make_cast
from tests.racing import together

AT_ONCE = 9


def failed(count: int, **where: str) -> None:
    for at in range(count):
        row = {"account": f"somebody{at}@example.com", "address": f"198.51.100.{at}", **where}
        SignInFailure.objects.create(**row)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("before", "same", "looked_at"),
    [
        (0, ("account", "address"), 5),
        (26, ("account",), 4),
        (47, ("address",), 3),
    ],
)
def test_tries_at_once_are_as_many_as_in_a_row(
    monkeypatch: Any, before: int, same: tuple[str, ...], looked_at: int
) -> None:
    """Nobody gets an answer before everybody was either let look or refused."""
    make_cast()
    failed(before, **{name: {"account": "bob@example.com", "address": "192.0.2.1"}[name] for name in same})
    all_there = threading.Barrier(AT_ONCE, timeout=60)

    def look(**_: Any) -> None:
        all_there.wait()

    def guess(at: int) -> None:
        account = "bob@example.com" if "account" in same else f"person{at}@example.com"
        try:
            sign_in(
                email=account, password="no", address="192.0.2.1" if "address" in same else f"192.0.2.{at}"
            )
        except SlowDown:
            all_there.wait()
            raise

    monkeypatch.setattr(module, "authenticate", look)
    got = together(*(lambda at=at: guess(at) for at in range(AT_ONCE)))
    assert Counter(type(one) for one in got) == {WrongPassword: looked_at, SlowDown: AT_ONCE - looked_at}


@pytest.mark.django_db
def test_the_old_password_is_guessed_no_faster_than_at_sign_in(cast: Cast) -> None:
    new = "purple monkey dishwasher 9"
    here = {"address": "192.0.2.1", "new": new}
    for at in range(5):
        with pytest.raises(Invalid) as wrong:
            change_password(person=cast.bob.person, old="no", **here)
        assert (f"{4 - at} tr" if at < 4 else "Wait 15 minutes") in wrong.value.message
    for old in ("no", PASSWORD):
        with pytest.raises(SlowDown):
            change_password(person=cast.bob.person, old=old, **here)
    with pytest.raises(SlowDown):
        sign_in(email="bob@example.com", password=PASSWORD, address="192.0.2.1")
    refused = Event.objects.filter(kind="person.password_refused", actor_id=cast.bob.pk)
    assert refused.count() == 5
    change_password(person=cast.bob.person, old=PASSWORD, new=new, address="192.0.2.2")


@pytest.mark.django_db
def test_the_page_says_that_one_has_to_wait(cast: Cast) -> None:
    client = Client()
    client.force_login(cast.bob.person)
    form = {"old": "no", "new": "purple monkey dishwasher 9", "again": "purple monkey dishwasher 9"}
    assert [client.post("/account/password", form).status_code for _ in range(6)] == [422] * 5 + [429]
    page = client.post("/account/password", {**form, "old": PASSWORD})
    assert (page.status_code, "Wait 15 minutes" in page.content.decode()) == (429, True)
    assert Person.objects.get(pk=cast.bob.person_id).check_password(PASSWORD)
