"""How much one message may hold: the operator's numbers for the contract."""

from __future__ import annotations

from django.conf import settings
from reviewhub_agents import canonical, wire

from reviewhub.core.errors import Invalid


def limits() -> wire.Limits:
    """The limits of this installation. Whoever reads a body for the server reads it with them."""
    return wire.Limits(
        text_bytes=settings.LIMIT_TEXT_BYTES,
        arguments_bytes=settings.LIMIT_ARGUMENTS_BYTES,
        arguments_values=settings.LIMIT_ARGUMENTS_VALUES,
        tool_calls=settings.LIMIT_TOOL_CALLS,
        depth=settings.LIMIT_DEPTH,
    )


MOST_PATH = 2000
"""Characters of the keys that lead to a value: whatever shows or masks values writes the path of each."""


def read_arguments(text: str, *, path: str) -> canonical.Tree:
    """The value of the canonical arguments of a call.

    Raises:
        Invalid: at `path`, when they are larger than an installation takes, have more values, or longer keys.
    """
    size, limit = len(text.encode()), settings.LIMIT_ARGUMENTS_BYTES
    if size > limit:
        raise Invalid.at(path, f"{size} bytes; the limit for arguments is {limit}", code="too_large")
    most = settings.LIMIT_ARGUMENTS_VALUES
    # An upper bound first, as `canonical` has one: a text of many commas is counted.
    if text.count(",") + text.count("[") + text.count("{") >= most:
        try:
            canonical.parse(text, max_bytes=size, max_depth=canonical.MOST_WRITABLE_DEPTH, max_values=most)
        except canonical.BadJson as error:
            raise Invalid.at(
                path, f"more than {most} values; that is the limit for arguments", code="too_large"
            ) from error
    tree = canonical.reread(text)
    if len(text) > MOST_PATH and (length := _longest_path(tree)) > MOST_PATH:
        raise Invalid.at(
            path, f"keys of {length} characters lead to a value; the limit is {MOST_PATH}", code="too_large"
        )
    return tree


def _longest_path(tree: canonical.Tree) -> int:
    longest, todo = 0, [(tree, 0)]
    while todo:
        value, above = todo.pop()
        inside = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, item in inside:
            length = above + 1 + (len(key) if isinstance(key, str) else 6)
            longest = max(longest, length)
            if isinstance(item, dict | list):
                todo.append((item, length))
    return longest


def parse_sent(raw: bytes | str) -> canonical.Tree:
    """JSON that somebody sends or types, within the limits of today. What is stored is read by `canonical.reread`.

    Raises:
        BadJson: it is no JSON, or larger or deeper than the limits; with the path.
    """
    return canonical.parse(raw, max_bytes=settings.LIMIT_BODY_BYTES, max_depth=settings.LIMIT_DEPTH)
