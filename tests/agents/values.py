"""The matrix of values: what stores of agent state lose, change or refuse, and what happens to it here."""

from __future__ import annotations

import collections
import dataclasses
import enum
import math
import struct
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from pydantic import BaseModel, field_validator
from reviewhub_agents import canonical
from reviewhub_agents.canonical.values import unsafe
from reviewhub_agents.exact import OpaqueBytes, Unread

BERLIN = ZoneInfo("Europe/Berlin")


class Colour(enum.Enum):
    RED = "red"
    ROUGE = "red"  # noqa: PIE796 (the same member)


class Word(enum.StrEnum):
    A = "a"


class Level(enum.IntEnum):
    LOW = 1


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    SHARE = 4


class Shop:
    class Order:
        class Status(enum.Enum):
            OPEN = ("open", 1)


class Point(NamedTuple):
    x: int
    y: Any = None


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Parcel:
    weight: Decimal
    inside: Any = None

    def __post_init__(self) -> None:
        self.weight = self.weight * 2  # what would happen again, were it called on reading


@dataclasses.dataclass(frozen=True, slots=True)
class Stamp:
    value: tuple[int, ...]


class Line(BaseModel):
    sku: str
    price: Decimal = Decimal("0.00")
    status: Shop.Order.Status = Shop.Order.Status.OPEN
    more: Any = None


class Open(BaseModel, extra="allow"):
    a: int


class Doubled(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def twice(cls, value: int) -> int:
        return value * 2


TYPES: list[type] = [
    *(Colour, Word, Level, Right, Shop.Order.Status, Point, Pair, Parcel, Stamp, Line, Open, Doubled)
]

NAN_WITH_SIGN: float = struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0]

