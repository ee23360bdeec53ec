"""What many open queues are told of one change: who sits before them is asked once for all, and readers for whom the
same is true get the same words, made once.

Two hundred open queues are two hundred readers of each new request. Each asking for itself, the last one was told
seconds later (`benchmarks/live.py`).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async

from reviewhub.accounts.permissions import MemberCaller
from reviewhub.live import news
from reviewhub.live.visitor import Door, visitors

HOLDS_SECONDS: Final = 1.0
"""For so long a round counts: whoever is told of the same change later is asked for anew."""

Say = Callable[[MemberCaller], str]
Page = Callable[[MemberCaller], Hashable]


@dataclass(frozen=True, kw_only=True)
class Change:
    """What the pages of one workspace are told of; without requests it is only asked who is still there."""

    slug: str
    requests: frozenset[uuid.UUID]
    event_id: int
    """The newest event of it."""


class Round:
    """One change, told to everybody who had a queue of the workspace open when it began."""

    def __init__(self, change: Change, doors: set[Door]) -> None:
        self._doors = doors
        self._opened = _task(read, change, doors)
        self._words: dict[Hashable, asyncio.Task[str]] = {}

    def is_for(self, door: Door) -> bool:
        """Whether this reader was there when it began."""
        return door in self._doors

    async def told(self, door: Door, page: Page, say: Say) -> str | None:
        """What this reader is told; None when they may no longer be there.

        Args:
            page: what else the words depend on for this reader: the page's filters, the zone of its times.
            say: makes the words; called in a thread, and once for all readers of this kind.
        """
        callers, marked = await asyncio.shield(self._opened)
        caller = callers.get(door)
        if caller is None:
            return None
        kind = (kind_of(caller, marked), page(caller))
        if kind not in self._words:
            self._words[kind] = _task(say, caller)
        return await asyncio.shield(self._words[kind])


class Rounds:
    """The rounds of one event loop, and who has a queue open there. Only on that loop."""

    def __init__(self) -> None:
        self._doors: dict[object, Door] = {}
        self._going: dict[Change, Round] = {}

    def enter(self, socket: object, door: Door) -> None:
        """This socket shows a queue from now on."""
        self._doors[socket] = door

    def leave(self, socket: object) -> None:
        """It no longer does; a second time does nothing."""
        self._doors.pop(socket, None)

    def round_of(self, change: Change, door: Door) -> Round:
        """The round of this change which knows this reader; begins one if there is none."""
        going = self._going.get(change)
        if going is None or not going.is_for(door):
            doors = {one for one in self._doors.values() if one.slug == change.slug} | {door}
            going = self._going[change] = Round(change, doors)
            asyncio.get_running_loop().call_later(HOLDS_SECONDS, self._end, change, going)
        return going

    def _end(self, change: Change, ended: Round) -> None:
        if self._going.get(change) is ended:
            del self._going[change]


_of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Rounds] = WeakKeyDictionary()


def rounds() -> Rounds:
    """The rounds of the loop that runs."""
    return _of_loop.setdefault(asyncio.get_running_loop(), Rounds())


def read(change: Change, doors: set[Door]) -> tuple[dict[Door, MemberCaller], set[uuid.UUID]]:
    """Who is behind the doors now, and who of the members has marks of their own on what changed."""
    callers = visitors(doors)
    marked: set[uuid.UUID] = set()
    for workspace in {caller.workspace_id for caller in callers.values() if change.requests}:
        marked |= news.with_marks(change.requests, workspace_id=workspace)
    return callers, marked


def kind_of(caller: MemberCaller, marked: set[uuid.UUID]) -> Hashable:
    """Equal for readers to whom a row and the count look the same."""
    member = caller.member
    own = member.pk if member.pk in marked else None
    return (member.workspace_id, member.role, caller.team_ids, caller.lent_team_ids, own)


def _task(work: Callable[..., Any], *given: Any) -> asyncio.Task[Any]:
    return asyncio.ensure_future(database_sync_to_async(work)(*given))
