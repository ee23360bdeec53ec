"""What happens to review requests, as audit events."""

from __future__ import annotations

from collections.abc import Sequence

from reviewhub.audit.kinds import Payload, kind

WISHES = {"edit": "change and approve", "respond": "answer in place of"}
DEEDS = {
    "approve": "approved #{number}",
    "edit": "approved #{number} with changes",
    "reject": "rejected #{number}",
    "respond": "answered in place of #{number}",
    "expire": "closed #{number}, which was not answered in time",
    "withdraw": "withdrew #{number}",
    "cancel": "cancelled #{number}",
    "happened": "said that #{number} happened",
    "did_not_happen": "said that #{number} did not happen",
    "skip": "went on without an answer to #{number}",
}


def edit_brings(before: str, after: str, voided: Sequence[str]) -> list[str]:
    """What an edit brings beside the new version, each in words: another rule, and votes that count no more."""
    found = []
    if before != after:
        was = f"no longer {before}" if before else "before by none"
        found.append(f"by {f'rule {after}' if after else 'no rule'} now, {was}")
    if voided:
        many = len(voided) > 1
        whose = " and ".join(filter(None, [", ".join(voided[:-1]), voided[-1]]))
        found.append(f"the vote{'s' * many} of {whose} {'are' if many else 'is'} void")
    return found


@kind("request.opened", says="Request #{number} opened: {sentence}")
class RequestOpened(Payload):
    number: int
    sentence: str
    tool: str
    digest: str
    policy_version: int
    because: str
    again_of: int | None = None
    checkpoint: str = ""


@kind("request.turn", says="#{number} was put to {teams_said}: whoever was asked before has approved")
class RequestTurn(Payload):
    number: int
    teams: list[str]

    @property
    def teams_said(self) -> str:
        """The teams as words."""
        return " and ".join(self.teams)


@kind("request.reminded", says="{people} people of {teams} were reminded of #{number}")
class RequestReminded(Payload):
    number: int
    teams: str
    people: int


@kind("request.escalated", says="#{number} was escalated to {to}: no answer from {waited_for} in time")
class RequestEscalated(Payload):
    """`step` counts from 1. Whoever was asked before may still vote."""

    number: int
    step: int
    to: str
    waited_for: str


@kind("request.voted", says="{actor} voted to {wish} #{number}{place}{instead}{about}")
class RequestVoted(Payload):
    number: int
    tool: str
    verdict: str
    instead_of: str = ""
    version: int
    digest: str
    message: str = ""
    note: str = ""
    approvals: int
    needed: int
    displayed: str = ""
    for_teams: str = ""
    in_place_of: str = ""
    policy_version: int = 0
    checkpoint: str = ""
    sentence: str = ""
    reason: str = ""

    @property
    def about(self) -> str:
        """What the call does, in the words of every page; votes of before say it nowhere."""
        return f": {self.sentence}" if self.sentence else ""

    @property
    def place(self) -> str:
        """In whose place they voted; nothing when it was in their own."""
        return f" in the place of {self.in_place_of}" if self.in_place_of else ""

    @property
    def wish(self) -> str:
        """What they want to happen to it."""
        return WISHES.get(self.verdict, self.verdict)

    @property
    def instead(self) -> str:
        """What they wanted before they changed their mind; nothing when they did not."""
        return f", no longer to {WISHES.get(self.instead_of, self.instead_of)}" if self.instead_of else ""


@kind("request.decided", says="{actor} {deed}: {sentence}")
class RequestDecided(Payload):
    """`edited_by` made the version that was approved, where that is somebody else than who approved it last."""

    number: int
    type: str
    edited_by: str = ""
    sentence: str
    tool: str
    version: int
    digest: str
    message: str = ""
    note: str = ""
    policy_version: int = 0
    waited_ms: int = 0
    displayed: str = ""
    checkpoint: str = ""

    @property
    def deed(self) -> str:
        """What they did, with the number in its place."""
        if self.edited_by:
            return f"approved #{self.number} as changed by {self.edited_by}"
        return DEEDS[self.type].format(number=self.number)


@kind("request.changed", says="{actor} changed the arguments of #{number}{about}{then}")
class RequestChanged(Payload):
    """`changes` made the new arguments, `before` says what stood there: the changes that would lead back.

    `rule` holds the new version and `rule_before` held the old one; `voided` are those whose votes count no more.
    """

    number: int
    version: int
    old_digest: str
    new_digest: str
    changes: str
    before: str = ""
    votes_voided: int
    voided: list[str] = []
    rule: str = ""
    rule_before: str = ""
    sentence: str = ""

    @property
    def then(self) -> str:
        """What came of it: another rule, and votes that are void."""
        return "".join(f"; {one}" for one in edit_brings(self.rule_before, self.rule, self.voided))

    @property
    def about(self) -> str:
        """What the call does now, in the words of every page; changes of before say it nowhere."""
        return f", now: {self.sentence}" if self.sentence else ""


