"""The tables of the insights page: each is shown, given as a file, and answered by the API, from the same rows."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, TypeVar, overload

from reviewhub.core.display.durations import DAY, HOUR, MINUTE, length
from reviewhub.core.display.shares import NOTHING, percent
from reviewhub.core.spreadsheet import Cell as Value
from reviewhub.core.spreadsheet import as_csv
from reviewhub.insights.afterwards import FINE, agreement
from reviewhub.insights.figures import Depth, Outcomes
from reviewhub.insights.people import Reviewer
from reviewhub.insights.troubles import Troubles
from reviewhub.insights.work import Work
from reviewhub.reviews.states import SEVERITIES

Given = TypeVar("Given")
SIGNS = {
    "quick": "approves sooner than it can be read",
    "unopened": "approves without opening the page",
    "streak": "nothing but approvals in a row",
}


@dataclass(frozen=True)
class Cell:
    """One cell: what a file says, and what the page says."""

    value: Value
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Column:
    """One column; units are in the name that files have."""

    name: str
    said: str
    is_number: bool = True


OUTCOME: Final = (
    Column("ended", "Asked"),
    Column("approved_share", "Approved"),
    Column("edited_share", "Edited"),
    Column("rejected_share", "Rejected"),
    Column("answered_in_its_place_share", "Answered"),
    Column("expired_share", "Expired"),
    Column("escalated", "Escalated"),
    Column("median_seconds", "Median"),
    Column("p95_seconds", "p95"),
    Column("waited_seconds", "Waited in all"),
)


class Rows(Sequence[list[Cell]]):
    """Rows that are made when they are looked at: a page shows the first of many, and quantiles take their time."""

    def __init__(self, given: Iterable[Given], make: Callable[[Given], list[Cell]]) -> None:
        self._given, self._make = list(given), make

    @overload
    def __getitem__(self, at: int) -> list[Cell]: ...
    @overload
    def __getitem__(self, at: slice) -> list[list[Cell]]: ...
    def __getitem__(self, at: int | slice) -> list[Cell] | list[list[Cell]]:
        if isinstance(at, slice):
            return [self._make(one) for one in self._given[at]]
        return self._make(self._given[at])

    def __len__(self) -> int:
        return len(self._given)


@dataclass(frozen=True)
class Table:
    """Rows under their columns. `name` is that of the file."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[list[Cell]]

    def csv(self) -> str:
        """As a file."""
        return as_csv([one.name for one in self.columns], [[cell.value for cell in row] for row in self.rows])


def words(text: str) -> Cell:
    """A text as it is."""
    return Cell(text, text)


def count(number: int) -> Cell:
    """A whole number."""
    return Cell(number, f"{number:,}")


def share(part: float | None, tone: str = "") -> Cell:
    """A share from 0 to 1, shown in percent."""
    return Cell(None if part is None else round(part, 4), percent(part), tone)


def seconds(time: float | None) -> Cell:
    """A time in seconds."""
    return Cell(None if time is None else round(time, 1), time_words(time))


def time_words(time: float | None) -> str:
    """`4.2 s`, `1 m 52 s`, `12 m`, `1 h 20 m`; rounded to the smallest unit that is said."""
    if time is None:
        return NOTHING
    if round(time, 1) < 10:
        return f"{time:.1f} s"
    whole = round(time)
    if MINUTE <= whole < 10 * MINUTE:
        return f"{whole // MINUTE} m {whole % MINUTE:02} s"
    unit = 1 if whole < MINUTE else HOUR if whole >= DAY - MINUTE / 2 else MINUTE
    return length(round(time / unit) * unit)


def in_seconds(milliseconds: float | None) -> float | None:
    """Milliseconds as seconds."""
    return None if milliseconds is None else milliseconds / 1000


def time_table(steps: Sequence[tuple[date, Outcomes]]) -> Table:
    """Time to decision by step of the period."""
    columns = (
        Column("from_day", "From", is_number=False),
        Column("answered", "Answered"),
        Column("median_seconds", "Median"),
        Column("p95_seconds", "p95"),
    )
    rows = [
        [words(day.isoformat()), count(one.answered), *(seconds(in_seconds(time)) for time in one.times)]
        for day, one in steps
    ]
    return Table("time-to-decision", "Time to decision", columns, rows)


def queue_table(hours: Sequence[Depth]) -> Table:
    """How deep the queue is by the hour of the day."""
    columns = (
        Column("hour_utc", "Hour, UTC", is_number=False),
        Column("waiting", "Waiting"),
        Column("expired", "Expired"),
    )
    rows = [
        [
            words(f"{one.hour:02}:00"),
            Cell(round(one.waiting, 2), f"{one.waiting:.1f}"),
            Cell(round(one.expired, 2), f"{one.expired:.2f}" if one.expired else "0"),
        ]
        for one in hours
    ]
    return Table("queue-by-hour", "Queue by hour", columns, rows)


def outcome_table(cut: str, found: Mapping[Any, Outcomes], names: Mapping[Any, str]) -> Table:
    """How requests ended, by tool, agent, rule or team."""
    columns = (Column(cut, cut.capitalize(), is_number=False), *OUTCOME)
    rows = Rows(found.items(), lambda pair: [words(names.get(pair[0], str(pair[0]))), *outcome_row(pair[1])])
    return Table(f"outcomes-by-{cut}", f"Outcomes by {cut}", columns, rows)


