"""Addresses: the API below `/api/v1/`, pages everywhere else. `/healthz` and `/readyz` are answered before Django."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from reviewhub.ops.metrics import metrics

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("reviewhub.api.urls")),
    path("metrics", metrics),
    path("", include("reviewhub.web.urls")),
]
