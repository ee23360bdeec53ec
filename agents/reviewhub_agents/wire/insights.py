"""Whether reviewing works, in figures."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from .base import Wire
from .fields import Count, Id, JsonObject, Label, Name, Text, Time

Day = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


class NarrowedTo(Wire):
    """What the figures are of, where they are not of everything; `rule` is `-` for what no rule asked for."""

    agent: Id | None = None
    tool: Name | None = None
    rule: Name | None = None
    team: Id | None = None


class InsightTableOut(Wire):
    """One table of the page: an object for each row, with its `columns` in their order.

    A share is from 0 to 1, a time in seconds; null is nothing to tell.
    """

    title: Label
    columns: list[Name]
    rows: list[JsonObject]


class InsightsOut(Wire):
    """`GET /insights`: of the days from `since` to `until`, both with it.

    `total` is all of them as one row of outcomes, `before` the same of as many days before. `tables` are those of the
    page by the names of its files, with all their rows. `waiting` is how many requests wait now, in the whole
    workspace, and `overdue` how many of those are past their deadline (10000 is that or more). `open_looks` and
    `open_follow_ups` wait now, `unapproved`, `unused` and `unknown` are how many calls `needs-a-look` is about (10000
    is that or more). `counted_until` is when days were last counted.
    """

    since: Day
    until: Day
    narrowed_to: NarrowedTo
    total: JsonObject
    before: JsonObject
    waiting: Count
    overdue: Count
    open_looks: Count
    open_follow_ups: Count
    unapproved: Count
    unused: Count
    unknown: Count
    tables: dict[Text, InsightTableOut]
    counted_until: Time | None = None
