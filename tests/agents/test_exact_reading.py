"""Reading packed values: what is damaged or hostile is refused by path, what is unknown stays as it was."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from datetime import time
from decimal import Decimal
from enum import Enum
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, PrivateAttr, field_validator
from reviewhub_agents import canonical, exact
from reviewhub_agents.exact import NotExact, OpaqueBytes, Types, Unread

from tests.agents.values import TYPES, Colour, Line, Parcel, Point, Right

HERE = "tests.agents.values."


def mark(kind: Any, **members: Any) -> dict[str, Any]:
    return {"$rh": kind, **members}


SHA_OF_A = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (mark("decimal"), "value must be text"),
        (mark("decimal", value="1_0"), "decimal"),
        (mark("decimal", value=" 1"), "decimal"),
        (mark("decimal", value="٣"), "decimal"),
        (mark("decimal", value="1E999999999999999999999"), "beyond"),
        (mark("decimal", value="1", extra=1), "member 'extra'"),
        (mark("decimal", value={"$rh": "text", "value": "1"}), "single value"),
        (mark("integer", value="0x1f"), "hexadecimal"),
        (mark("float", value="1.5"), "NaN"),
        (mark("float", value="Infinity", bits="7ff8000000000000"), "bits"),
        (mark("float", value="NaN", bits="0000000000000000"), "bits"),
        (mark("complex", value=[1, 2.0]), "two floats"),
        (mark("deque", value=[], maxlen=2**80), "more items than a deque can"),
        (mark("deque", value=[], maxlen=-1), "more items than it holds"),
        (mark("opaque", value="QQ==", media_type="x", size=True, sha256=SHA_OF_A), "not the True bytes"),
        (mark("opaque", value="QQ==", media_type="x", size=1.0, sha256=SHA_OF_A), "not the 1.0 bytes"),
        (mark("time", value="01:02:00+01:00", zone="UTC"), "no offset of its own"),
        (mark("time", value="01:02:00+01:00", zone="Europe/Berlin"), "no offset of its own"),
        (mark("text", value="\\x"), "backslash"),
        (mark("text", value="\\u00"), "backslash"),
        (mark("bytes", value="aGk"), "base64"),
        (mark("bytes", value="é"), "base64"),
        (mark("uuid", value="0"), "UUID"),
        (mark("date", value="2026-02-30"), "does not exist"),
        (mark("date", value="20260101"), "form"),
        (mark("datetime", value="2026-01-01T00:00:00", zone="../../etc/passwd"), "key of a time zone"),
        (mark("datetime", value="2026-01-01T00:00:00+05:00", zone="Europe/Berlin"), "another offset"),
        (mark("datetime", value="2026-01-01T00:00:00", name="X"), "fixed offset"),
        (mark("datetime", value="2026-01-01T00:00:00", fold=2), "fold"),
        (mark("time", value="25:00:00"), "does not exist"),
        (mark("time", value="01:00:00+01:00", zone="Europe/Berlin"), "no offset"),
        (mark("duration", value="P"), "duration"),
        (mark("duration", value="P9999999999D"), "longer"),
        (mark("tuple", value={}), "list"),
        (mark("set", value=[[1]]), "item of a set"),
        (mark("set", value=[1, True]), "equal"),
        (mark("dict", value=[[1, 2], [1.0, 3]]), "equal"),
        (mark("dict", value=[[1]]), "pairs"),
        (mark("dict", value=[[[], 1]]), "key of a dict"),
        (mark("deque", value=[1, 2], maxlen=1), "more items"),
        (mark("opaque", value="aGk=", size=3, sha256="", media_type="x/y"), "not the 3 bytes"),
        (mark(None), "names the type"),
        (mark(1), "names the type"),
        (mark("enum"), "type must be text"),
        (mark("enum", type=HERE + "Colour", name="__init__"), "no member"),
        (mark("enum", type=HERE + "Colour", names=["RED"]), "no such members"),
        (mark("enum", type=HERE + "Right", names=["READ", "x"]), "no such members"),
        (mark("enum", type=HERE + "Point", name="x"), "no enum"),
        (mark("object", type=HERE + "Colour", value={}), "not kept in this way"),
        (mark("object", type=HERE + "Point", value={"x": 1}), "other fields by now: y"),
        (mark("object", type=HERE + "Parcel", value={"weight": 1, "inside": 1, "__class__": 1}), "__class__"),
        (mark("object", type=HERE + "Line", value={"sku": 1}), "does not accept sku"),
        (mark("object", type=HERE + "Line", value={"sku": "A", "price": "1"}), "changes 'price'"),
        (mark("object", type=HERE + "Line", value={"sku": "A"}, unset=["price"]), "unset"),
    ],
)
def test_a_mark_that_is_not_as_its_type_says_is_refused_by_path(tree: Any, said: str) -> None:
    for text in (canonical.dumps({"a": [tree]}), canonical.dumps({"a": [mark("tuple", value=[tree])]})):
        with pytest.raises(NotExact) as caught:
            exact.unpack(canonical.parse(text), types=TYPES)
        assert caught.value.errors[0]["path"].startswith("/a/0")
        assert said in caught.value.errors[0]["message"]


def test_a_changed_blob_of_bytes_is_refused() -> None:
    tree = exact.pack({"blob": OpaqueBytes(b"hello", "application/x")})
    tree["blob"]["value"] = exact.pack(b"hellp")["value"]
    with pytest.raises(NotExact, match=r"^/blob: These are 5 bytes with SHA-256"):
        exact.unpack(tree)


def test_what_is_not_known_stays_to_the_byte() -> None:
    for text in (
        '{"$rh":"enum","name":"RED","type":"gone.Colour"}',
        '{"$rh":"object","type":"os.system","value":{"command":{"$rh":"decimal","value":"broken"}}}',
        '{"$rh":"quaternion","value":[1E2,0.10]}',
        '{"$rh2":"decimal","value":"1"}',
        '{"$rh":"datetime","value":"2026-01-01T00:00:00+01:00","zone":"Mars/Olympus_Mons"}',
    ):
        value = exact.unpack(canonical.parse(f"[{text},{text}]"))
        assert [type(item) for item in value] == [Unread, Unread]
        assert canonical.dumps(exact.pack(value)) == f"[{text},{text}]"
        assert value[0] == value[1] and len(set(value)) == 1
        assert pickle.loads(pickle.dumps(value[0])).text == text


def test_reading_imports_nothing(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for kind in ("enum", "object"):
        found = exact.unpack(mark(kind, type="evil.Thing", name="x", value={}))
        assert isinstance(found, Unread)
    exact.unpack(mark("datetime", value="2026-01-01T00:00:00", zone="evil"))
    assert "evil" not in sys.modules


def test_nothing_of_a_class_is_called() -> None:
    class Trap(Enum):
        A = "a"

        @classmethod
        def _missing_(cls, value: object) -> Any:
            raise AssertionError("called")

    @dataclass
    class Snare:
        x: int

        def __post_init__(self) -> None:
            raise AssertionError("called")

    types = {"trap": Trap, "snare": Snare}
    with pytest.raises(NotExact, match="no member"):
        exact.unpack(mark("enum", type="trap", name="B"), types=types)
    assert exact.unpack(mark("object", type="snare", value={"x": 1}), types=types).x == 1


def test_a_class_that_moved_is_found_by_the_name_it_had() -> None:
    old = exact.pack({"c": Colour.RED}, types={"shop.Colour": Colour})
    assert old == {"c": mark("enum", type="shop.Colour", name="RED")}
    known = Types({HERE + "Colour": Colour, "shop.Colour": Colour})
    assert exact.unpack(old, types=known) == {"c": Colour.RED}
    assert exact.pack(Colour.RED, types=known)["type"] == HERE + "Colour"


def test_types_that_mean_nothing_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="no enum"):
        Types([int])
    with pytest.raises(ValueError, match="Two types"):
        Types([Colour, type("Colour", (Point,), {"__module__": HERE[:-1]})])


def test_a_model_comes_back_only_as_it_was() -> None:
    class Lower(BaseModel):
        text: str
        _seen: int = PrivateAttr(default=0)

        @field_validator("text")
        @classmethod
        def lower(cls, text: str) -> str:
            return text.lower()

    value = Lower(text="a")
    types = [Lower]
    assert exact.unpack(exact.pack(value, types=types), types=types) == value
    value.text = "A"
    with pytest.raises(NotExact, match="changes 'text' when it is read"):
        exact.unpack(exact.pack(value, types=types), types=types)
    value.text, value._seen = "a", 1
    with pytest.raises(NotExact, match="private attribute _seen"):
        exact.pack(value, types=types)


def test_a_dataclass_with_more_than_its_fields_is_refused() -> None:
    value = Parcel(Decimal(1))
    value.note = "x"  # type: ignore[attr-defined]
    with pytest.raises(NotExact, match="other attributes than its fields: note"):
        exact.pack([value], types=TYPES)


def test_a_flag_beyond_its_members_is_refused() -> None:
    class Loose(Right.__mro__[1], boundary=__import__("enum").KEEP):  # type: ignore[misc,name-defined]
        A = 1

    with pytest.raises(NotExact, match="no union of members"):
        exact.pack([Loose(5)])


def test_numbers_that_float_would_write_otherwise_keep_their_literal() -> None:
    text = "[0.1,0.10,1,1.0,1E2,100000000000000000000.0,12345678901234567.1]"
    value = exact.unpack(canonical.parse(text))
    assert [type(item).__name__ for item in value] == [
        "float",
        "Number",
        "int",
        "float",
        "Number",
        "Number",
        "Number",
    ]
    assert canonical.dumps(exact.pack(value)) == text
    assert exact.unpack(canonical.parse("[0.10]"), numbers=canonical.plain) == [0.1]


def test_only_trees_are_read() -> None:
    with pytest.raises(NotExact, match=r"^/a: A value of type tuple is no part of a JSON tree"):
        exact.unpack({"a": (1,)})


def test_a_line_is_a_line() -> None:
    line = Line(sku="A")
    tree = exact.pack(line, types=TYPES)
    assert tree["unset"] == ["more", "price", "status"]
    assert exact.unpack(tree, types=TYPES).model_dump(exclude_unset=True) == {"sku": "A"}


def test_opaque_bytes_do_not_change() -> None:
    value = OpaqueBytes(b"a", "x/y")
    with pytest.raises(AttributeError):
        value.data = b"b"
    with pytest.raises(TypeError):
        OpaqueBytes("a")  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(value)) == value
    assert value.digest.startswith("sha256:ca978112ca1bbdca")


def test_a_time_in_utc_that_was_kept_with_its_offset_is_still_read() -> None:
    kept = mark("time", value="01:02:00+00:00", zone="UTC")
    assert exact.unpack(kept) == time(1, 2, tzinfo=ZoneInfo("UTC"))
