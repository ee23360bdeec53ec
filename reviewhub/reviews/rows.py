"""One request as the queue shows it: read once, with nothing that a row would have to ask the database for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from reviewhub.accounts.permissions import Action, MemberCaller, allowed
from reviewhub.core.display.durations import SOON
from reviewhub.core.display.sentence import NAME_CHARACTERS, Part, brief, unpack
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.reviews.targets import request_target

GROUPS = (
    ("late", "Overdue"),
    ("soon", "Due within 15 minutes"),
    ("day", "Due within a day"),
    ("later", "Later, or no deadline"),
    ("done", "Decided"),
)
NEWEST = 10**12 - 1  # no request has a higher number
WORDS = {
    RequestState.APPROVED: ("ok", "check", "approved"),
    RequestState.EDITED: ("warn", "edit", "edited"),
    RequestState.REJECTED: ("bad", "x", "rejected"),
    RequestState.RESPONDED: ("info", "reply", "answered"),
    RequestState.EXPIRED: ("warn", "clock", "not answered in time"),
    RequestState.WITHDRAWN: ("info", "rewind", "withdrawn"),
    RequestState.CANCELLED: ("info", "stop", "cancelled"),
    RequestState.HAPPENED: ("ok", "check", "said it happened"),
    RequestState.DID_NOT_HAPPEN: ("warn", "x", "said it did not happen"),
    RequestState.SKIPPED: ("info", "right", "skipped"),
}


@dataclass(frozen=True)
class Row:
    """A line of the queue."""

    request: ReviewRequest
    now: datetime
    caller: MemberCaller
    lookers: tuple[str, ...] = ()
    """Who else has it open now, by name."""
    is_put_off: bool = False
    """Whether the reader has put it off since the page showed it."""

    @cached_property
    def group(self) -> str:
        """Which group it stands in, by the time left; what is decided is due no more."""
        if not self.is_open:
            return "done"
        deadline = self.request.deadline_at
        if deadline is None:
            return "later"
        left = (deadline - self.now).total_seconds()
        if left <= 0:
            return "late"
        return "soon" if left <= SOON else "day" if left <= timedelta(days=1).total_seconds() else "later"

    @property
    def sort(self) -> str:
        """Its place inside the group: risk, then time left, then age (decided: the newest). Compared as text by the
        browser too."""
        row = self.request
        if not self.is_open:
            return f"{NEWEST - row.number:012d}"
        due = int(row.deadline_at.timestamp()) if row.deadline_at else NEWEST
        return f"{9 - row.risk_rank}-{due:012d}-{row.number:012d}"

    @cached_property
    def brief(self) -> tuple[Part, ...] | None:
        """What stands for the sentence of a tool that has none: its name and arguments."""
        return brief(unpack(self.request.sentence), tool=self.request.tool_name)

    @property
    def names_tool(self) -> bool:
        """Whether the line names the tool apart: without a sentence it begins with its name, unless that is clipped."""
        return self.brief is None or len(self.request.tool_name) > NAME_CHARACTERS

    @property
    def holder(self) -> str:
        """Whose claim holds, `You` for one's own; empty for nobody's."""
        row = self.request
        member = row.claimed_by
        if (
            member is None
            or row.claimed_until is None
            or row.claimed_until <= self.now
            or not member.is_active
        ):
            return ""
        return "You" if member.pk == self.caller.member.pk else member.person.name

    @property
    def is_mine(self) -> bool:
        """Whether one's own claim holds."""
        return bool(self.holder) and self.request.claimed_by_id == self.caller.member.pk

    @property
    def is_open(self) -> bool:
        """Whether it still waits."""
        return self.request.state == RequestState.PENDING

    @property
    def says_whose_turn(self) -> bool:
        """Whether there is more to say of whom it waits for than the team that the row names."""
        row = self.request
        return bool(row.waits_for) and (row.approvals_needed > 1 or row.escalated > 0)

    @property
    def outcome(self) -> tuple[str, str, str]:
        """Tone, icon and words of a decided row."""
        tone, icon, word = WORDS[RequestState(self.request.state)]
        who, editor = self.request.decided_by_name, self.request.edited_by_name
        if editor not in ("", who):
            return tone, icon, f"{editor} {word}, {who} approved"
        return tone, icon, word if self.request.state == RequestState.EXPIRED else f"{who} {word}"

    @property
    def pick(self) -> str:
        """What a bulk decision names: the request with the version and digest that were shown."""
        row = self.request
        return f"{row.number}:{row.version}:{row.digest}"

    @property
    def can_pick(self) -> bool:
        """Whether this person may decide it, as far as time, role and teams say; what they did before is asked then."""
        is_takeable = self.is_open and self.group != "late"
        return is_takeable and allowed(self.caller, Action.REQUEST_DECIDE, request_target(self.request))

    @property
    def bulk(self) -> str:
        """`low` when it may be approved together with others of its tool."""
        row = self.request
        is_plain = row.risk == "low" and row.failed_checks == 0 and row.kind == ReviewRequest.Kind.APPROVAL
        return "low" if is_plain else row.risk


@dataclass(frozen=True)
class Group:
    """Rows that are due in the same span of time."""

    key: str
    title: str
    rows: list[Row]


def groups(rows: list[Row]) -> list[Group]:
    """All groups in order, also the empty ones (a live row may need one), each by risk, time left and age."""
    return [
        Group(key, title, sorted((row for row in rows if row.group == key), key=lambda row: row.sort))
        for key, title in GROUPS
    ]
