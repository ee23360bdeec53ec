"""A branch to save on, as in the tests of checkpoints."""

from __future__ import annotations

from tests.checkpoints.conftest import branch

__all__ = ["branch"]
