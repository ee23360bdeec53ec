"""The hosted agent of the engine's tests."""

from __future__ import annotations

from tests.hosting.conftest import hosted, payer

__all__ = ["hosted", "payer"]
