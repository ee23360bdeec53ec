"""What a writer says its state is, whether it is so, and what becomes of it if not.

The agent registers schemas and names one with each state. An admin says for the agent what becomes of a state that does
not fit; the writer may ask for more. So nothing that an agent says loosens what an admin set; under an admin's `strict`
a state without a schema is refused, too.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reviewhub_agents import canonical, wire

from reviewhub.accounts.models import Agent
from reviewhub.checkpoints.misfits import Misfit, misfits_of
from reviewhub.checkpoints.models import Checkpoint, StateSchema
from reviewhub.checkpoints.tree import State
from reviewhub.core.errors import Invalid
from reviewhub.core.schemas.validate import Compiled, compiled

_ORDER = (Agent.Validation.OFF, Agent.Validation.WARN, Agent.Validation.STRICT)


class StateMisfit(Invalid):
    """The state is not what its schema says; nothing was stored."""

    code = "state_misfit"


@dataclass(frozen=True)
class Typed:
    """What is kept of it with a checkpoint."""

    schema: StateSchema | None = None
    misfits: str = ""


UNTYPED = Typed()


def typed(
    *, agent: Agent, named: wire.StateSchemaNamed | None, state: State, before: State | None, at: str
) -> Typed:
    """Looks at a state that is about to be saved; to be called before the transaction.

    Args:
        agent: as it is now: what an admin set is read from it.
        named: what the writer says the state is.
        before: the state that it probably follows.
        at: the path of the checkpoint in what was sent.

    Raises:
        Invalid: no such schema is registered, or none is named where an admin wants states checked strictly.
        StateMisfit: it does not fit and has to; every misfit with its path.
    """
    if named is None:
        if agent.state_validation == Agent.Validation.STRICT:
            why = "is required: an admin set that this agent's states have to fit their schemas"
            raise Invalid.at(f"{at}/state_schema", why, "missing")
        return UNTYPED
    schema = _named(agent, named, at)
    mode = max(agent.state_validation, named.validation or Agent.Validation.OFF, key=_ORDER.index)
    if mode == Agent.Validation.OFF:
        return Typed(schema)
    found = check(state, schema=schema, before=before)
    if found and mode == Agent.Validation.STRICT:
        raise refusal(found, schema, at=f"{at}/state")
    return Typed(schema, text_of(found))


def check(state: State, *, schema: StateSchema, before: State | None) -> list[Misfit]:
    """What of a state is not as a registered schema says."""
    ready = _ready(schema.pk, schema.fingerprint)
    return misfits_of(state, schema=ready, mark=schema.fingerprint, before=before)


def refusal(found: Sequence[Misfit], schema: StateSchema, *, at: str) -> StateMisfit:
    """What the writer of a state is told; `at` is the path of the state in what was sent."""
    errors = [one.error(below=at) for one in found]
    first = f"{errors[0]['path']}: {errors[0]['message']}"
    return StateMisfit(f"The state is not what {schema} says: {first}", errors=errors)


def text_of(found: Sequence[Misfit]) -> str:
    """Misfits as they are kept with a checkpoint, in few words: each has its own. Empty when there are none."""
    return canonical.dumps([[one.path, one.code, one.message] for one in found]) if found else ""


def kept_misfits(checkpoint: Checkpoint) -> list[Misfit]:
    """What of a checkpoint's state did not fit when it was saved."""
    kept: Any = canonical.reread(checkpoint.misfits) if checkpoint.misfits else []
    return [Misfit(path, code, message) for path, code, message in kept]


def _named(agent: Agent, named: wire.StateSchemaNamed, at: str) -> StateSchema:
    try:
        return _registered(agent.pk, named.name, named.version)
    except StateSchema.DoesNotExist as error:
        why = f"this agent has registered no version {named.version} of a state {named.name!r}"
        raise Invalid.at(f"{at}/state_schema", why, "not_found") from error


@lru_cache(maxsize=512)
def _registered(agent_id: uuid.UUID, name: str, version: int) -> StateSchema:
    """The row, which never changes, so that a save need not ask for it again."""
    return StateSchema.objects.defer("schema").get(agent=agent_id, name=name, version=version)


@lru_cache(maxsize=128)
def _ready(pk: int, mark: str) -> Compiled:
    """A schema ready for use. Rows never change; the fingerprint is part of the key so that a number means one text."""
    return compiled(StateSchema.objects.values_list("schema", flat=True).get(pk=pk, fingerprint=mark))
