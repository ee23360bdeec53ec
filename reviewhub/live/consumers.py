"""Open pages: each socket follows the hints of its topic and tells the page what the tables say.

A socket holds no database connection while it waits. It subscribes first and reads then, so nothing falls between;
whatever it missed before that is told by `since`. Every time it reads, it asks again who is behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
import uuid
from collections.abc import Hashable, Sequence
from datetime import tzinfo
from typing import Any
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error
from django.utils import timezone

from reviewhub.accounts.permissions import Action, MemberCaller, Target, allowed
from reviewhub.accounts.zone import zone_of
from reviewhub.live import news
from reviewhub.live.hub import RESYNC, Hint, Subscription, hub
from reviewhub.live.rounds import Change, rounds
from reviewhub.live.visitor import door_of, visitor
from reviewhub.reviews.filters import OF_ONESELF, Filters, filters_of
from reviewhub.reviews.look import RENEW_SECONDS, look, look_away
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.queries import Span, newest_event
from reviewhub.reviews.targets import request_target, run_target
from reviewhub.runs.models import Run

logger = logging.getLogger(__name__)

NOT_YOURS = 4404
ENDED = 4403
STOPPING = 1012  # htmx tries again after this
GATHER_SECONDS = 0.05  # events of one transaction arrive together
LOOK_AGAIN_SECONDS = RENEW_SECONDS


class Socket(AsyncWebsocketConsumer):  # type: ignore[misc] # channels ships no types
    """What all pages have in common: the door, the loop, and the end."""

    follower: asyncio.Task[None] | None = None
    shows_presence = False
    """Whether the others see who has the page open."""

    async def connect(self) -> None:
        """Opens for members only; a stranger learns nothing, also not whether the page exists."""
        caller = await self._visitor()
        topics = await database_sync_to_async(self.topics)(caller) if caller is not None else ()
        if not topics:
            await self.close(code=NOT_YOURS)
            return
        await self.accept()
        self.follower = asyncio.create_task(self._live(*topics))

    async def disconnect(self, code: int) -> None:
        """Ends the loop with the socket."""
        if self.follower is not None:
            self.follower.cancel()
            await self._gone()

    def here(self, caller: MemberCaller) -> None:
        """Called when the page opened and every RENEW_SECONDS while it stays: somebody is there."""

    def gone(self, caller: MemberCaller) -> None:
        """Called when the page closed."""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Pages say nothing: decisions are plain POSTs."""

    def topics(self, caller: MemberCaller) -> Sequence[str]:
        """What to follow; nothing when the caller may not."""
        raise NotImplementedError

    def first(self, caller: MemberCaller, since: int) -> str:
        """What is told at once."""
        raise NotImplementedError

    def told(self, caller: MemberCaller, hints: list[Hint]) -> str:
        """What is told after hints; empty for nothing."""
        raise NotImplementedError

    async def _live(self, *topics: str) -> None:
        try:
            await self._follow(*topics)
        except Exception:
            # A page that nobody tells anything looks as if nothing happened; a closed one connects again and reads.
            logger.warning("a page could not be told", exc_info=True)
            await self._end(STOPPING)

    async def _follow(self, *topics: str) -> None:
        with hub.subscribe(*topics) as subscription:
            if not await self._tell(self.first, self._since()):
                return
            beat = -math.inf
            while True:
                if self.shows_presence and time.monotonic() >= beat + RENEW_SECONDS:
                    beat = time.monotonic()
                    await self._said(self.here)
                hints = await self._hints(subscription)
                if subscription.closed:
                    await self._end(STOPPING)
                    return
                if not await self._hear(hints):
                    return

    async def _hear(self, hints: list[Hint]) -> bool:
        return await self._tell(self.told, hints)

    async def _gone(self) -> None:
        if self.shows_presence:
            await self._said(self.gone)

    async def _said(self, say: Any) -> None:
        """Tells the tables about whoever is behind the socket, if they are somebody still."""
        try:
            caller = await self._visitor()
            if caller is not None:
                await database_sync_to_async(say)(caller)
        except Error:
            # A word about presence may be lost; what the page shows of its request may not.
            logger.warning("presence was not kept", exc_info=True)

    async def _hints(self, subscription: Subscription) -> list[Hint]:
        hints = await subscription.wait(LOOK_AGAIN_SECONDS)
        if hints:
            await asyncio.sleep(GATHER_SECONDS)
            hints += await subscription.wait(0)
        return hints

    async def _tell(self, say: Any, about: Any) -> bool:
        """Sends what there is to say; False when whoever is behind the socket may no longer be there."""
        caller = await self._visitor()
        if caller is None:
            await self._end(ENDED)
            return False
        return await self._send(await database_sync_to_async(self._in_their_zone)(caller, say, about))

    async def _send(self, text: str) -> bool:
        if text:
            try:
                await self.send(text_data=text)
            except OSError:
                # The browser went away; `disconnect` is on its way.
                return False
        return True

    def _in_their_zone(self, caller: MemberCaller, say: Any, about: Any) -> str:
        """What there is to say, with times as a page has them for this reader."""
        with timezone.override(self._zone(caller)):
            text: str = say(caller, about)
            return text

    def _zone(self, caller: MemberCaller) -> tzinfo:
        return zone_of(caller.member.person, self.scope.get("cookies"))

    async def _end(self, code: int) -> None:
        # A browser that went away first needs to be told nothing; `disconnect` is on its way.
        with contextlib.suppress(OSError):
            await self.close(code=code)

    async def _visitor(self) -> MemberCaller | None:
        found: MemberCaller | None = await database_sync_to_async(visitor)(self.scope, self._slug())
        return found

    def _slug(self) -> str:
        slug: str = self.scope["url_route"]["kwargs"]["slug"]
        return slug

    def _since(self) -> int:
        given = self._query().get("since", ["0"])[0]
        return int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0

    def _query(self) -> dict[str, list[str]]:
        return parse_qs(self.scope["query_string"].decode("latin-1"))