VALUES: dict[str, Any] = {
    # What JSON has.
    "null": None,
    "true": True,
    "zero": 0,
    "one as an integer": 1,
    "one as a float": 1.0,
    "minus zero": -0.0,
    "0.1 + 0.2": 0.1 + 0.2,
    "1e308": 1e308,
    "1e16": 1e16,
    "the smallest float": 5e-324,
    "text": "e\u0301 \U0001f378 \u202e",
    "empty text": "",
    "list": [1, [2.0, ["3"]], []],
    "object": {"b": {"a": None}, "": {}},
    # Text.
    "text with NUL": "a\x00b",
    "list with text with NUL": ["a\x00b"],
    "lone surrogate": "\ud800x",
    "list with a lone surrogate": ["\ud800x"],
    "two lone surrogates that would be a pair": "\ud83c\udf78",
    "surrogates and backslashes": "\\u0000\x00\\\udfff\\\\",
    "key with NUL": {"a\x00": 1, "b": 2},
    "key with a lone surrogate": {"\udc00": {"x": 1}},
    # Numbers.
    "nan": math.nan,
    "nan with sign and payload": NAN_WITH_SIGN,
    "infinity": math.inf,
    "nan and infinities": [math.nan, math.inf, -math.inf],
    "2**63": 2**63,
    "2**64": [2**64],
    "-(2**63)-1": -(2**63) - 1,
    "10**30": 10**30,
    "10**999": 10**999,
    "10**1000": 10**1000,
    "-(10**1000)": -(10**1000),
    "more digits than int() reads": -(7**6000),
    "complex": complex(-0.0, math.nan),
    "decimal": Decimal("1.10"),
    "decimal with exponent": Decimal("1E+3"),
    "decimal minus zero": Decimal("-0.000"),
    "decimal of many digits": Decimal("3." + "14159" * 400),
    "decimal of huge exponent": Decimal("1E-999999"),
    "decimal nan": Decimal("NaN"),
    "decimal snan": Decimal("-sNaN42"),
    "decimal infinity": Decimal("-Infinity"),
    # Keys.
    "int keys": {2: "b", 1: "a"},
    "tuple keys": {(1, (2, "x")): 3},
    "null key": {None: 1},
    "bool keys": {True: 1, "true": 2},
    "float keys": {1.5: 1, math.inf: 2},
    "enum keys": {Colour.RED: 1},
    "keys of many types": {"a": 1, 1: 2, b"a": 3, Decimal("1.5"): 4, frozenset({1}): 5, Stamp((1,)): 6},
    # Containers.
    "tuple": (1, 2),
    "empty tuple": (),
    "list of tuples": [(1, 2), ((), [])],
    "set": {3, 1, 2},
    "set of text": {"b", "a", "\x00"},
    "frozenset": frozenset([frozenset([1]), "1", 1.5]),
    "deque": collections.deque([1, (2,)]),
    "bounded deque": collections.deque([1], 3),
    # Bytes.
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"x"),
    "opaque bytes": OpaqueBytes(b"\x81\xa1a\x01", "application/msgpack"),
    # Time.
    "naive datetime": datetime(2026, 1, 1, 1, 2, 3, 4),  # noqa: DTZ001
    "UTC": datetime(2026, 1, 1, tzinfo=UTC),
    "fixed offset": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    "offset with seconds": datetime(2026, 1, 1, tzinfo=timezone(-timedelta(seconds=1, microseconds=2))),
    "offset below a second": datetime(2026, 1, 1, tzinfo=timezone(-timedelta(microseconds=1))),
    "time with an offset below a second": time(1, tzinfo=timezone(timedelta(microseconds=5))),
    "named offset below a second": datetime(2026, 1, 1, tzinfo=timezone(timedelta(microseconds=5), "x")),
    "named offset": datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1), "MEZ")),
    "zone": datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN),
    "zone, first of a doubled hour": datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN),
    "zone, second of a doubled hour": datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
    "zone, an hour that does not exist": datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN),
    "zone, before there were zones": datetime(1800, 1, 1, tzinfo=BERLIN),
    "zone called UTC": datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")),
    "naive with fold": datetime(2026, 10, 25, 2, 30, fold=1),  # noqa: DTZ001
    "first and last": [datetime.min, datetime.max],  # noqa: DTZ901
    "date": date(2026, 1, 1),
    "time": time(1, 2, 3),
    "time with offset": time(1, 2, tzinfo=UTC),
    "time in a zone": time(1, 2, tzinfo=BERLIN, fold=1),
    "time in a zone that has one offset": time(1, 2, tzinfo=ZoneInfo("UTC")),
    "time in a zone that has one other offset": time(1, 2, tzinfo=ZoneInfo("Etc/GMT+5")),
    "duration": timedelta(days=1, microseconds=1),
    "durations": [timedelta(0), timedelta(seconds=-1), timedelta.min, timedelta.max, timedelta(days=-3)],
    "uuid": uuid.UUID(int=5),
    # Types of the agent's own.
    "enum": Colour.RED,
    "enum of another name": Colour.ROUGE,
    "text enum": [Word.A, "a"],
    "number enum": [Level.LOW, 1],
    "flag": Right.READ,
    "flags": [Right.READ | Right.SHARE, Right(0), ~Right.READ],
    "enum nested in classes": Shop.Order.Status.OPEN,
    "named tuple": Point(1, (2,)),
    "namedtuple": Pair(1, Pair(2, 3)),
    "dataclass": Parcel(Decimal("1.10"), {1, 2}),
    "frozen dataclass": {Stamp((1, 2))},
    "model": Line(sku="A", price=Decimal("12.50"), more=[Line(sku="B", more=math.nan)]),
    "model with more fields": Open(a=1, b=(1,), **{"$rh": "decimal"}),
    # What looks like a mark.
    "a mark": {"$rh": "decimal", "value": "12.50"},
    "a mark of no type": {"$rh": 1},
    "an escaped mark": {"$$rh": {"$rh": {"$$$rh": [{"$rh2": 0, "$$rh2": 1}]}}},
    "nearly a mark": {"$rhx": 1, "rh": 2, "$": 3, "$$": 4, "$RH": 5, "$rh ": 6, "x$rh": 7, "$rh٣": 8},
    "a mark as a key of other keys": {"$rh": 1, 2: {"$rh": "set"}},
    "a mark inside values": ({"$rh": "tuple"}, {"k": collections.deque([{"$rh": "x"}])}),
    "text of a mark": '{"$rh":"decimal","value":"1"}',
    # What this reader does not know.
    "unread type": Unread({"$rh": "enum", "type": "gone.Colour", "name": "RED"}),
    "unread kind": [Unread({"$rh": "matrix", "value": [{"$rh": "decimal", "value": "x"}]})],
    "unread version": {Unread({"$rh2": True, "n": 1})},
    "a number as it is written": [canonical.Number("1E2"), canonical.Number("0.10"), canonical.Number("-0")],
}

