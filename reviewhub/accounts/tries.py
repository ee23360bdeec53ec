"""Guessing a password is slowed down: every try is counted before the password is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import connection, transaction

from reviewhub.accounts.models import SignInFailure
from reviewhub.core.clock import now
from reviewhub.core.errors import SlowDown

WINDOW = timedelta(minutes=15)
TRIES = 5  # of one account from one address
ACCOUNT_TRIES = 30  # of one account from everywhere: a slow, spread guess
ADDRESS_TRIES = 50  # of one address on every account
KEPT = timedelta(days=1)


@dataclass(frozen=True)
class Try:
    """One look at a password. It counts as a failure until `was_right`."""

    account: str
    address: str
    left: int
    """How many follow this one before a wait."""

    @property
    def told(self) -> str:
        """What is left, in words, for whoever was wrong."""
        if self.left < 1:
            return "Wait 15 minutes, then try again."
        return f"{self.left} {'try' if self.left == 1 else 'tries'} left, then a 15 minute wait."

    def was_right(self) -> None:
        """Forgets the failures of this account from this address."""
        SignInFailure.objects.filter(account=self.account, address=self.address).delete()


def begin_try(*, account: str, address: str) -> Try:
    """Takes one try, in a transaction of its own, so that tries at the same moment are as many as those in a row.

    Args:
        account: the e-mail address, in lower case.
        address: the caller's network address, as the server sees it.

    Raises:
        SlowDown: there is none left within 15 minutes; the password is not to be looked at.
    """
    with transaction.atomic(durable=True):
        _lock(f"try:account:{account}", f"try:address:{address}")
        left = _left(account, address)
        if left <= 0:
            raise SlowDown("Too many failed tries. Wait 15 minutes, then try again.")
        SignInFailure.objects.filter(at__lt=now() - KEPT).delete()
        SignInFailure.objects.create(account=account, address=address)
    return Try(account, address, left - 1)


def _left(account: str, address: str) -> int:
    recent = SignInFailure.objects.filter(at__gt=now() - WINDOW)
    both = recent.filter(account=account, address=address).count()
    anywhere = recent.filter(account=account).count()
    from_here = recent.filter(address=address).count()
    return min(TRIES - both, ACCOUNT_TRIES - anywhere, ADDRESS_TRIES - from_here)


def _lock(*names: str) -> None:
    """Until the end of the transaction, in one order. On SQLite the IMMEDIATE transaction holds the whole file."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in sorted(names):
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
