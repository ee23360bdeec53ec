"""A socket whose browser is gone."""

from __future__ import annotations

from typing import Any

from reviewhub.live.consumers import Socket


class Gone(Socket):
    """One that a browser left without a word."""

    async def _visitor(self) -> Any:
        return object()

    async def send(
        self, text_data: str | None = None, bytes_data: bytes | None = None, close: bool = False
    ) -> None:
        raise ConnectionResetError  # uvicorn's ClientDisconnected is an OSError, too


async def test_it_ends_quietly() -> None:
    assert await Gone()._tell(lambda caller, about: "news", None) is False
    assert await Gone()._tell(lambda caller, about: "", None) is True
