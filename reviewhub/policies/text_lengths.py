"""How long the texts of a policy may be that its form leaves open: the values of conditions.

Asked where somebody hands a policy in, and not where a stored one is read: what was published is in force as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewhub.policies.model import MAX_VALUE, Condition, Policy, Rule

Error = dict[str, str]


def too_long(policy: Policy) -> list[Error]:
    """The values of conditions that are too long, as {path, code, message}."""
    return [
        {**error, "path": f"/{layer}/{at}{error['path']}"}
        for layer, rules in policy.layers
        for at, rule in enumerate(rules)
        for error in too_long_in(rule)
    ]


def too_long_in(rule: Rule) -> list[Error]:
    """Those of one rule, with paths within it."""
    return [
        {"path": f"/when/{at}/{place}", "code": "string_too_long", "message": _MESSAGE}
        for at, condition in enumerate(rule.when)
        for place in _long_values(condition)
    ]


_MESSAGE = f"Should not be longer than {MAX_VALUE} characters."


def _long_values(condition: Condition) -> Iterator[str]:
    value = condition.value
    if isinstance(value, tuple):
        yield from (f"value/{at}" for at, one in enumerate(value) if _is_long(one))
    elif _is_long(value):
        yield "value"


def _is_long(value: object) -> bool:
    return isinstance(value, str) and len(value) > MAX_VALUE
