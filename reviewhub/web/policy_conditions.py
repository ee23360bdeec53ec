"""The conditions of a rule as fields of the policy editor: an argument, a test, a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reviewhub_agents import canonical

from reviewhub.policies.model import LIST_TESTS, NUMBER_TESTS, PRESENCE_TESTS, TEXT_TESTS, Condition

MOST_CONDITIONS = 20
TESTS = (
    ("is", "is"), ("is_not", "is not"), ("is_over", "is over"), ("is_at_least", "is at least"),
    ("is_under", "is under"), ("is_at_most", "is at most"), ("contains", "contains"),
    ("contains_not", "does not contain"), ("starts_with", "starts with"), ("ends_with", "ends with"),
    ("is_one_of", "is one of"), ("is_none_of", "is none of"), ("is_there", "is there"), ("is_missing", "is missing"),
)  # fmt: skip
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


@dataclass(frozen=True)
class ConditionForm:
    """One condition as its fields."""

    path: str = ""
    test: str = "is"
    value: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nobody wrote anything into it."""
        return not (self.path.strip() or self.value.strip())

    @property
    def in_short(self) -> str:
        """The condition in words, as far as it is written."""
        return f"{self.path.strip()} {dict(TESTS).get(self.test, self.test)} {self.value.strip()}".strip()

    @classmethod
    def of(cls, condition: Condition) -> ConditionForm:
        """The fields of a published condition."""
        value = condition.value
        if isinstance(value, tuple):
            return cls(condition.path, condition.test, ", ".join(_written(one) for one in value))
        bare = condition.test in TEXT_TESTS
        return cls(condition.path, condition.test, str(value) if bare else _written(value))

    def tree(self) -> dict[str, Any]:
        """The condition as the policy's text has it. What is no number where one is needed is left for its reader."""
        found: dict[str, Any] = {"path": self.path.strip(), "test": self.test}
        value = self.value.strip()
        if self.test in LIST_TESTS:
            found["value"] = [_read(one.strip()) for one in value.split(",") if one.strip()]
        elif self.test in TEXT_TESTS:
            found["value"] = value
        elif self.test in NUMBER_TESTS or self.test not in PRESENCE_TESTS or value:
            found["value"] = _read(value)
        return found


def read(given: Mapping[str, Any], prefix: str) -> tuple[ConditionForm, ...]:
    """The conditions of one rule as they were filled in, empty lines left out."""
    found = [
        ConditionForm(
            path=str(given.get(f"{prefix}c{at}-path", ""))[:200],
            test=str(given.get(f"{prefix}c{at}-test", "is"))[:20],
            value=str(given.get(f"{prefix}c{at}-value", ""))[:2000],
        )
        for at in range(MOST_CONDITIONS + 1)
    ]
    return tuple(one for one in found if not one.is_empty)


def _read(text: str) -> Any:
    """`500` is a number, `true` what it says, anything else a text, and so is what stands in double quotes."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return canonical.Number(text) if _NUMBER.fullmatch(text) and len(text) < 40 else text


def _written(value: bool | int | float | str | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A bare text is read without the spaces around it, and an empty field as one that nobody filled in.
        bare = value and value == value.strip() and "," not in value and _read(value) == value
        return value if bare else f'"{value}"'
    return str(value)
