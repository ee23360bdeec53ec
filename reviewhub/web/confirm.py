"""The last step before a call that must not run twice: it names exactly what this person is about to let run."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents import wire

from reviewhub.accounts.models import Member
from reviewhub.core.display.changed import Differences, differences
from reviewhub.core.display.sentence import pack
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.reviews.assurance import word_needed
from reviewhub.reviews.edit import held_then, prepare
from reviewhub.reviews.foresee import foresee
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.requirement import Stored
from reviewhub.web.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class RuleTurn:
    """Another rule, or the same that asks others: what an edit comes to be held by, and what held it."""

    before: str
    after: str
    asked: tuple[tuple[str, int], ...]
    """The teams whose approvals it needs then, in their turns."""


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What runs when it is confirmed. `digest` travels in the form, so that nothing else is confirmed by it."""

    sentence: str
    digest: str
    word: str
    changes: Differences
    approvals: int
    needed: int
    turn: RuleTurn | None = None
    """Which rule holds the edited call, where it is another one or asks other people."""

    @property
    def runs(self) -> bool:
        """Whether this answer is the last one that is needed."""
        return self.approvals >= self.needed

    @property
    def missing(self) -> int:
        """How many more approvals are needed after this one."""
        return max(0, self.needed - self.approvals)


def confirmation(row: ReviewRequest, shown: Evidence, body: wire.DecideBody, member: Member) -> Confirmation:
    """What `body` would let run when `member` sends it.

    Raises:
        Invalid, DeniedByPolicy, Changed: the edit cannot be made, which is better said before it is confirmed.
    """
    if body.type is not wire.Verdict.EDIT:
        return Confirmation(
            sentence=row.sentence,
            digest=row.digest,
            word=word_needed(row, shown.requirement.requirement, sentence=row.sentence, risk=row.risk),
            changes=Differences(),
            approvals=len(foresee(row, shown.requirement, member, verdict="approve").approvals),
            needed=row.approvals_needed,
        )
    edit = prepare(request_id=row.pk, body=body)
    stored = held_then(row.tool_call, edit) or shown.requirement
    needed = stored.requirement
    secret = shown.secret_paths | write_only_paths(shown.tool.schema if shown.tool else "", edit.arguments)
    sentence = pack(edit.shown.sentence)
    return Confirmation(
        sentence=sentence,
        digest=edit.digest,
        word=word_needed(row, needed, sentence=sentence, risk=edit.risk),
        changes=differences(shown.text, edit.arguments, secret_paths=secret),
        approvals=len(foresee(row, stored, member, verdict="edit").approvals),
        needed=needed.approvals,
        turn=_turn(shown.requirement, stored),
    )


def _turn(old: Stored, new: Stored) -> RuleTurn | None:
    if (old.rule, old.requirement.stages) == (new.rule, new.requirement.stages):
        return None
    asked = tuple((stage.team, stage.approvals) for stage in new.requirement.stages)
    return RuleTurn(before=old.rule, after=new.rule, asked=asked)
