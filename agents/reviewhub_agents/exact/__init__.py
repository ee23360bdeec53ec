"""Exact values: Python values that JSON has no form for, as JSON, and back, equal and of the same type.

    text = canonical.dumps(exact.pack(state))
    state = exact.unpack(canonical.parse(text), types=[Colour, Order])

Plain JSON packs to itself. Everything else becomes a marked object, ``{"$rh":"decimal","value":"12.50"}``; an object
of the agent's own that looks like one is escaped. What cannot be kept raises `NotExact`, which names the path and the
type. Reading imports nothing and calls nothing: enums, named tuples, dataclasses and pydantic models come back when
the reader passes their types, and as `Unread` otherwise.

The format, for readers in any language, is on the page docs/exact-values.md.
"""

from .known import Types, qualified
from .packing import pack
from .unpacking import unpack
from .values import MARK, NotExact, OpaqueBytes, Unread

__all__ = [
    "MARK",
    "NotExact",
    "OpaqueBytes",
    "Types",
    "Unread",
    "pack",
    "qualified",
    "unpack",
]
