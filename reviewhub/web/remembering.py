"""*Approve and remember* as fields of the decision form: what calls run from now on, and for how long."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from pydantic import ValidationError
from reviewhub_agents import canonical
from reviewhub_agents.wire.fields import time_text

from reviewhub.core import zones
from reviewhub.core.display.arguments import pointer
from reviewhub.core.display.masking import secret_values
from reviewhub.policies.arguments import Inexact, number
from reviewhub.policies.model import Condition
from reviewhub.standing.remember import DEFAULT_DAYS
from reviewhub.web import policy_conditions
from reviewhub.web.policy_conditions import MOST_CONDITIONS, ConditionForm

PREFIX = "r-"
MOST_SUGGESTED = 6
LONGEST_SUGGESTED = 200
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class RememberForm:
    """The fields as they were filled in. `until` is a day, which counts to its end in `zone`, by name."""

    is_asked: bool = False
    scope: str = "agent"
    bounds: str = "exact"
    when: tuple[ConditionForm, ...] = ()
    expression: str = ""
    until: str = ""
    zone: str = zones.UTC_NAME
    uses: str = ""

    @property
    def lines(self) -> tuple[ConditionForm, ...]:
        """Its conditions, and an empty line for one more."""
        return (*self.when, ConditionForm()) if len(self.when) < MOST_CONDITIONS else self.when

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Everything that was filled in as names and values, for the step in between."""
        if not self.is_asked:
            return []
        found = [("remember", "1")]
        found += [
            (PREFIX + name, getattr(self, name))
            for name in ("scope", "bounds", "expression", "until", "zone", "uses")
        ]
        for at, one in enumerate(self.when):
            found += [(f"{PREFIX}c{at}-{name}", getattr(one, name)) for name in ("path", "test", "value")]
        return found

    def tree(self) -> dict[str, Any]:
        """What the decision says. What is no day and no number is left for its reader to refuse."""
        found: dict[str, Any] = {"scope": self.scope, "bounds": self.bounds}
        if self.bounds == "within":
            found["when"] = [condition.tree() for condition in self.when]
            if self.expression.strip():
                found["expression"] = self.expression.strip()
        if until := self.until.strip():
            found["until"] = _last_second(until, zones.zone_called(self.zone)) or until
        if uses := self.uses.strip():
            is_number = uses.isascii() and uses.isdecimal() and len(uses) < 10 and not uses.startswith("0")
            found["uses"] = canonical.Number(uses) if is_number else uses
        return found


def _last_second(text: str, zone: tzinfo) -> str:
    """The end of a day, as the API takes it; empty for what is no day."""
    try:
        over = zones.end(date.fromisoformat(text), zone) if _DATE.fullmatch(text) else None
    except ValueError:
        return ""
    return time_text(over - timedelta(seconds=1)) if over else ""


def read(given: Mapping[str, Any]) -> RememberForm:
    """The fields as they were sent."""
    return RememberForm(
        is_asked=bool(given.get("remember")),
        scope=str(given.get(f"{PREFIX}scope", "agent")),
        bounds=str(given.get(f"{PREFIX}bounds", "exact")),
        when=policy_conditions.read(given, PREFIX),
        expression=str(given.get(f"{PREFIX}expression", ""))[:1100],
        until=str(given.get(f"{PREFIX}until", ""))[:40],
        zone=zones.name_of(zones.of_form({zones.FIELD: given.get(PREFIX + zones.FIELD, "")})),
        uses=str(given.get(f"{PREFIX}uses", ""))[:20],
    )


def suggested(arguments: str, secret_paths: frozenset[str], at: datetime) -> RememberForm:
    """The fields to begin with: bounds that this call is just within, without anything that is secret."""
    until = zones.here(at + timedelta(days=DEFAULT_DAYS)).date()
    tree = canonical.reread(arguments)
    given = tree if isinstance(tree, dict) else {}
    hidden = secret_values(tree, secret_paths)
    shown = [(key, value) for key, value in given.items() if pointer("", key) not in hidden]
    lines = [line for key, value in shown if (line := _line(key, value)) is not None]
    return RememberForm(
        when=tuple(lines[:MOST_SUGGESTED]), until=until.isoformat(), zone=zones.name_of(zones.current())
    )


def _line(key: str, value: canonical.Tree) -> ConditionForm | None:
    try:
        if isinstance(value, canonical.Number):
            return ConditionForm.of(Condition(path=key, test="is_at_most", value=number(value)))
        if isinstance(value, str | bool) and len(str(value)) <= LONGEST_SUGGESTED:
            return ConditionForm.of(Condition(path=key, test="is", value=value))
    except (ValidationError, Inexact):
        pass
    return None
