"""A member looks at the values of a call that are masked everywhere else: an act of its own, on the record."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db import transaction
from reviewhub_agents import canonical

from reviewhub.accounts.acting import still_may
from reviewhub.accounts.permissions import Action
from reviewhub.audit.record import record
from reviewhub.core.actors import Actor
from reviewhub.core.display.masking import secret_values
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.core.errors import Invalid
from reviewhub.core.text import check_text
from reviewhub.reviews.kinds import SecretRevealed
from reviewhub.reviews.lock import check_not_erased, lock_request
from reviewhub.reviews.present import schema_of
from reviewhub.reviews.targets import request_target
from reviewhub.toolcalls.models import CallVersion


@dataclass(frozen=True)
class Revealed:
    """The hidden values of one version, by JSON pointer."""

    version: int
    digest: str
    values: dict[str, canonical.Tree]


@transaction.atomic
def reveal(*, request_id: uuid.UUID, reason: str, actor: Actor) -> Revealed:
    """The hidden values of the version that is asked about now, once they are on the record as seen.

    Raises:
        NotAnyMore: this person may not see them any more.
        RunErased: what the run held was erased.
        Invalid: no reason is given, or nothing is hidden.
    """
    check_text(reason, path="/reason")
    reason = reason.strip()
    if not reason:
        raise Invalid.at("/reason", "Say why you look at it; it goes on the record.")
    row = lock_request(request_id).request
    still_may(actor, Action.SECRET_REVEAL, request_target(row))
    check_not_erased(row)
    version = CallVersion.objects.get(tool_call_id=row.tool_call_id, version=row.version)
    marked = write_only_paths(schema_of(row), version.arguments)
    hidden = secret_values(canonical.reread(version.arguments), marked)
    if not hidden:
        raise Invalid("Nothing in these arguments is hidden.")
    values: dict[str, canonical.Tree] = {path: hidden[path].value for path in sorted(hidden)}
    record(
        "secret.revealed",
        workspace_id=row.workspace_id,
        actor=actor,
        run_id=row.run_id,
        request_id=row.pk,
        agent_id=row.agent_id,
        data=SecretRevealed(
            number=row.number, tool=row.tool_name, version=row.version, paths=list(values), reason=reason
        ),
    )
    return Revealed(version=row.version, digest=version.digest, values=values)
