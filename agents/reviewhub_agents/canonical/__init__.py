"""Canonical JSON: one text and one digest for one value, exactly as it was written.

Whatever an agent proposes is shown to a person, stored, hashed and run. All four must be the same value, so
JSON is never read through floats and plain dicts here: numbers keep their literal (``1E2`` stays ``1E2``),
text is untouched, and what cannot be kept everywhere (NaN, lone surrogates, U+0000, duplicate keys …) is
refused with the path of the fault.

Canonical text: keys sorted by code point, no white space, only the escapes JSON demands, all else unescaped.
"""

from hashlib import sha256

from .convert import plain, to_python
from .reader import MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse
from .values import BadJson, Fault, Number, Tree, pointer
from .writer import MOST_WRITABLE_DEPTH, Writable, dumps, joined

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_VALUES",
    "MOST_WRITABLE_DEPTH",
    "BadJson",
    "Fault",
    "Number",
    "Tree",
    "Writable",
    "body_digest",
    "canonical",
    "digest",
    "digest_of",
    "dumps",
    "joined",
    "parse",
    "plain",
    "pointer",
    "reread",
    "to_python",
]

DIGEST_VERSION = 1
_ANY = 2**31


def canonical(
    raw: bytes | str,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    max_values: int = MAX_VALUES,
) -> str:
    """The canonical text of raw JSON. Raises `BadJson` for what `parse` refuses."""
    return dumps(parse(raw, max_bytes=max_bytes, max_depth=max_depth, max_values=max_values))


def reread(text: str) -> Tree:
    """Reads a text that `dumps` wrote, or that `parse` passed before, also under larger limits than today's.

    The limits of `parse` are for what others send; what was taken once is never lost to them.
    Raises `BadJson` when the text is damaged.
    """
    return parse(text, max_bytes=_ANY, max_depth=MOST_WRITABLE_DEPTH, max_values=_ANY)


def digest(*, tool: str, arguments_text: str) -> str:
    """The digest of one tool call, ``sha256:<hex>``, over ``{version, tool, arguments}``.

    `arguments_text` is made canonical first, so two spellings of one value never get two digests.
    Raises `BadJson` when it is not acceptable JSON, or when `tool` holds U+0000 or a lone surrogate.
    """
    return digest_of(tool=tool, canonical_arguments=dumps(reread(arguments_text)))


def digest_of(*, tool: str, canonical_arguments: str) -> str:
    """The same for arguments that `dumps` has just written, which are not read once more.

    Raises `BadJson` when `tool` holds U+0000 or a lone surrogate.
    """
    return _sha256(f'{{"arguments":{canonical_arguments},"tool":{dumps(tool)},"version":{DIGEST_VERSION}}}')


def body_digest(tree: Writable) -> str:
    """The digest of a whole value, ``sha256:<hex>`` over its canonical text: equal bodies, equal digests."""
    return _sha256(dumps(tree))


def _sha256(text: str) -> str:
    return "sha256:" + sha256(text.encode()).hexdigest()
