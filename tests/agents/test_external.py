"""The demo in plain Python: it registers its tool, asks, and says in one line what is missing."""

from __future__ import annotations

import httpx
import pytest
from reviewhub_agents.client import Client
from reviewhub_agents.demos import external

from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast, make_test_agent
from tests.driver import policy

from . import server
from .fake import KEY, FakeHub


def start(monkeypatch: pytest.MonkeyPatch, transport: httpx.BaseTransport, *, key: str = KEY) -> int:
    monkeypatch.setenv("REVIEWHUB_URL", server.URL)
    monkeypatch.setenv("REVIEWHUB_KEY", key)

    def client(url: str, *, key: str) -> Client:
        return Client(url, key=key, patience=0.5, transport=transport)

    monkeypatch.setattr(external, "Client", client)
    return external.main()


def test_its_tool_is_registered_before_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = FakeHub()
    assert start(monkeypatch, hub.transport()) == 0
    assert hub.tools[external.TOOL]["effect"] == "once"
    assert [call.state for call in hub.calls.values()] == ["succeeded"]


def test_a_rule_that_lets_it_run_lets_it_run(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, key = make_test_agent(cast.support)
    rule = {"name": "Refunds", "tool": external.TOOL}
    for action, state in (("deny", "denied"), ("allow", "succeeded")):
        # It registers its tool when it starts, so only the second policy knows the tool.
        policy(cast.support, {**rule, "action": action})
        assert start(monkeypatch, server.transport(), key=key) == 0
        assert ToolCall.objects.latest("created_at").state == state
    assert "Waiting" not in capsys.readouterr().out


@pytest.mark.parametrize("missing", [("REVIEWHUB_KEY",), ("REVIEWHUB_URL", "REVIEWHUB_KEY")])
def test_what_is_missing_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: tuple[str, ...]
) -> None:
    monkeypatch.setenv("REVIEWHUB_URL", server.URL)
    for name in missing:
        monkeypatch.delenv(name, raising=False)
    assert external.main() == 1
    said = capsys.readouterr().err
    assert said.startswith(" and ".join(missing)) and said.count("\n") == 1


def test_a_wrong_key_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(monkeypatch, FakeHub().transport(), key="rh_wrong") == 1
    assert capsys.readouterr().err.endswith("No: unauthenticated. (401 unauthenticated)\n")
