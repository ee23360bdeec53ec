"""What an answer has to bring beside the vote: words, a password given lately, a word typed, to be one by itself.

Asked by `reviews.decide` for every answer, whichever way it comes. The pages ask the same functions before, to show
what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from reviewhub_agents import wire

from reviewhub.core.actors import Actor
from reviewhub.core.clock import now
from reviewhub.core.display.segments import says_something
from reviewhub.core.display.sentence import plain, unpack
from reviewhub.core.errors import Forbidden, Invalid
from reviewhub.policies.requirement import Requirement
from reviewhub.reviews.models import ReviewRequest
from reviewhub.tools.models import Risk

WORD_CHARACTERS = 40
APPROVING = (wire.Verdict.APPROVE, wire.Verdict.EDIT)
# After these the call runs, or runs again.
_RUNS = (*APPROVING, wire.Verdict.DID_NOT_HAPPEN)


class SignInAgain(Forbidden):
    """This answer needs your password once more: after it a call runs."""

    code = "sign_in_again"


class OneByOne(Invalid):
    """Only low risk without a failed check can be approved together. Approve these one by one."""

    code = "one_by_one"

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.errors = [{"path": "/type", "code": self.code, "message": self.message}]


def check_answer(
    row: ReviewRequest, requirement: Requirement, body: wire.DecideBody, actor: Actor, *, is_together: bool
) -> None:
    """Refuses an answer that lacks what it has to bring; an edit is asked for what the edited call needs.

    Args:
        row: the request, as it is after the edit.
        requirement: the one that holds now.
        is_together: it comes with others, in one list.

    Raises:
        Invalid: at `/message` a rejection has no words; at `/confirm` the word to type is missing or another one.
        OneByOne: it lets something run that nobody may let run in a list.
        SignInAgain: it needs the password once more.
    """
    check_words(body.type, body.message)
    check_before(row, requirement, body, actor, is_together=is_together)
    if body.type not in APPROVING:
        return
    word = word_needed(row, requirement, sentence=row.sentence, risk=row.risk)
    if word and (body.confirm or "").strip() != word:
        raise Invalid.at("/confirm", f"Type “{word}” to confirm what is about to run.", "confirm")


def check_before(
    row: ReviewRequest, requirement: Requirement, body: wire.DecideBody, actor: Actor, *, is_together: bool
) -> None:
    """Of that what an edit needs by the request as it was, too. Raises OneByOne and SignInAgain as `check_answer`."""
    if is_together and lets_run(body.type) and not _may_run_together(row):
        raise OneByOne
    check_signed_in(requirement, body, actor)


def check_words(type_: str, message: str) -> None:
    """Raises Invalid when a rejection says nothing that somebody could read; "no" is short, and says something."""
    if type_ == wire.Verdict.REJECT and not says_something(message):
        raise Invalid.at("/message", "Write at least one sentence that the agent can act on.", "missing")


def lets_run(type_: wire.Verdict) -> bool:
    """Whether a call runs after this answer, or once more."""
    return type_ in _RUNS


def check_together(rows: Sequence[ReviewRequest]) -> None:
    """Raises OneByOne when not all of these requests may be answered in one list so that their calls run."""
    check_one_tool(rows)
    if not all(_may_run_together(row) for row in rows):
        raise OneByOne


def check_one_tool(rows: Sequence[ReviewRequest]) -> None:
    """Raises OneByOne when calls of several tools would be let run by one list."""
    if len({row.tool_name for row in rows}) > 1:
        raise OneByOne("Only calls of one tool can be approved together. Approve these one by one.")


def _may_run_together(row: ReviewRequest) -> bool:
    return row.kind == ReviewRequest.Kind.APPROVAL and row.risk == Risk.LOW and not row.failed_checks


def is_last_step(row: ReviewRequest, requirement: Requirement) -> bool:
    """Whether an approval is about something that cannot be undone or repeated, or its rule wants a word typed."""
    is_once = row.tool_call.effect == "once" or requirement.typed_confirmation
    return is_once and row.kind == ReviewRequest.Kind.APPROVAL


def word_needed(row: ReviewRequest, requirement: Requirement, *, sentence: str, risk: str) -> str:
    """The word to type before a call is approved: one that cannot be repeated and has a failed check or critical risk,
    or one whose rule says so; empty when there is none to type.

    Args:
        sentence: (packed) of the call that would run, as edited.
        risk: of the same.
    """
    if not is_last_step(row, requirement):
        return ""
    is_dangerous = row.failed_checks or risk == Risk.CRITICAL or requirement.typed_confirmation
    return word_of(sentence, row.number) if is_dangerous else ""


def must_sign_in(requirement: Requirement, actor: Actor) -> bool:
    """Whether whoever acts has not shown their password lately enough to approve this."""
    minutes = requirement.sign_in_minutes
    if minutes is None:
        return False
    at = actor.signed_in_at
    return at is None or at <= now() - timedelta(minutes=minutes)


def check_signed_in(requirement: Requirement, body: wire.DecideBody, actor: Actor) -> None:
    """Raises SignInAgain, with the minutes, when what lets a call run needs the password once more."""
    if lets_run(body.type) and must_sign_in(requirement, actor):
        minutes = requirement.sign_in_minutes
        said = "minute" if minutes == 1 else f"{minutes} minutes"
        raise SignInAgain(
            f"This answer needs your password, given in the last {said}. Sign in again.", minutes=minutes
        )


def word_of(sentence: str, number: int) -> str:
    """What is typed to confirm: the first emphasised word of the (packed) sentence, or the request's number."""
    for part in unpack(sentence):
        word = plain((part,))
        if part.strong and word == part.text.strip() and 0 < len(word) <= WORD_CHARACTERS:
            return word
    return str(number)