class NoSocket(AsyncWebsocketConsumer):  # type: ignore[misc] # channels ships no types
    """Every address where there is nothing to follow: closed as if it were somebody else's."""

    async def connect(self) -> None:
        """Never opens."""
        await self.close(code=NOT_YOURS)


class QueueSocket(Socket):
    """The queue: changed cells at once, new rows for the reader to take."""

    _asked = -math.inf

    def topics(self, caller: MemberCaller) -> Sequence[str]:
        """The whole workspace; rows are narrowed when they are read."""
        target = Target(workspace_id=caller.workspace_id)
        return (f"workspace:{caller.workspace_id}",) if allowed(caller, Action.QUEUE_READ, target) else ()

    def first(self, caller: MemberCaller, since: int) -> str:
        """What happened since the page was read."""
        changed = news.missed(caller, since)
        if changed is None:
            return news.queue_reload(caller)
        since = max(since, newest_event(caller.workspace_id))
        return news.queue_news(caller, changed, filters=self._filters(caller), since=since, span=self._span())

    def told(self, caller: MemberCaller, hints: list[Hint]) -> str:
        """The rows that the hints name."""
        if any(hint.kind == RESYNC for hint in hints):
            return self.first(caller, self._since())
        return self._news(caller, self._change(hints))

    async def _follow(self, *topics: str) -> None:
        door = door_of(self.scope, self._slug())
        if door is None:
            return
        rounds().enter(self, door)
        try:
            await super()._follow(*topics)
        finally:
            rounds().leave(self)

    async def _hear(self, hints: list[Hint]) -> bool:
        """Together with all whose queue is open, except for what is a reason to read everything anew."""
        door, change = door_of(self.scope, self._slug()), self._change(hints)
        if door is None or any(hint.kind == RESYNC for hint in hints):
            return await super()._hear(hints)
        # Most of what happens in a workspace is nothing to a queue: then nobody is asked, and nothing said.
        if hints and not change.requests and time.monotonic() < self._asked + LOOK_AGAIN_SECONDS:
            return True
        self._asked = time.monotonic()
        going = rounds().round_of(change, door)
        text = await going.told(
            door, self._page, lambda caller: self._in_their_zone(caller, self._news, change)
        )
        if text is None:
            await self._end(ENDED)
            return False
        return await self._send(text)

    def _change(self, hints: list[Hint]) -> Change:
        requests = frozenset(hint.request_id for hint in hints if hint.request_id is not None)
        newest = max((hint.event_id for hint in hints), default=0)
        return Change(slug=self._slug(), requests=requests, event_id=newest if requests else 0)

    def _news(self, caller: MemberCaller, change: Change) -> str:
        if not change.requests:
            return ""
        return news.queue_news(
            caller,
            change.requests,
            filters=self._filters(caller),
            since=change.event_id,
            span=self._span(),
        )

    def _page(self, caller: MemberCaller) -> Hashable:
        """What this page's words depend on beside the reader's role and teams."""
        query = self._query()
        shown = tuple((name, *values) for name, values in sorted(query.items()) if name != "since")
        return shown, self._zone(caller), caller.member.pk if query.keys() & OF_ONESELF else None

    def _span(self) -> Span:
        """The part of the queue that the page shows: from its own cursor up to that of the page after it."""
        query = self._query()
        return Span(after=query.get("cursor", [""])[0], until=query.get("until", [""])[0])

    def _filters(self, caller: MemberCaller) -> Filters:
        """What the page is narrowed down to: the socket's address has the parameters of the page's."""
        return filters_of(self._query(), caller=caller)


