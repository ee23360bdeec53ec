"""An older version is put in force again, as a new one."""

from __future__ import annotations

from reviewhub.accounts.models import Workspace
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Invalid
from reviewhub.policies.models import PolicyVersion
from reviewhub.policies.publish import publish
from reviewhub.policies.queries import version


def roll_back(*, workspace: Workspace, number: int, note: str, base: int, actor: Actor) -> PolicyVersion:
    """Publishes what version `number` said as the next version. Nothing is taken out of the history.

    It is checked like any policy: a team that is gone, or a path that its tools no longer have, is refused. What its
    rules let run are the tools that are registered now.

    Raises:
        NotFound: there is no such version.
        Invalid: it is the one in force; else as for `publish`.
        NotAnyMore, Changed: as for `publish`.
    """
    older = version(workspace.pk, number)
    if number == base:
        raise Invalid.at("/number", f"Policy v{number} is in force already.")
    return publish(
        workspace=workspace, rules_text=older.rules, note=note, base=base, actor=actor, restores=number
    )
