"""One port: HTTP through the WSGI bridge (half the CPU of Django's own ASGI path), WebSockets through channels."""

from __future__ import annotations

import os
from typing import cast

from a2wsgi import WSGIMiddleware
from a2wsgi.wsgi_typing import WSGIApp
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
# Loads the apps, so everything that imports models comes after it.
wsgi = get_wsgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from reviewhub.live.asgi_types import App  # noqa: E402
from reviewhub.live.bodygate import BodyGate, Limits  # noqa: E402
from reviewhub.live.hub import hub  # noqa: E402
from reviewhub.live.keycheck import KeyCheck  # noqa: E402
from reviewhub.live.lifespan import lifespan  # noqa: E402
from reviewhub.live.origin import SameOrigin  # noqa: E402
from reviewhub.live.probes import Probes  # noqa: E402
from reviewhub.live.routing import websocket_urlpatterns  # noqa: E402
from reviewhub.live.waitgate import WaitGate  # noqa: E402
from reviewhub.ops.ready import problems  # noqa: E402


def key_is_known(token: str) -> bool:
    """Whether an agent's key may be used; asked before a body is read."""
    from reviewhub.api import authentication

    return bool(authentication.key_is_known(token))


def session_is_known(key: str) -> bool:
    """Whether it is the session of somebody signed in; asked before a body is read."""
    from reviewhub.live.visitor import is_signed_in

    return is_signed_in(key)


def http() -> App:
    """From the outside in: probes, the whole body within its limits, long polling, Django on a few threads."""
    bridge = cast(App, WSGIMiddleware(cast(WSGIApp, wsgi), workers=settings.WSGI_THREADS))
    waiting = WaitGate(bridge, hub=hub, most_seconds=settings.LIMIT_WAIT_SECONDS)
    limits = Limits(
        body_bytes=settings.LIMIT_BODY_BYTES,
        body_seconds=settings.LIMIT_BODY_SECONDS,
        buffered_bytes=settings.LIMIT_BUFFERED_BYTES,
        session_cookie=settings.SESSION_COOKIE_NAME,
    )
    return Probes(
        BodyGate(waiting, limits=limits, keys=KeyCheck(key_is_known), sessions=KeyCheck(session_is_known)),
        ready=problems,
    )


application = ProtocolTypeRouter(
    {
        "http": http(),
        "websocket": SameOrigin(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
