"""Single values as marked objects and back. Each type is one writer and one reader, side by side."""

from __future__ import annotations

import binascii
import math
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from reviewhub_agents.canonical import Number, Writable

from .values import OpaqueBytes, marked, refuse, safe

Members = dict[str, Any]

LARGEST: Final = 10**1000
SMALLEST: Final = -(10**999)
"""Between these an integer's literal is short enough for canonical JSON (1,000 characters)."""

_DECIMAL = re.compile(
    r"-?(?:[0-9]+(?:\.[0-9]*)?(?:E[+-]?[0-9]+)?|\.[0-9]+(?:E[+-]?[0-9]+)?|Infinity|s?NaN[0-9]*)"
)
_HEX = re.compile(r"-?[0-9a-f]+")
_BITS = re.compile(r"[0-9a-f]{16}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UNSAFE = re.compile("[\x00\\\\\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(?:\\|u([0-9a-f]{4}))|\\")
_NAN_BITS = "7ff8000000000000"


def text_of(members: Members, name: str = "value") -> str:
    """The text member `name`."""
    found = members.get(name)
    return found if type(found) is str else refuse(f"The member {name} must be text.")


def only(members: Members, *names: str) -> None:
    """Refuses members that the type does not have: what is not understood must not be passed over."""
    for name in members:
        if name not in names:
            refuse(f"There is a member {name!a:.60} that this type does not have.")


def write_text(value: str) -> Members:
    """Text that JSON stores cannot hold: U+0000, lone surrogates and the backslash as escapes in plain sight."""
    return marked("text", value=_UNSAFE.sub(_write_escape, value))


def _write_escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}"


def read_text(members: Members) -> str:
    """Text again."""
    only(members, "value")
    return _ESCAPE.sub(_read_escape, text_of(members))


def _read_escape(match: re.Match[str]) -> str:
    if match[0] == "\\":
        refuse("A backslash must be followed by another one, or by u and four digits.")
    return chr(int(match[1], 16)) if match[1] else "\\"


def write_int(value: int) -> Writable:
    """An integer: a plain literal, or hexadecimal digits where the literal would be too long."""
    if SMALLEST < value < LARGEST:
        return value
    return marked("integer", value=f"{value:x}")


def read_int(members: Members) -> int:
    """An integer from its hexadecimal digits."""
    only(members, "value")
    text = text_of(members)
    return int(text, 16) if _HEX.fullmatch(text) else refuse("Should be hexadecimal digits.")


def write_float(value: float) -> Writable:
    """A float: a plain literal, or by name where JSON has none. The bits of an unusual NaN are kept."""
    if math.isfinite(value):
        return value
    if math.isinf(value):
        return marked("float", value="Infinity" if value > 0 else "-Infinity")
    bits = struct.pack(">d", value).hex()
    return marked("float", value="NaN") if bits == _NAN_BITS else marked("float", value="NaN", bits=bits)


def read_float(members: Members) -> float:
    """NaN or an infinity."""
    only(members, "value", "bits")
    text = text_of(members)
    if text not in ("NaN", "Infinity", "-Infinity"):
        refuse("Should be NaN, Infinity or -Infinity.")
    if "bits" not in members:
        return float(text)
    bits = text_of(members, "bits")
    found: float = struct.unpack(">d", bytes.fromhex(bits))[0] if _BITS.fullmatch(bits) else 0.0
    return found if text == "NaN" and math.isnan(found) else refuse("The bits are not those of a NaN.")


def write_complex(value: complex) -> Members:
    """Real and imaginary part."""
    return marked("complex", value=[write_float(value.real), write_float(value.imag)])


def read_complex(members: Members) -> complex:
    """From two floats that are read already."""
    only(members, "value")
    parts = members.get("value")
    if type(parts) is not list or [type(part) for part in parts] != [float, float]:
        refuse("Should be two floats.")
    return complex(*parts)


def write_decimal(value: Decimal) -> Members:
    """Every digit and the exponent; the context's habit of writing e does not matter."""
    return marked("decimal", value=str(value).replace("e", "E"))


def read_decimal(members: Members) -> Decimal:
    """Exact, whatever the context's precision."""
    only(members, "value")
    text = text_of(members)
    try:
        return Decimal(text) if _DECIMAL.fullmatch(text) else refuse("Should be a decimal number.")
    except ArithmeticError as error:
        refuse(f"The exponent or the NaN is beyond what Decimal holds ({type(error).__name__}).")


def write_uuid(value: UUID) -> Members:
    """In the usual form, lower case."""
    return marked("uuid", value=str(value))


def read_uuid(members: Members) -> UUID:
    """In the usual form only."""
    only(members, "value")
    text = text_of(members)
    return UUID(text) if _UUID.fullmatch(text) else refuse("Should be a UUID in lower case.")


def _base64(data: bytes | bytearray) -> str:
    return b64encode(data).decode("ascii")


def _bytes(members: Members) -> bytes:
    try:
        return b64decode(text_of(members), validate=True)
    except (binascii.Error, ValueError) as error:
        refuse(f"This is not base64: {error}.")


def write_bytes(value: bytes) -> Members:
    """Base64 with the standard alphabet and padding."""
    return marked("bytes", value=_base64(value))


def read_bytes(members: Members) -> bytes:
    """From base64."""
    only(members, "value")
    return _bytes(members)


def write_bytearray(value: bytearray) -> Members:
    """Like bytes, and another type."""
    return marked("bytearray", value=_base64(value))


def read_bytearray(members: Members) -> bytearray:
    """From base64."""
    return bytearray(read_bytes(members))


def write_opaque(value: OpaqueBytes) -> Members:
    """Bytes with media type, size and hash, so that a reader can check them and a page can say what they are."""
    return marked(
        "opaque",
        media_type=safe(value.media_type),
        size=len(value.data),
        sha256=sha256(value.data).hexdigest(),
        value=_base64(value.data),
    )


def read_opaque(members: Members) -> OpaqueBytes:
    """Refuses bytes that are not those that were written."""
    only(members, "value", "media_type", "size", "sha256")
    data = _bytes(members)
    found, said = sha256(data).hexdigest(), text_of(members, "sha256")
    size = members.get("size")
    if type(size) is not int or size != len(data) or found != said:
        refuse(
            f"These are {len(data)} bytes with SHA-256 {found}, not the {size!a:.20} bytes with {said:.64}."
        )
    return OpaqueBytes(data, text_of(members, "media_type"))


READERS: Final[dict[str, Callable[[Members], Any]]] = {
    "text": read_text,
    "integer": read_int,
    "float": read_float,
    "decimal": read_decimal,
    "uuid": read_uuid,
    "bytes": read_bytes,
    "bytearray": read_bytearray,
    "opaque": read_opaque,
}
WRITERS: Final[dict[type, Callable[[Any], Writable]]] = {
    int: write_int,
    float: write_float,
    complex: write_complex,
    Decimal: write_decimal,
    UUID: write_uuid,
    bytes: write_bytes,
    bytearray: write_bytearray,
    OpaqueBytes: write_opaque,
    Number: lambda number: number,
}
