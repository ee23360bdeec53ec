"""The customers that the outreach agent writes to, made up, and the words of its letters."""

from __future__ import annotations

import hashlib
from typing import Any

from reviewhub_agents.demos import mailbox
from reviewhub_agents.demos.support_shop import folder

CUSTOMERS = 24
LONG = 18
"""Months after which a customer is promised a discount."""
_NAMES = ("Ana", "Ben", "Chloé", "Dmitri", "Elif", "Farid", "Grace", "Hana")
_THINGS = ("a desk lamp", "two mugs", "a rain coat", "a bicycle bell")


def customer(number: int) -> dict[str, Any]:
    """One customer; the same number is the same customer every time."""
    dice = int.from_bytes(hashlib.sha256(f"customer {number}".encode()).digest()[:4])
    name = _NAMES[number % len(_NAMES)]
    return {
        "name": name,
        "mail": f"{name.lower().replace('é', 'e')}.{number}@example.com",
        "bought": _THINGS[dice % len(_THINGS)],
        "months": 6 + dice % 24,
    }


def letter(of: dict[str, Any], *, discount: int) -> dict[str, str]:
    """The letter to a customer; those who have not bought for a long time are promised a discount, if there is one."""
    name = str(of["name"])
    offer = f" For your next order you get {discount} % off." if of["months"] >= LONG and discount else ""
    return {
        "to": str(of["mail"]),
        "subject": f"We miss you, {name}",
        "body": f"Dear {name},\n\nwe hope that {of['bought']} still serves you well.{offer}\n\nThe demo shop",
    }


def draft(*, recipient: str, subject: str, body: str) -> None:
    """Puts a draft into the mailbox, in the place of an older one to the same customer."""
    mailbox.put_draft(folder() / "mailbox", recipient=recipient, subject=subject, body=body)


def drafts() -> dict[str, str]:
    """The drafts in the mailbox, by recipient."""
    found = mailbox.drafts(folder() / "mailbox")
    return {str(one["To"]): one.get_content() for one in found}
