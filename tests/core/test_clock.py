"""The database's clock: what was made now is due now."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reviewhub.accounts.models import Person
from reviewhub.core.clock import DbNow, now


@pytest.mark.django_db
def test_what_is_due_now_is_found_in_the_same_millisecond() -> None:
    person = Person.objects.create_user("bob@example.com", "x", name="Bob")
    for _ in range(300):
        Person.objects.filter(pk=person.pk).update(last_login=now())
        assert Person.objects.filter(last_login__lte=DbNow()).count() == 1


@pytest.mark.django_db
def test_the_second_that_has_no_fraction_is_in_order() -> None:
    moment = now().replace(microsecond=0)
    person = Person.objects.create_user("bob@example.com", "x", name="Bob")
    for shift, is_past in ((-1, True), (0, True), (60, False)):
        Person.objects.filter(pk=person.pk).update(last_login=moment + timedelta(seconds=shift))
        assert Person.objects.filter(last_login__lte=DbNow()).exists() == is_past
