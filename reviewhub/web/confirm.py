"""The last step before a call that must not run twice: it names exactly what this person is about to let run."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents import wire

from reviewhub.core.display.changed import Differences, differences
from reviewhub.core.display.masking import write_only_paths
from reviewhub.core.display.sentence import pack, plain, unpack
from reviewhub.reviews.edit import prepare
from reviewhub.reviews.models import ReviewRequest
from reviewhub.web.evidence import Evidence

WORD_CHARACTERS = 40


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """What runs when it is confirmed. `digest` travels in the form, so that nothing else is confirmed by it."""

    sentence: str
    digest: str
    word: str
    changes: Differences
    approvals: int
    needed: int

    @property
    def runs(self) -> bool:
        """Whether this answer is the last one that is needed."""
        return self.approvals >= self.needed

    @property
    def missing(self) -> int:
        """How many more approvals are needed after this one."""
        return max(0, self.needed - self.approvals)


def confirmation(row: ReviewRequest, shown: Evidence, body: wire.DecideBody) -> Confirmation:
    """What `body` would let run.

    Raises:
        Invalid, DeniedByPolicy, Changed: the edit cannot be made, which is better said before it is confirmed.
    """
    if body.type is not wire.Verdict.EDIT:
        return Confirmation(
            sentence=row.sentence,
            digest=row.digest,
            word=_word(row, row.sentence, row.risk),
            changes=Differences(),
            approvals=row.approvals + 1,
            needed=row.approvals_needed,
        )
    edit = prepare(request_id=row.pk, body=body)
    needed = (edit.asked.stored if edit.asked else shown.requirement).requirement
    secret = shown.secret_paths | write_only_paths(shown.tool.schema if shown.tool else "", edit.arguments)
    sentence = pack(edit.sentence)
    return Confirmation(
        sentence=sentence,
        digest=edit.digest,
        word=_word(row, sentence, edit.risk),
        changes=differences(shown.text, edit.arguments, secret_paths=secret),
        # An edit begins the votes anew, with its author's own unless four eyes are required.
        approvals=0 if needed.four_eyes else 1,
        needed=needed.approvals,
    )


def is_irreversible(row: ReviewRequest) -> bool:
    """Whether running it cannot be undone or repeated, so that the form asks once more."""
    return row.tool_call.effect == "once" and row.kind == ReviewRequest.Kind.APPROVAL


def _word(row: ReviewRequest, sentence: str, risk: str) -> str:
    """What must be typed before a call with a failed check, or of critical risk, is approved."""
    if not (row.failed_checks or risk == "critical"):
        return ""
    for part in unpack(sentence):
        word = plain((part,))
        if part.strong and word == part.text.strip() and 0 < len(word) <= WORD_CHARACTERS:
            return word
    return str(row.number)
