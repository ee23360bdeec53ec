"""A socket whose browser is gone."""

from __future__ import annotations

from typing import Any

from reviewhub.accounts.models import Member, Person
from reviewhub.accounts.permissions import MemberCaller
from reviewhub.live.consumers import Socket
from reviewhub.live.hub import hub


class Gone(Socket):
    """One that a browser left without a word."""

    scope: dict[str, Any] = {}

    async def _visitor(self) -> Any:
        return MemberCaller(Member(person=Person()))

    async def send(
        self, text_data: str | None = None, bytes_data: bytes | None = None, close: bool = False
    ) -> None:
        raise ConnectionResetError  # uvicorn's ClientDisconnected is an OSError, too


async def test_it_ends_quietly() -> None:
    assert await Gone()._tell(lambda caller, about: "news", None) is False
    assert await Gone()._tell(lambda caller, about: "", None) is True


class Left(Gone):
    """One whose visitor lost their place, at a browser that is gone already."""

    async def _visitor(self) -> Any:
        return None

    async def base_send(self, message: dict[str, Any]) -> None:
        raise ConnectionResetError


class Stopped(Gone):
    """One that a stopping server closes, at a browser that is gone already."""

    base_send = Left.base_send

    async def _tell(self, say: Any, about: Any) -> bool:
        return True

    async def _said(self, say: Any) -> None:
        """To no tables."""

    def _since(self) -> int:
        return 0


async def test_nobody_is_left_to_be_sent_away() -> None:
    assert await Left()._tell(lambda caller, about: "news", None) is False


async def test_a_stopping_server_ends_it_quietly_too() -> None:
    hub.close()
    try:
        await Stopped()._follow("workspace:1")
    finally:
        hub.open()