def outcome_row(one: Outcomes) -> list[Cell]:
    """How some requests ended, in the columns of OUTCOME."""
    return [
        count(one.ended),
        *(share(one.rate(name)) for name in ("approved", "edited", "rejected", "responded", "expired")),
        count(one.counts["escalated"]),
        *(seconds(in_seconds(time)) for time in one.times),
        seconds(one.counts["waited_ms"] / 1000),
    ]


def edit_table(paths: Iterable[tuple[str, str, int]]) -> Table:
    """What people change most."""
    columns = (
        Column("tool", "Tool", is_number=False),
        Column("place", "Place in the arguments", is_number=False),
        Column("calls", "Calls"),
    )
    rows = [[words(tool), words(path or "/"), count(calls)] for tool, path, calls in paths]
    return Table("edits", "What edits change most", columns, rows)


def people_table(found: Iterable[Reviewer]) -> Table:
    """Load, answers and signs by reviewer."""
    columns = (
        Column("person", "Person", is_number=False),
        Column("votes", "Votes"),
        Column("approved_share", "Approve"),
        Column("edited_share", "Edit"),
        Column("rejected_share", "Reject"),
        Column("answered_in_its_place", "Answered"),
        Column("page_open_median_seconds", "Page open, median"),
        Column("too_quick_share", "Too quick"),
        Column("unopened_share", "Unopened"),
        Column("longest_streak", "Streak"),
        Column("signs", "Signs", is_number=False),
    )
    return Table("reviewers", "Reviewers", columns, Rows(found, _person))


def _person(one: Reviewer) -> list[Cell]:
    signs = one.signs
    return [
        words(one.member.person.name),
        count(one.votes),
        *(share(one.rate(name)) for name in ("approved", "edited", "rejected")),
        count(one.counts["responded"]),
        seconds(in_seconds(one.median)),
        share(one.quick, "warn" if "quick" in signs else ""),
        share(one.unopened, "warn" if "unopened" in signs else ""),
        Cell(one.streak.longest, f"{one.streak.longest:,}", "warn" if "streak" in signs else ""),
        words("; ".join(SIGNS[name] for name in signs)),
    ]


def work_table(
    found: Mapping[uuid.UUID, Work], waits: Mapping[uuid.UUID, Outcomes], names: Mapping[uuid.UUID, str]
) -> Table:
    """Forward progress and what waiting cost, by agent."""
    columns = (
        Column("agent", "Agent", is_number=False),
        Column("forward_progress_share", "Forward progress"),
        Column("useful_seconds", "Useful"),
        Column("redone_seconds", "Redone"),
        Column("recovery_seconds", "Recovery"),
        Column("checkpoints_seconds", "Checkpoints"),
        Column("waited_for_people_seconds", "Waited for people"),
        Column("tokens_paid", "Tokens paid"),
        Column("tokens_saved_by_resuming", "Tokens saved"),
    )
    rows = []
    for key in dict.fromkeys([*found, *waits]):
        one = found.get(key, Work())
        waited = waits[key].counts["waited_ms"] / 1000 if key in waits else 0.0
        rows.append(
            [
                words(names.get(key, str(key))),
                share(one.progress),
                *(seconds(time) for time in (one.useful, one.replay, one.recovery, one.overhead, waited)),
                count(one.paid),
                count(one.spared),
            ]
        )
    return Table("agents-at-work", "Agents at work", columns, rows)


def afterwards_table(found: Mapping[date, Counter[str]]) -> Table:
    """What was found afterwards, by step of the period."""
    columns = (
        Column("from_day", "From", is_number=False),
        Column("fine", "Fine"),
        *(Column(f"flagged_{name}", f"Flagged {name}") for name in SEVERITIES),
        Column("agreement_share", "Agreement"),
    )
    rows = [
        [
            words(day.isoformat()),
            *(count(one[name]) for name in (FINE, *SEVERITIES)),
            share(agreement(one)),
        ]
        for day, one in found.items()
    ]
    return Table("reviewed-afterwards", "Reviewed afterwards", columns, rows)


def trouble_table(found: Troubles) -> Table:
    """What should not be, call by call."""
    columns = (
        Column("what", "What", is_number=False),
        Column("at", "When", is_number=False),
        Column("tool", "Tool", is_number=False),
        Column("agent", "Agent", is_number=False),
        Column("run", "Run", is_number=False),
    )
    kinds = (("ran without approval", found.unapproved), ("approved, never executed", found.unused))
    rows = [
        [
            words(said),
            words(f"{call.created_at:%Y-%m-%d %H:%M:%S}Z"),
            words(call.tool_name),
            words(call.agent.name),
            words(str(call.run_id)),
        ]
        for said, calls in kinds
        for call in calls.newest
    ]
    rows += [
        [
            words("outcome unknown"),
            words(f"{row.created_at:%Y-%m-%d %H:%M:%S}Z"),
            words(row.tool_name),
            words(row.agent_name),
            words(str(row.run_id)),
        ]
        for row in found.unknown
    ]
    return Table("needs-a-look", "Needs a look", columns, rows)