@kind("vote.withdrawn", says="{actor} took back their vote to {wish} #{number}: {sentence}")
class VoteWithdrawn(Payload):
    """The vote stays on record and counts no more; what it was is not undone, such as the version that an edit made."""

    number: int
    verdict: str
    version: int
    approvals: int
    needed: int
    sentence: str

    @property
    def wish(self) -> str:
        """What they had wanted to happen to it."""
        return WISHES.get(self.verdict, self.verdict)


@kind("request.handed_over", says="{actor} handed #{number} over to {to}: {sentence}")
class RequestHandedOver(Payload):
    """Who is asked to decide it by name; it is theirs like a claimed one. Others of their team may take it over."""

    number: int
    to: str
    note: str
    sentence: str


@kind("request.snoozed", says="{actor} does not want to see #{number} before {until}")
class RequestSnoozed(Payload):
    """In their own queue only; nobody else's changes, nor the deadline."""

    number: int
    until: str


@kind("request.unsnoozed", says="{actor} has #{number} in the queue again")
class RequestUnsnoozed(Payload):
    number: int


@kind("reasons.set", says="{actor} set the reasons for rejections: {names_said}")
class ReasonsSet(Payload):
    """All of them, by name, with the words that agents are told."""

    reasons: dict[str, str]
    before: dict[str, str]

    @property
    def names_said(self) -> str:
        """Their names in one line."""
        return ", ".join(self.reasons) or "none"


@kind("request.claimed", says="{actor} claimed #{number}")
class RequestClaimed(Payload):
    number: int
    taken_from: str = ""


@kind("request.released", says="{actor} released #{number}")
class RequestReleased(Payload):
    number: int


@kind("request.commented", says="{actor} commented on #{number}")
class RequestCommented(Payload):
    number: int
    text: str


@kind("request.asked", says="{actor} asked the agent about #{number}")
class RequestAsked(Payload):
    number: int
    question: str
    text: str


@kind("request.answered", says="{actor} answered a question about #{number}")
class RequestAnswered(Payload):
    number: int
    question: str
    text: str


@kind("vote.voided", says="The vote of {name} on #{number} was voided: {because}")
class VoteVoided(Payload):
    number: int
    name: str
    because: str


@kind("secret.revealed", says="{actor} looked at hidden values of #{number}: {reason}")
class SecretRevealed(Payload):
    """Where they stand, never what they are."""

    number: int
    tool: str
    version: int
    paths: list[str]
    reason: str


@kind("post_review.drawn", says="{tool} was drawn for post-review: {because}")
class PostReviewDrawn(Payload):
    tool: str
    because: str
    severity: str


@kind("post_review.graded", says="{actor} looked at a call of {tool} afterwards: {verdict}{how}")
class PostReviewGraded(Payload):
    """`checkpoint` is the hash of the state that the call stood on."""

    tool: str
    digest: str
    verdict: str
    severity: str
    note: str
    checkpoint: str

    @property
    def how(self) -> str:
        """Severity and note, in words."""
        return (f", {self.severity} severity" if self.severity else "") + (
            f" ({self.note})" if self.note else ""
        )


@kind("post_review.reopened", says="{actor} took the verdict on a call of {tool} back: it was {verdict}")
class PostReviewReopened(Payload):
    tool: str
    verdict: str
    severity: str
    note: str


@kind("post_review.followed_up", says="{actor} {did} after a flag on a call of {tool}")
class PostReviewFollowedUp(Payload):
    tool: str
    follow_up: str
    to: str
    branch: str
    rule: str
    note: str

    @property
    def did(self) -> str:
        """What was done, in words."""
        return {
            "notify": f"told {self.to or 'nobody, for nobody is there,'}",
            "draft_rule": f"suggested the guardrail {self.rule}",
            "fork": f"made the corrective branch {self.branch}",
            "escalate": f"handed it on to {self.to}",
        }[self.follow_up]


@kind("post_review.follow_up_closed", says="{actor} closed what followed a flag on a call of {tool}{how}")
class FollowUpClosed(Payload):
    tool: str
    follow_up: str
    note: str

    @property
    def how(self) -> str:
        """Its note, in words."""
        return f": {self.note}" if self.note else ""