PLAIN = list(VALUES)[: list(VALUES).index("text with NUL")]


class Own:
    """What no store can keep."""


REFUSED: dict[str, tuple[Any, str, str]] = {
    # name: value, path of the fault, what its message names
    "plain object": ({"a": [1, Own()]}, "/a/1", "tests.agents.values.Own"),
    "model that its class would change": ({"a": [Doubled(n=1)]}, "/a/0", "Doubled changes 'n'"),
    "model that its class would refuse": (
        [(Line.model_construct(sku=1),)],
        "/0/0",
        "Line does not accept sku",
    ),
    "model inside of a dataclass": ({"p": Point(Doubled(n=1), 0)}, "/p", "Doubled changes 'n'"),
    "function": ({"a": {"b/c": len}}, "/a/b~1c", "builtin_function_or_method"),
    "generator": ((item for item in ()), "", "generator"),
    "exception": ([ValueError("x")], "/0", "ValueError"),
    "defaultdict": ({"d": collections.defaultdict(list)}, "/d", "collections.defaultdict"),
    "OrderedDict": (collections.OrderedDict(a=1), "", "collections.OrderedDict"),
    "text of another class": ([type("Safe", (str,), {})("x")], "/0", "Safe"),
    "memoryview": ({"m": memoryview(b"x")}, "/m", "memoryview"),
    "range": ((range(3),), "/0", "range"),
    "zone of another class": ([datetime(2026, 1, 1, tzinfo=type("Z", (ZoneInfo,), {})("UTC"))], "/0", ".Z"),
    "object inside a set": ({"s": {Own()}}, "/s/0", "tests.agents.values.Own"),
    "object as a key": ({"k": {(Own,): 1}}, "", "type"),
    "object inside other keys": ({1: {"x": Own()}}, "/1/x", "tests.agents.values.Own"),
    "name of a zone with NUL": ([time(1, tzinfo=timezone(timedelta(0), "\x00"))], "/0", "U+0000"),
}


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same with all their types, told independently of the code under test."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    if isinstance(one, complex):
        return equal(one.real, other.real) and equal(one.imag, other.imag)
    if isinstance(one, Decimal):
        return one.as_tuple() == other.as_tuple()
    if isinstance(one, datetime | time):
        said = [(x.isoformat(), x.fold, x.tzinfo, x.tzname()) for x in (one, other)]
        return said[0] == said[1]
    if isinstance(one, dict):
        ordered = any(type(key) is not str or unsafe(key) for key in one)
        pairs = zip(one.items(), other.items(), strict=False) if ordered else _by_key(one, other)
        return len(one) == len(other) and all(equal(a, c) and equal(b, d) for (a, b), (c, d) in pairs)
    if isinstance(one, set | frozenset):
        return len(one) == len(other) and all(any(equal(a, b) for b in other) for a in one)
    if isinstance(one, collections.deque) and one.maxlen != other.maxlen:
        return False
    if isinstance(one, list | tuple | collections.deque):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, BaseModel):
        return (
            equal(dict(one), dict(other))
            and one.model_fields_set == other.model_fields_set
            and equal(one.model_extra, other.model_extra)
        )
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(equal(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)


def _by_key(one: dict[str, Any], other: dict[str, Any]) -> Any:
    return [((key, value), (key, other.get(key, Own))) for key, value in one.items()]
