"""An agent's run with its branch main, and short ways to save and read."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.draft import draft
from reviewhub.checkpoints.load import load
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.save import save
from reviewhub.core.actors import Actor
from reviewhub.runs.models import Branch, Run
from reviewhub.runs.queries import locked_branch
from reviewhub.runs.start import start
from tests.cast import Cast, by_key, make_test_agent
from tests.shared import shared

AGENT = Actor(kind="agent", name="Support agent", source="api")
BOB = Actor(kind="person", name="Bob", source="page")


def new_run(cast: Cast) -> Run:
    """A run of Support's agent."""
    key = make_test_agent(cast.support)[1]
    return start(key=key, body=wire.RunStart(), actor=by_key(key))[0]


@shared
def branch(cast: Cast) -> Branch:
    """The branch main of a run that has just begun."""
    return new_run(cast).branches.get()


def put(branch: Branch, state: str = "{}", **fields: Any) -> Checkpoint:
    """Saves the JSON text `state` as an agent does: draft outside, save inside a transaction with the branch locked."""
    return put_message(branch, {"state": canonical.parse(state), **fields})


def put_message(branch: Branch, tree: dict[str, Any]) -> Checkpoint:
    """Saves what the message `tree` says."""
    prepared = draft(branch=branch, message=wire.CheckpointIn.from_tree(tree))
    with transaction.atomic():
        return save(branch=locked_branch(branch.id), draft=prepared, actor=AGENT)


def read(checkpoint: Checkpoint) -> str:
    """The state's text, read anew from the database."""
    return load(Checkpoint.objects.get(pk=checkpoint.pk))
