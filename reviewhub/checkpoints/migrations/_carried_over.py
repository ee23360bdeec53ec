"""How migration 0003 reads states of the first form and writes them as rows and blobs.

It is frozen: what the store does later must not change what this migration makes, nor keep it from running. It writes a
part of the format that `docs/checkpoints.md` describes (fields, lists in parts, zstd without a window), which every
reader of that format reads. Of the product it uses the canonical form only, on which the hashes stand.
"""

import json
from dataclasses import dataclass, field
from hashlib import sha256

import zstandard
from reviewhub_agents import canonical

RAW, ZSTD = b"\x00", b"\x01"
LEVEL = 3
MOST = 130_000_000
"""Bytes that a state may unpack to."""
INLINE = 256
"""Larger values are blobs."""
CHUNK = 131_072
"""About the most bytes of items in one blob."""
MANIFEST_ROWS, MANIFEST_BYTES = 64, 262_144
ANY = 2**31


class Damaged(Exception):
    """What is stored is no state, or none of this hash."""


@dataclass
class Tip:
    """The checkpoint before: its fields (of a list the items), and the blobs that its lists begin with."""

    fields: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)
    number: int = 0
    base: int = 0
    weight: int = 0


def read(body, state_hash):
    """The fields of a packed state: canonical texts, or lists of them. Raises Damaged."""
    try:
        text = _unpacked(body).decode()
        tree = canonical.parse(text, max_bytes=ANY, max_depth=1000, max_values=ANY)
    except (ValueError, zstandard.ZstdError) as error:
        raise Damaged from error
    if not isinstance(tree, dict):
        raise Damaged
    fields = {
        name: [canonical.dumps(item) for item in value] if isinstance(value, list) else canonical.dumps(value)
        for name, value in tree.items()
    }
    if _hash(fields) != state_hash:
        raise Damaged
    return fields


def row(fields, *, on, number, begins):
    """What a checkpoint becomes on top of `on`: its base, content, blobs (bytes by hash), and itself as a tip."""
    kept = {name: on.parts[name] for name in on.parts if _goes_on(on.fields.get(name), fields.get(name))}
    if not begins:
        text, blobs = _delta(fields, on.fields)
        weight = on.weight + len(text.encode())
        if number - on.base < MANIFEST_ROWS and weight <= MANIFEST_BYTES:
            tip = Tip(fields=fields, parts=kept, number=number, base=on.base, weight=weight)
            return on.base, _packed(text), blobs, tip
    text, blobs, parts = _manifest(fields, kept)
    return number, _packed(text), blobs, Tip(fields=fields, parts=parts, number=number, base=number)


def _delta(fields, before):
    head, lines, blobs = [], [], {}
    head += [["-", name] for name in sorted(before) if name not in fields]
    for name, value in sorted(fields.items()):
        old = before.get(name)
        if old == value:
            continue
        if isinstance(value, str):
            _put(name, value, head, lines, blobs)
            continue
        at = len(old) if _goes_on(old, value) else 0
        if old is not None and not at:
            head.append(["-", name])
        head.append(["[", name, at, 0, *_loose(value[at:], lines)])
    return _text(head, lines), blobs


def _manifest(fields, kept):
    head, lines, blobs, parts = [], [], {}, {}
    for name, value in sorted(fields.items()):
        if isinstance(value, str):
            _put(name, value, head, lines, blobs)
            continue
        parts[name] = list(kept.get(name, []))
        rest = value[sum(count for count, _ in parts[name]) :]
        if sum(len(item.encode()) for item in rest) > INLINE:
            parts[name] += _chunks(rest, blobs)
            rest = []
        head.append(["[", name, 0, 0, *map(list, parts[name]), *_loose(rest, lines)])
    return _text(head, lines), blobs, parts


def _put(name, text, head, lines, blobs):
    if len(text.encode()) <= INLINE:
        head.append(["=", name])
        lines.append(text)
    else:
        head.append(["#", name, _blob(text, blobs)])


def _loose(items, lines):
    lines.extend(items)
    return [len(items)] if items else []


def _chunks(items, blobs):
    held, size = [], 0
    for place, item in enumerate(items):
        held.append(item)
        size += len(item.encode())
        if size >= CHUNK or place == len(items) - 1:
            yield len(held), _blob("\n".join(held), blobs)
            held, size = [], 0


def _blob(text, blobs):
    hash_ = sha256(text.encode()).hexdigest()
    blobs[bytes.fromhex(hash_)] = _packed(text)
    return hash_


def _goes_on(old, new):
    """Whether a list is another one with items at its end."""
    return isinstance(old, list) and isinstance(new, list) and new[: len(old)] == old


def _hash(fields):
    digests = {
        name: sha256((f"[{','.join(value)}]" if isinstance(value, list) else value).encode()).hexdigest()
        for name, value in fields.items()
    }
    text = canonical.dumps({"fields": digests, "version": canonical.Number("1")})
    return "sha256:" + sha256(text.encode()).hexdigest()


def _text(head, lines):
    return "\n".join([json.dumps(head, ensure_ascii=False, separators=(",", ":")), *lines])


def _packed(text):
    raw = text.encode()
    packed = zstandard.ZstdCompressor(level=LEVEL).compress(raw)
    return ZSTD + packed if len(packed) < len(raw) else RAW + raw


def _unpacked(body):
    how, rest = body[:1], body[1:]
    if how == RAW:
        return rest
    # The size that the frame claims is what is set aside for it, so it is looked at first.
    if how != ZSTD or not 0 <= zstandard.frame_content_size(rest) <= MOST:
        raise Damaged
    return zstandard.ZstdDecompressor().decompress(rest, max_output_size=MOST)
