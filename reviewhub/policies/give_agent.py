"""People change which lines of policy are about an agent's calls: they see before what that frees; it is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.make_key import MadeKey, make_key
from reviewhub.accounts.models import Agent, Member, Team
from reviewhub.accounts.move_agent import move_agent
from reviewhub.accounts.permissions import Action, Target
from reviewhub.core.actors import Actor
from reviewhub.core.errors import Conflict
from reviewhub.policies.loosening import Loosened, by_key, by_moving, digest_of


class Frees(Conflict):
    """Policy would ask less of some calls then; whoever wants that says that they saw which."""

    code = "frees"

    def __init__(self, found: Sequence[Loosened]) -> None:
        super().__init__(
            "Policy would ask less of some of its calls then. Nothing was changed yet.",
            frees=[str(one) for one in found],
            sure=digest_of(found),
        )
        self.found = list(found)


@transaction.atomic
def give_agent(*, agent: Agent, team: Team, sure: str, actor: Actor) -> Agent:
    """Moves an agent to another team, as `accounts.move_agent`.

    Args:
        sure: what `Frees` said of the list that was seen; empty where none was.

    Raises:
        Frees: less would be asked of its calls, and that is not what was seen.
        Invalid, NotAnyMore: as `move_agent`.
    """
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=agent.workspace_id))
    found = by_moving(agent, team)
    if digest_of(found) not in ("", sure):
        raise Frees(found)
    return move_agent(agent=agent, team=team, actor=actor, frees=[str(one) for one in found])


@transaction.atomic
def give_key(
    *, agent: Agent, name: str, environment: str, sure: str, actor: Actor, made_by: Member
) -> MadeKey:
    """Makes a key, as `accounts.make_key`; for another environment than those of the agent's keys less may be asked.

    Raises:
        Frees: less would be asked of calls by this key, and that is not what was seen.
        Invalid, NotAnyMore: as `make_key`.
    """
    still_may(actor, Action.AGENTS_EDIT, Target(workspace_id=agent.workspace_id))
    found = by_key(agent, environment)
    if digest_of(found) not in ("", sure):
        raise Frees(found)
    frees = [str(one) for one in found]
    return make_key(
        agent=agent, name=name, environment=environment, actor=actor, made_by=made_by, frees=frees
    )
