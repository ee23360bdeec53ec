"""The client against the real server, where a fake one could agree with it in a mistake."""

from __future__ import annotations

from uuid import UUID

import pytest
from reviewhub_agents import wire
from reviewhub_agents.client import Client

from tests.agents import server
from tests.cast import Cast, make_test_agent


@pytest.mark.django_db
def test_all_checkpoints_of_a_run_are_listed_page_by_page(cast: Cast) -> None:
    _, _, key = make_test_agent(cast.support, name="Lister")
    with Client(server.URL, key=key, transport=server.transport()) as client:
        run = client.start_run(wire.RunStart(title="Long"))
        saved = [client.save_checkpoint(run.id, wire.CheckpointSave(state={"n": n})).id for n in range(60)]
        listed: list[UUID] = []
        cursor: str | None = None
        for _ in range(3):
            page = client.list_checkpoints(run.id, cursor=cursor)
            listed += [one.id for one in page.items]
            cursor = page.next
            if cursor is None:
                break
    assert listed == saved[::-1]
