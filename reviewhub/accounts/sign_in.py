"""A person signs in with e-mail and password; guessing is slowed down, and every try is on record."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import authenticate
from django.db import transaction
from django.db.models import QuerySet

from reviewhub.accounts.kinds import PersonSignedIn, SignInFailed
from reviewhub.accounts.models import Member, Person, SignInFailure
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.errors import Forbidden, SlowDown
from reviewhub.core.text import check_text

WINDOW = timedelta(minutes=15)
TRIES = 5  # of one account from one address
ACCOUNT_TRIES = 30  # of one account from everywhere: a slow, spread guess
ADDRESS_TRIES = 50  # of one address on every account
KEPT = timedelta(days=1)


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
    left = _tries_left(account, address)
    if left <= 0:
        raise SlowDown("Too many failed tries. Wait 15 minutes, then try again.")
    # Outside the transaction: hashing takes long on purpose.
    person = authenticate(username=account, password=password)
    if not isinstance(person, Person) or not person.memberships.filter(is_active=True).exists():
        _fail(account, address)
        word = "try" if left == 2 else "tries"
        raise WrongPassword(
            f"Email or password is wrong. {left - 1} {word} left, then a 15 minute wait."
            if left > 1
            else "Email or password is wrong. Wait 15 minutes, then try again."
        )
    with transaction.atomic():
        SignInFailure.objects.filter(account=account, address=address).delete()
        for member in _memberships(account).filter(is_active=True):
            record(
                "person.signed_in",
                workspace_id=member.workspace_id,
                actor=Actor(kind="person", id=member.pk, name=person.name, source="page", ip=address),
                subject_id=person.pk,
                data=PersonSignedIn(address=address),
            )
    return person


def _tries_left(account: str, address: str) -> int:
    since = now() - WINDOW
    recent = SignInFailure.objects.filter(at__gt=since)
    both = recent.filter(account=account, address=address).count()
    anywhere = recent.filter(account=account).count()
    from_here = recent.filter(address=address).count()
    return min(TRIES - both, ACCOUNT_TRIES - anywhere, ADDRESS_TRIES - from_here)


@transaction.atomic
def _fail(account: str, address: str) -> None:
    SignInFailure.objects.filter(at__lt=now() - KEPT).delete()
    SignInFailure.objects.create(account=account, address=address)
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
