"""An agent whose state has everything that JSON lacks."""

from __future__ import annotations

import dataclasses
import enum
from collections import deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel
from reviewhub_agents.exact import OpaqueBytes
from reviewhub_agents.runtime import END, Context, Graph

from tests.runtime.agent import Note


class Kind(enum.Enum):
    BOOK = "book"
    OTHER = "other"


class Owner:
    class Level(enum.IntEnum):
        LOW = 1


class Place(NamedTuple):
    row: int
    shelf: str


@dataclasses.dataclass
class Box:
    weight: Decimal
    kind: Kind = Kind.BOOK


class Item(BaseModel):
    price: Decimal
    kind: Kind
    seen: datetime
    where: Place | None = None


class Basket(BaseModel):
    """What was kept before there were exact values, too: `model_dump(mode="json")` of it loads."""

    name: str = ""
    total: Decimal = Decimal(0)
    rate: float = 0.0
    raw: bytes = b""
    when: datetime | None = None
    day: date | None = None
    wait: timedelta = timedelta(0)
    id: UUID | None = None
    tags: set[str] = set()
    pair: tuple[int, Decimal] = (0, Decimal(0))
    items: list[Item] = []
    by_number: dict[int, Item] = {}
    boxes: list[Box] = []
    level: Owner.Level | None = None
    path: PurePosixPath | None = None
    last: deque[int] = deque()
    blob: OpaqueBytes | None = None
    mode: Literal["a", "b"] = "a"
    anything: Any = None
    steps: list[str] = []


BERLIN = ZoneInfo("Europe/Berlin")


def full() -> dict[str, Any]:
    """A value for each field."""
    seen = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)
    return {
        "name": "half \ud83c and \0",
        "total": Decimal("10.10"),
        "rate": float("-inf"),
        "raw": b"\xff\x00",
        "when": seen,
        "day": date(2026, 3, 29),
        "wait": timedelta(days=-1, microseconds=1),
        "id": UUID(int=7),
        "tags": {"b", "a"},
        "pair": (1, Decimal("2.50")),
        "items": [Item(price=Decimal("1.0"), kind=Kind.BOOK, seen=seen, where=Place(1, "x"))],
        "by_number": {3: Item(price=Decimal("0E-9"), kind=Kind.OTHER, seen=seen)},
        "boxes": [Box(Decimal("1.50"), Kind.OTHER)],
        "level": Owner.Level.LOW,
        "path": PurePosixPath("/a"),
        "last": deque([1, 2]),
        "blob": OpaqueBytes(b"\x81\xa1a\x01", "application/msgpack"),
        "anything": [Decimal("1.0"), (1, {2.5: -0.0}), {"$rh": "decimal"}, OpaqueBytes(b"x", "text/x")],
    }


def make() -> Graph[Basket]:
    """fill → check → END; between them people are asked."""
    graph = Graph("basket", Basket, result=lambda last: last.steps)

    @graph.tool("pay", effect="once")
    def pay(args: Note, run: Any) -> Any:
        """Pays."""
        return {"paid": args.text}

    @graph.step(to=["check"])
    def fill(state: Basket, ctx: Context[Basket]) -> None:
        for name, value in full().items():
            setattr(state, name, value)
        state.steps.append("fill")

    @graph.step(to=[END])
    def check(state: Basket, ctx: Context[Basket]) -> None:
        drawn = ctx.record("draw", lambda: (Decimal("0.10"), b"\xff", 1.0))
        ctx.tool("pay", {"text": str(state.total)})
        whole = state == Basket(**full(), steps=["fill"])
        state.steps.append(f"{whole} {drawn!r} {type(state.items[0].where).__name__} {state.when!r}")

    return graph
