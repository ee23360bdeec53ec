"""How much of what clients are sending may be in memory at once: in all, and of one client.

Bytes count when they are here, not when they are announced: who announces and stays silent takes nothing. Senders
that nobody knows (no key, no living session) have a small part of their own, so they can take nothing from the others.
Where a client has too many bodies under way its oldest one ends: an honest form is whole within milliseconds, so a
person behind the same address as somebody who sends slowly on purpose still gets through.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections import Counter
from dataclasses import dataclass, field

from reviewhub.live.asgi_types import Scope
from reviewhub.live.refuse import Refused

OPEN_ANONYMOUS = 50
OPEN_KNOWN = 500
"""Bodies of one client that may be arriving at the same time."""
ANONYMOUS_PART = 10
"""One in so many of the bytes is for senders that nobody knows."""


@dataclass(eq=False)
class Body:
    """One body: while it arrives, and until its request is answered."""

    client: str
    known: bool
    held: int = 0
    clock: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    put_out: bool = False
    """Whether it had to make room for a later one."""

    @property
    def owner(self) -> tuple[bool, str]:
        """Whose share it counts to."""
        return self.known, self.client


class Room:
    """Counts the bodies of one process. Belongs to one event loop; nothing here waits."""

    def __init__(self, *, most_bytes: int, body_bytes: int, anonymous_bytes: int) -> None:
        """`most_bytes` for all; the others say how large one body may be, of known senders and of unknown ones."""
        anonymous = max(most_bytes // ANONYMOUS_PART, anonymous_bytes)
        self._most = {True: max(most_bytes - anonymous, body_bytes), False: anonymous}
        self._share = {
            True: max(self._most[True] // 2, body_bytes),
            False: max(anonymous // 2, anonymous_bytes),
        }
        self._held: Counter[bool] = Counter()
        self._held_by: Counter[tuple[bool, str]] = Counter()
        self._arriving: dict[tuple[bool, str], dict[Body, None]] = {}

    @property
    def held(self) -> int:
        """The bytes in memory now."""
        return self._held.total()

    def enter(self, client: str, *, known: bool, announced: int) -> Body:
        """A body begins to arrive. Raises Refused when what it announces would find no place now."""
        body = Body(client=client, known=known)
        if known and not self._fits(body, announced):
            raise busy()
        others = self._arriving.setdefault(body.owner, {})
        if len(others) >= (OPEN_KNOWN if known else OPEN_ANONYMOUS):
            self._put_out(next(iter(others)))
        self._arriving.setdefault(body.owner, {})[body] = None
        return body

    def take(self, body: Body, size: int) -> None:
        """So many bytes more of it are here. Raises Refused when there is no place for them, or it was put out."""
        if body.put_out:
            raise busy()  # Its task may have been on its way already when it was told to end.
        while not self._fits(body, size):
            other = None if body.known else self._in_the_way_of(body, size)
            if other is None:
                raise busy()
            self._put_out(other)
        body.held += size
        self._held[body.known] += size
        self._held_by[body.owner] += size

    def arrived(self, body: Body) -> None:
        """It is whole; its bytes stay counted until `leave`. Raises Refused when it was put out just now."""
        self._forget(body)
        if body.put_out:
            raise busy()

    def leave(self, body: Body) -> None:
        """Its request is answered or refused."""
        self._forget(body)
        self._held[body.known] -= body.held
        self._held_by[body.owner] -= body.held
        if not self._held_by[body.owner]:
            del self._held_by[body.owner]
        body.held = 0

    def _fits(self, body: Body, size: int) -> bool:
        known = body.known
        return (
            self._held[known] + size <= self._most[known]
            and self._held_by[body.owner] + size <= self._share[known]
        )

    def _in_the_way_of(self, body: Body, size: int) -> Body | None:
        """The oldest other body of the same client when its share is full, else of the client that holds the most."""
        owner = body.owner
        if self._held_by[owner] + size <= self._share[body.known]:
            owner = max((one for one in self._arriving if not one[0]), key=lambda one: self._held_by[one])
        return next((other for other in self._arriving.get(owner, {}) if other is not body), None)

    def _put_out(self, body: Body) -> None:
        body.put_out = True
        with contextlib.suppress(RuntimeError):  # its own time was over in this very moment
            body.clock.reschedule(asyncio.get_running_loop().time())
        self.leave(body)

    def _forget(self, body: Body) -> None:
        found = self._arriving.get(body.owner, {})
        found.pop(body, None)
        if not found:
            self._arriving.pop(body.owner, None)


def busy() -> Refused:
    """503: there is no place for this body now."""
    return Refused(
        503, "try_again", "Too many large bodies at once; try again.", headers={"retry-after": "1"}
    )


def client_of(scope: Scope) -> str:
    """Whose share a request counts to: the address, of IPv6 the network of 64 bits that one client has to itself.

    Behind a proxy that `FORWARDED_ALLOW_IPS` names the server has put the visitor's own address here.
    """
    address = str((scope.get("client") or ("",))[0])
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return address
