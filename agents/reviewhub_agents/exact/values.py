"""How a marked object looks, what an agent's own object must not look like, and the two values that only exist here."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final, NoReturn

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from reviewhub_agents.canonical import BadJson, Fault, Writable, dumps, parse, pointer
from reviewhub_agents.canonical.values import unsafe, unsafe_message

MARK: Final = "$rh"
"""The member that makes an object a marked one; its value says which type. ``$rh2`` and so on are reserved."""

_RESERVED = re.compile(r"\$+rh[0-9]*")
_MARKING = re.compile(r"\$rh[0-9]*")


class NotExact(BadJson):
    """A value cannot be kept exactly, or what was kept cannot be read exactly; says where and which type."""


class Refused(Exception):
    """A `NotExact` on its way up: it learns the path from those who know it, so that a good value pays nothing."""

    def __init__(self, message: str, *, code: str = "invalid") -> None:
        """`message` is a whole sentence."""
        super().__init__(message)
        self.message = message
        self.code = code
        self.keys: list[str | int] = []

    def named(self) -> NotExact:
        """The error for the caller."""
        path = pointer(list(reversed(self.keys)))
        return NotExact([Fault(path=path, code=self.code, message=self.message)])


def refuse(message: str) -> NoReturn:
    """Raise `Refused`."""
    raise Refused(message)


def marked(kind: str, **members: Writable) -> dict[str, Writable]:
    """The marked object of type `kind`."""
    return {MARK: kind, **members}


def safe(text: str) -> str:
    """`text`, where it may only be plain text."""
    found = unsafe(text)
    return text if found is None else refuse(unsafe_message(found, what="text"))


def is_marked(tree: dict[str, Any]) -> bool:
    """Whether `tree` is a marked object, of this version of the format or a later one."""
    return any(key[:3] == MARK and _MARKING.fullmatch(key) is not None for key in tree)


def escaped(key: str) -> str:
    """An agent's own `key` as it is written: one ``$`` more where it would be taken for a mark."""
    return f"${key}" if key[:1] == "$" and _RESERVED.fullmatch(key) else key


def unescaped(key: str) -> str:
    """The agent's own key again; for keys of objects that are not marked."""
    return key[1:] if key[:2] == "$$" and _RESERVED.fullmatch(key) else key


class OpaqueBytes:
    """Bytes that mean something to somebody else: a MessagePack document, a framework's blob.

    They are stored with their media type, size and SHA-256, and reading compares both.
    """

    __slots__ = ("data", "media_type")
    data: bytes
    media_type: str

    def __init__(self, data: bytes, media_type: str = "application/octet-stream") -> None:
        """`data` as it is; `media_type` says what it is, like ``application/msgpack``."""
        if type(data) is not bytes:
            raise TypeError(f"data must be bytes, not {type(data).__name__}.")
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "media_type", media_type)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """As a field of a model it is itself and nothing else."""
        return core_schema.is_instance_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The marked object."""
        text = {"type": "string"}
        known = {MARK: {"const": "opaque"}, "value": text, "media_type": text, "sha256": text}
        return {
            "type": "object",
            "title": "Opaque bytes",
            "properties": known | {"size": {"type": "integer", "minimum": 0}},
            "required": [*known, "size"],
            "additionalProperties": False,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, ``sha256:<hex>``."""
        return "sha256:" + sha256(self.data).hexdigest()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("OpaqueBytes do not change.")

    def __reduce__(self) -> tuple[type[OpaqueBytes], tuple[bytes, str]]:
        return (OpaqueBytes, (self.data, self.media_type))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OpaqueBytes):
            return NotImplemented
        return (self.media_type, self.data) == (other.media_type, other.data)

    def __hash__(self) -> int:
        return hash((OpaqueBytes, self.media_type, self.data))

    def __repr__(self) -> str:
        return f"OpaqueBytes({len(self.data)} bytes of {self.media_type})"


class Unread:
    """A marked object that this reader does not know: a type that was not given, or one of a later version.

    It is kept as it was written, packs to the same bytes again, and can be compared and hashed.
    """

    __slots__ = ("text", "tree")
    text: str
    tree: dict[str, Writable]

    def __init__(self, tree: dict[str, Writable]) -> None:
        """`tree` stays as it is. Raises ValueError when it is no marked object, `BadJson` when it is no JSON."""
        if not is_marked(tree):
            raise ValueError("Only a marked object can be kept unread.")
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "text", dumps(tree))

    @property
    def kind(self) -> str:
        """What it is, in words for an error: ``enum shop.Colour``."""
        known = self.tree.get(MARK)
        named = self.tree.get("type")
        return " ".join(part for part in (known, named) if isinstance(part, str)) or "of a later version"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("What is unread does not change.")

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (_unread, (self.text,))

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Unread) else NotImplemented

    def __hash__(self) -> int:
        return hash((Unread, self.text))

    def __repr__(self) -> str:
        return f"Unread({self.kind})"


def _unread(text: str) -> Unread:
    tree = parse(text)
    assert isinstance(tree, dict)
    return Unread(tree)
