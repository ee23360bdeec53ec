"""What a tool call is found by: names, the words of the tool's sentence, and the values of its arguments, no secret."""

from __future__ import annotations

import re

from reviewhub_agents.canonical import Tree

from reviewhub.core.words import values_in, words_text

_PLACES = re.compile(r"\{[^{}]*\}")


def call_words(*, tool: str, agent: str, template: str, masked: Tree) -> str:
    """The words of one call.

    Args:
        template: of the tool's sentence; its own words count, its places are filled by the arguments.
        masked: the arguments without what is secret: a value could be guessed at by looking for it.
    """
    own = _PLACES.sub(" ", template)
    return words_text([tool, agent, own, *values_in(masked)])
