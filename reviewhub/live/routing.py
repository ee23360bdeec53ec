"""Where WebSockets go."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from reviewhub.live.consumers import NoSocket, QueueSocket, RequestSocket, RunSocket

websocket_urlpatterns: list[URLPattern] = [
    path("ws/<slug:slug>/queue", QueueSocket.as_asgi()),
    path("ws/<slug:slug>/requests/<int:number>", RequestSocket.as_asgi()),
    path("ws/<slug:slug>/runs/<uuid:run_id>", RunSocket.as_asgi()),
    re_path("", NoSocket.as_asgi()),
]
