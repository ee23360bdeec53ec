"""A rewrite that may be sent again: the same key with the same body is answered the same, and rewrites once."""

from __future__ import annotations

from django.db import transaction
from reviewhub_agents import canonical, wire

from reviewhub.checkpoints.fork import beginning
from reviewhub.checkpoints.models import Checkpoint
from reviewhub.core.actors import Actor
from reviewhub.core.idempotency import answered, claim
from reviewhub.gates.present_rewrites import rewrite_out
from reviewhub.gates.rewrite import within
from reviewhub.gates.set_aside import setting_aside


def scope_of(run_id: object) -> str:
    """Where the answers to rewrites of a run are kept. They name branches, so an erasure of the run drops them."""
    return f"rewrite:{run_id}"


@setting_aside()
def rewrite_once(
    *, checkpoint: Checkpoint, body: wire.RewriteBody, key: str, actor: Actor
) -> wire.RewriteOut:
    """Rewrites as `gates.rewrite` does, or gives the answer that was given for this key.

    Raises:
        IdempotencyConflict: the key was used for another rewrite of the run, or by somebody else.
        And what `gates.rewrite` raises.
    """
    scope = scope_of(checkpoint.run_id)
    digest = canonical.body_digest(
        {"by": str(actor.id), "checkpoint": str(checkpoint.pk), "body": body.to_tree()}
    )
    if (before := answered(scope=scope, key=key, body_digest=digest)) is not None:
        return _read(before)
    steps = [change.to_tree() for change in body.changes]
    first = beginning(checkpoint=checkpoint, changes=steps, reason=body.reason)
    with transaction.atomic(durable=True):
        kept = claim(scope=scope, key=key, body_digest=digest)
        if kept.answer is not None:
            return _read(kept.answer)
        made = within(
            checkpoint=checkpoint,
            steps=steps,
            reason=body.reason,
            actor=actor,
            seen=body.seen or "",
            plan=body.plan,
            first=first,
        )
        out = rewrite_out(made)
        kept.keep(status=201, answer=out.to_text())
    return out


def _read(answer: str) -> wire.RewriteOut:
    return wire.RewriteOut.from_tree(canonical.reread(answer))
