"""A call of a tool as people read of it: made once, before any transaction, in one walk over its arguments."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub_agents import canonical
from reviewhub_agents.canonical import Tree

from reviewhub.core.display.masking import masked_tree
from reviewhub.core.display.sentence import Part, sentence_of
from reviewhub.tools.models import Tool

MOST_TEXT = 8000
"""Characters of the arguments that whoever records a call is given. The record keeps the first 4000 and looks for
secrets once more in these alone: what reaches further was masked in the value that it stands in."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A call without its secrets."""

    masked: Tree
    sentence: tuple[Part, ...]
    text: str
    """The beginning of the masked arguments as JSON: the record is searched by it."""


def shown(tool: Tool, arguments: str, tree: Tree = None) -> Shown:
    """What people read of a call, by the tool's sentence and schema.

    Args:
        arguments: canonical text.
        tree: their value, where it was read already; it is an object.
    """
    tree = canonical.reread(arguments) if tree is None else tree
    masked = masked_tree(tree, tool.schema)
    said = sentence_of(tool=tool.name, masked=masked, template=tool.sentence)
    text = arguments if masked is tree else canonical.dumps(masked)
    return Shown(masked, said, text[:MOST_TEXT])
