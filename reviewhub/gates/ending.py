"""An agent ends its branch, and may have to say so twice: a lost answer is asked for again, with the same words."""

from __future__ import annotations

from reviewhub_agents import canonical, wire

from reviewhub.gates.errors import EndingConflict
from reviewhub.runs.models import Branch


def ending(body: wire.FinishBody | wire.FailBody) -> str:
    """The digest of what is said about the end, in whatever epoch it is said."""
    said = {name: value for name, value in body.to_tree().items() if name != "epoch"}
    return canonical.body_digest(canonical.reread(canonical.dumps(said)))


def keep_ending(branch: Branch, said: str) -> None:
    """For the repeat; in the transaction that ends the branch."""
    branch.ending = said
    branch.save(update_fields=["ending"])


def check_ending(branch: Branch, said: str) -> None:
    """Raises EndingConflict when the branch ended with other words; of one that ended long ago they are not known."""
    if branch.ending and branch.ending != said:
        raise EndingConflict(state=branch.state)
