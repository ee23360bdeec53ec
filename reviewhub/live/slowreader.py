"""A client that reads its answer too slowly must not hold a WSGI thread."""

from __future__ import annotations

import asyncio

from reviewhub.live.asgi_types import Message, Send

SEND_SECONDS = 30.0


def patient_send(send: Send, *, seconds: float = SEND_SECONDS) -> Send:
    """`send` that waits `seconds` for the client to take a piece, and from then on drops what is left.

    Dropping instead of raising lets the thread that produces the answer run to its end; the server ends the connection,
    since the answer is not complete.
    """
    gone = False

    async def guarded(message: Message) -> None:
        nonlocal gone
        if gone:
            return
        try:
            async with asyncio.timeout(seconds):
                await send(message)
        except TimeoutError:
            gone = True

    return guarded
