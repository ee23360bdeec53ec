"""WebSockets carry cookies from any page, so the page's origin decides whether one may open here."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings

from reviewhub.live.asgi_types import App, Receive, Scope, Send


class SameOrigin:
    """Lets a WebSocket through when its Origin is this very host (port included) or a trusted origin.

    Allowed hosts are not enough: cookies do not know ports, so a page of another program on this machine would pass.
    """

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if allowed(dict(scope["headers"])):
            await self.app(scope, receive, send)
        else:
            await receive()  # the browser's wish to connect, refused with 403
            await send({"type": "websocket.close"})


def allowed(headers: dict[bytes, bytes]) -> bool:
    """Whether the headers' Origin and Host belong together; no Origin means no browser's page, and is refused too."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    parts = urlsplit(origin)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return False
    return parts.netloc.lower() == host.lower() or origin in settings.CSRF_TRUSTED_ORIGINS
