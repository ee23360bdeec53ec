"""What an approval of something dangerous needs beside the vote: the password once more, and a word typed."""

from __future__ import annotations

from datetime import timedelta

from reviewhub_agents import wire

from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.display.sentence import plain, unpack
from reviewhub.core.errors import Forbidden, Invalid
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.models import ReviewRequest

WORD_CHARACTERS = 40
APPROVING = (wire.Verdict.APPROVE, wire.Verdict.EDIT)


class SignInAgain(Forbidden):
    """This approval needs your password once more."""

    code = "sign_in_again"


def must_sign_in(requirement: Requirement, actor: Actor) -> bool:
    """Whether whoever acts has not shown their password lately enough to approve this."""
    minutes = requirement.sign_in_minutes
    if minutes is None:
        return False
    at = actor.signed_in_at
    return at is None or at <= now() - timedelta(minutes=minutes)


def check_signed_in(requirement: Requirement, body: wire.DecideBody, actor: Actor) -> None:
    """Raises SignInAgain, with the minutes, when an approval needs the password once more."""
    if body.type in APPROVING and must_sign_in(requirement, actor):
        minutes = requirement.sign_in_minutes
        said = "minute" if minutes == 1 else f"{minutes} minutes"
        raise SignInAgain(
            f"This approval needs your password, given in the last {said}. Sign in again.", minutes=minutes
        )


def check_confirmed(row: ReviewRequest, requirement: Requirement, body: wire.DecideBody) -> None:
    """Raises Invalid when an approval needs a word typed and has none or another; after an edit, of the edited call."""
    if body.type not in APPROVING or not requirement.typed_confirmation:
        return
    word = word_of(row.sentence, row.number)
    if (body.confirm or "").strip() != word:
        raise Invalid.at("/confirm", f"Type “{word}” to confirm what is about to run.", "confirm")


def word_of(sentence: str, number: int) -> str:
    """What is typed to confirm: the first emphasised word of the (packed) sentence, or the request's number."""
    for part in unpack(sentence):
        word = plain((part,))
        if part.strong and word == part.text.strip() and 0 < len(word) <= WORD_CHARACTERS:
            return word
    return str(number)
