"""`/api/v1/schema` describes what is sent, not only what comes back."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.test import Client

TAKE_NO_BODY = {
    "checkpoints/{checkpoint}/unpin",
    "observations/{observation}/reopen",
    "policy/backtests/{backtest}/cancel",
    "requests/{request_id}/release",
    "requests/{request_id}/withdraw-vote",
    "stand-ins/{stand_in}/end",
}


@pytest.fixture(scope="module")
def description() -> Any:
    return yaml.safe_load(Client().get("/api/v1/schema").content)


class TestBodies:
    def test_every_body_is_described(self, description: Any) -> None:
        without = {
            path.removeprefix("/api/v1/")
            for path, methods in description["paths"].items()
            for method, one in methods.items()
            if method in ("post", "put") and "requestBody" not in one
        }
        assert without == TAKE_NO_BODY

    def test_by_the_messages_of_the_contract(self, description: Any) -> None:
        (media, body), *others = description["paths"]["/api/v1/runs/{run}/pauses"]["post"]["requestBody"][
            "content"
        ].items()
        assert (media, body["schema"], others) == (
            "application/json",
            {"$ref": "#/components/schemas/PauseBody"},
            [],
        )
        assert "tool_calls" in description["components"]["schemas"]["PauseBody"]["required"]
