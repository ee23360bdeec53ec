"""What a recorded answer of a model took, as its provider said, and what that costs. Pure.

An answer says it beside its content: `"usage": {"input_tokens": 812, "output_tokens": 64}`. It is the provider's word,
like the answer itself. Money is counted in millionths of the unit that the prices are in, so that a price for a million
tokens times tokens needs no fraction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from reviewhub_agents import canonical

_PLACE = re.compile(r"/model:(.{1,120})/[0-9]+\Z", re.DOTALL)
MOST_TOKENS = 10**12
MICROS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Usage:
    """One model call."""

    model: str
    input_tokens: int
    output_tokens: int


def usage_of(*, key: str, value: str) -> Usage | None:
    """What the answer recorded under `key` took; None for what is no model's answer.

    Args:
        key: the place of the record; model calls are at `…/model:NAME/NUMBER`.
        value: canonical JSON text of the record, `{"value": answer, …}`. What the answer says wrongly counts as 0.
    """
    place = _PLACE.search(key)
    if place is None:
        return None
    kept = canonical.plain(canonical.reread(value))
    answer = kept.get("value") if isinstance(kept, dict) else None
    said = answer.get("usage") if isinstance(answer, dict) else None
    found = said if isinstance(said, dict) else {}
    return Usage(
        model=place[1],
        input_tokens=_tokens(found.get("input_tokens")),
        output_tokens=_tokens(found.get("output_tokens")),
    )


def cost_micros(used: Usage, prices: Mapping[str, float]) -> int:
    """What it costs, in millionths.

    Args:
        prices: `NAME:input` and `NAME:output` → price of a million tokens; what is not named costs nothing.
    """
    paid = used.input_tokens * prices.get(f"{used.model}:input", 0.0)
    return round(paid + used.output_tokens * prices.get(f"{used.model}:output", 0.0))


def money(micros: int) -> str:
    """An amount for people: two digits, four where it is less than a unit."""
    amount = micros / MICROS
    return f"{amount:,.2f}" if amount >= 1 or not micros else f"{amount:,.4f}"


def _tokens(said: object) -> int:
    return said if isinstance(said, int) and not isinstance(said, bool) and 0 < said < MOST_TOKENS else 0