class RequestSocket(Socket):
    """One request: the page is told to look again, and asks for its changing parts."""

    shows_presence = True

    def topics(self, caller: MemberCaller) -> Sequence[str]:
        """The request's run: its calls tell how the decision ended. And the policy: it may deny the call by now."""
        row = self._row(caller)
        if row is None or not allowed(caller, Action.REQUEST_READ, request_target(row)):
            return ()
        return f"run:{row.run_id}", f"policy:{caller.workspace_id}"

    def first(self, caller: MemberCaller, since: int) -> str:
        """Something may have happened while the page was on its way."""
        return news.look_again(self._path(), since=since)

    def told(self, caller: MemberCaller, hints: list[Hint]) -> str:
        """Anything about the run or the policy is a reason to look."""
        return news.look_again(self._path(), since=max(hint.event_id for hint in hints)) if hints else ""

    def here(self, caller: MemberCaller) -> None:
        """The others see who has it open."""
        if (row := self._row(caller)) is not None:
            look(request_id=row.pk, member=caller.member)

    def gone(self, caller: MemberCaller) -> None:
        """And that they closed it."""
        if (row := self._row(caller)) is not None:
            look_away(request_id=row.pk, member=caller.member)

    def _row(self, caller: MemberCaller) -> ReviewRequest | None:
        return news.request_of(caller, self.scope["url_route"]["kwargs"]["number"])

    def _path(self) -> str:
        kwargs = self.scope["url_route"]["kwargs"]
        return f"/{kwargs['slug']}/requests/{kwargs['number']}/live"


class RunSocket(Socket):
    """One run: the same way."""

    def topics(self, caller: MemberCaller) -> Sequence[str]:
        """The run, if the caller may see it."""
        run = (
            Run.objects.select_related("agent")
            .filter(pk=self._run(), workspace_id=caller.workspace_id)
            .first()
        )
        if run is None or not allowed(caller, Action.RUN_READ, run_target(run)):
            return ()
        return (f"run:{run.pk}",)

    def first(self, caller: MemberCaller, since: int) -> str:
        """A step may have been saved while the page was on its way, or its socket away; that is not even an event."""
        return news.look_again(self._path(), since=since)

    def told(self, caller: MemberCaller, hints: list[Hint]) -> str:
        """Anything about the run is a reason to look."""
        return news.look_again(self._path(), since=max(hint.event_id for hint in hints)) if hints else ""

    def _path(self) -> str:
        return f"/{self.scope['url_route']['kwargs']['slug']}/runs/{self._run()}/live"

    def _run(self) -> uuid.UUID:
        run: uuid.UUID = self.scope["url_route"]["kwargs"]["run_id"]
        return run
