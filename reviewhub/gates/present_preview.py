"""What a fork or a rewrite would do, as the API tells it: reads only. People get secrets masked, as on pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from reviewhub_agents import canonical, wire
from reviewhub_agents.canonical import Tree

from reviewhub.checkpoints.models import Checkpoint
from reviewhub.checkpoints.rules import Change
from reviewhub.core.changes import segments
from reviewhub.core.display.masking import masked_tree
from reviewhub.gates.present_rewrites import preview_out, touched_out
from reviewhub.gates.present_runs import branches_out
from reviewhub.gates.preview import Preview

Side: TypeAlias = "Callable[[str, Tree], Tree]"


def rewrite_foreseen(found: Preview, checkpoint: Checkpoint) -> wire.RewriteForeseen:
    """What a rewrite would end, and the state that it would begin with."""
    return wire.RewriteForeseen(
        **_fields(preview_out(found.found)), **_begins(found, checkpoint, for_people=True)
    )


def fork_foreseen(found: Preview, checkpoint: Checkpoint, *, for_people: bool) -> wire.ForkForeseen:
    """What a fork leaves behind, and the state that it would begin with."""
    calls = touched_out(found.found)
    (branch,) = branches_out([found.found.branch])
    return wire.ForkForeseen(
        branch=branch,
        waiting=calls["withdrawn"],
        under_way=calls["under_way"],
        unknown=calls["unknown"],
        done=calls["done"],
        reads=found.found.reads,
        left_out=found.found.left_out,
        **_begins(found, checkpoint, for_people=for_people),
    )


def _fields(message: wire.Wire) -> dict[str, Any]:
    return {name: getattr(message, name) for name in type(message).model_fields}


def _begins(found: Preview, checkpoint: Checkpoint, *, for_people: bool) -> dict[str, Any]:
    schema = checkpoint.state_schema.schema if checkpoint.state_schema else ""
    changes = [_item(one, _masking(schema) if for_people else _as_it_is) for one in found.difference.changes]
    state = wire.StatePreview(
        changes=changes, more=found.difference.more, hash=found.state_hash, bytes=found.size
    )
    return {"state": state} | ({} if found.plan is None else {"plan": found.plan})


def _item(change: Change, shown: Side) -> wire.DifferenceItem:
    sides = {"before": change.before, "after": change.after}
    given = {
        name: shown(change.path, canonical.reread(text)) for name, text in sides.items() if text is not None
    }
    return wire.DifferenceItem(path=change.path, kind=change.kind, **given)


def _as_it_is(path: str, tree: Tree) -> Tree:
    return tree


def _masking(schema: str) -> Side:
    """Hides what a key on the way hides, what the schema marks, and what has a secret's shape.

    A key of digits may be a place in a list or a name: whichever way the schema marks it, it is hidden.
    """

    def shown(path: str, tree: Tree) -> Tree:
        names = segments(path)
        places = [0 if name.isascii() and name.isdecimal() else name for name in names]
        for keys in (names, places):
            tree = _inside(masked_tree(_around(tree, keys), schema), keys)
        return tree

    return shown


def _around(tree: Tree, keys: Sequence[str | int]) -> Tree:
    for key in reversed(keys):
        tree = {key: tree} if isinstance(key, str) else [tree]
    return tree


def _inside(tree: Any, keys: Sequence[str | int]) -> Any:
    """What `_around` stood around; masking changes no names and no places."""
    for key in keys:
        tree = tree[key]
    return tree
