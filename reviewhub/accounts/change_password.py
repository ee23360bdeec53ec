"""A person chooses a new password."""

from __future__ import annotations

from django.contrib.auth.hashers import check_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from reviewhub.accounts.kinds import PasswordChanged, PasswordRefused
from reviewhub.accounts.models import Person
from reviewhub.accounts.queries import active_memberships
from reviewhub.accounts.tries import begin_try
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid


def change_password(*, person: Person, old: str, new: str, address: str) -> Person:
    """Sets a new password, which ends every other session of the person.

    Raises:
        SlowDown: too many wrong passwords within 15 minutes, here or at sign-in; this one was not even looked at.
        Invalid: the old one is wrong, or the new one is too weak (each reason is named).
    """
    this = begin_try(account=person.email, address=address)
    if not check_password(old, person.password):
        _record_refusal(person, address)
        raise Invalid.at("/old", f"This is not your password. {this.told}")
    this.was_right()
    if old == new:
        raise Invalid.at("/new", "Choose another password than the one you have.")
    try:
        validate_password(new, person)
    except ValidationError as error:
        errors = [{"path": "/new", "code": "invalid", "message": message} for message in error.messages]
        raise Invalid(" ".join(error.messages), errors=errors) from error
    with transaction.atomic():
        person.set_password(new)
        person.must_change_password = False
        person.save(update_fields=["password", "must_change_password"])
        for member in active_memberships(person):
            record(
                "person.password_changed",
                workspace_id=member.workspace_id,
                actor=Actor(kind="person", id=member.pk, name=person.name, source="page", ip=address),
                subject_id=person.pk,
                data=PasswordChanged(name=person.name),
            )
    return person


@transaction.atomic
def _record_refusal(person: Person, address: str) -> None:
    for member in active_memberships(person):
        record(
            "person.password_refused",
            workspace_id=member.workspace_id,
            actor=Actor(kind="person", id=member.pk, name=person.name, source="page", ip=address),
            subject_id=person.pk,
            data=PasswordRefused(name=person.name, address=address),
        )
