"""What the API's schema says that cannot be read off the views: who calls, and that bodies are JSON."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class AgentKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A key of one agent in one workspace."""

    target_class = "reviewhub.api.authentication.AgentKeyAuthentication"
    name = "agentKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "An agent's key: rh_…"}


class PersonScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session of the pages; what writes needs the CSRF token too."""

    target_class = "reviewhub.api.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The session's cookie."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


class ApiSchema(AutoSchema):
    """The description of one endpoint. The views read bodies themselves, with no parser of the framework."""

    def map_parsers(self) -> list[str]:
        """The one media type of every body; without any, no body would be described."""
        return ["application/json"]
