"""What a tool call is found by: names, the words of the tool's sentence, and the values of its arguments, no secret."""

from __future__ import annotations

import re

from reviewhub.core.display.masking import masked
from reviewhub.core.words import values_in, words_text

_PLACES = re.compile(r"\{[^{}]*\}")


def call_words(*, tool: str, agent: str, template: str, schema: str, arguments: str) -> str:
    """The words of one call.

    Args:
        template: of the tool's sentence; its own words count, its places are filled by the arguments.
        schema: of the arguments; what it marks as secret is not found: a value could be guessed at by looking for it.
        arguments: canonical JSON.
    """
    own = _PLACES.sub(" ", template)
    return words_text([tool, agent, own, *values_in(masked(arguments, schema))])
