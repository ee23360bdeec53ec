"""A person signs in with e-mail and password; guessing is slowed down, and every try is on record."""

from __future__ import annotations

from django.contrib.auth import authenticate
from django.db import transaction
from django.db.models import QuerySet

from reviewhub.accounts.kinds import PersonSignedIn, SignInFailed
from reviewhub.accounts.models import Member, Person
from reviewhub.accounts.tries import begin_try
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Forbidden
from reviewhub.core.text import check_text


class WrongPassword(Forbidden):
    """Email or password is wrong."""

    code = "wrong_password"


def sign_in(*, email: str, password: str, address: str) -> Person:
    """The person whose e-mail and password these are, if they belong to any workspace.

    Args:
        address: the caller's network address, as the server sees it.

    Raises:
        SlowDown: too many failures within 15 minutes; the password was not even looked at.
        WrongPassword: says how many tries are left, never which of the two was wrong.
    """
    check_text(email, path="/email")
    account = email.strip().lower()[:254]
    this = begin_try(account=account, address=address)
    # Outside the transaction: hashing takes long on purpose.
    person = authenticate(username=account, password=password)
    if not isinstance(person, Person) or not person.memberships.filter(is_active=True).exists():
        _record_failure(account, address)
        raise WrongPassword(f"Email or password is wrong. {this.told}")
    with transaction.atomic():
        this.was_right()
        for member in _memberships(account).filter(is_active=True):
            record(
                "person.signed_in",
                workspace_id=member.workspace_id,
                actor=Actor(kind="person", id=member.pk, name=person.name, source="page", ip=address),
                subject_id=person.pk,
                data=PersonSignedIn(address=address),
            )
    return person


@transaction.atomic
def _record_failure(account: str, address: str) -> None:
    for member in _memberships(account):
        record(
            "person.sign_in_failed",
            workspace_id=member.workspace_id,
            actor=Actor(kind="system", name="sign-in page", source="page", ip=address),
            subject_id=member.person_id,
            data=SignInFailed(name=member.person.name, address=address),
        )


def _memberships(account: str) -> QuerySet[Member]:
    """Also those that were disabled: who tries again after that is worth knowing."""
    return Member.objects.filter(person__email=account).select_related("person")
