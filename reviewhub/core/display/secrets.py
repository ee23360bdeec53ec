"""Finds what looks like a secret, by its key or by its shape, and masks it the same way on every surface."""

from __future__ import annotations

import re
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # ships no types

DOT = "•"
_DOTS = DOT * 4
_SHORT = 12  # characters; of a shorter secret nothing at all is shown
_REMEMBERED = 100  # characters; longer names are looked at each time
_SHORTEST = 6  # characters; a shorter text has no secret's shape
_MOST = 1000

_KEY = re.compile(
    r"pass(?:word|wd|phrase|code)|pwd$|secret|credential|authorization|(?:^|_)auth$|cookie|session_?id|bearer"
    r"|(?:^|_)token$|(?:api|access|private|signing|encryption|client|master|ssh)_?(?:key|token)|(?:^|_)(?:cvv|cvc|pin|otp|ssn)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# In the engine whose time is linear, and which lets other threads work meanwhile: a megabyte takes milliseconds.
# What is in a group is the secret, the rest is how it is known.
_SHAPES = re2.compile(
    r"(?s:(-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)))"
    r"|\b((?:sk|rk|pk|whsec|rh)[_-][A-Za-z0-9_-]{12,}"
    r"|(?:gh[pousr]_|github_pat_|glpat-|npm_|pypi-|xox[abeprs]-|hf_|dop_v1_|shpat_)[A-Za-z0-9_-]{16,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}\b|AIza[0-9A-Za-z_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
    r"|[Bb]earer ([A-Za-z0-9._~+/=-]{12,})|[Bb]asic ([A-Za-z0-9+/=]{12,})"
    r"|://([^\s:/@]*:[^\s:/@]+)@"
    # As people write them in a text: password=…, "api_key": "…". A word after a colon alone is mostly none.
    r"|(?i:passw(?:or)?d|passphrase|secret|api[_-]?key|token)[\"']?(?:=[\"']?|\s?:\s?[\"'])([^\s\"'&,;<>]{6,})"
)
_HALVES = re.compile("[\ud800-\udfff]")
_PREFIX = re.compile(r"[A-Za-z]{2,7}[_-](?:[A-Za-z0-9]{2,5}[_-])?")


def is_secret_key(name: str) -> bool:
    """Whether a field of this name is taken for a secret: api_key, clientSecret, password …"""
    return _named_so(name) if len(name) <= _REMEMBERED else _named_so.__wrapped__(name)


@lru_cache(maxsize=4096)
def _named_so(name: str) -> bool:
    return bool(_KEY.search(_CAMEL.sub("_", name).replace("-", "_").lower()))


def find(text: str) -> list[tuple[int, int]]:
    """Start and end of every part of `text` with the shape of a secret, in order.

    A text with more than _MOST of them is hidden from there on: nobody reads it, and each costs more than a look.
    """
    if len(text) < _SHORTEST:
        return []
    found: list[tuple[int, int]] = []
    # Halves of surrogate pairs have no bytes to look at.
    for match in _SHAPES.finditer(text if text.isascii() else _HALVES.sub("\ufffd", text)):
        if len(found) == _MOST:
            return [*found, (match.start(match.lastindex), len(text))]
        found.append(match.span(match.lastindex))
    return found


def mask(text: str) -> str:
    """`rk_live_••••7Qd2`: a known prefix, dots, and the last four characters of a long enough secret."""
    if len(text) < _SHORT or "\n" in text or not text[-4:].isalnum() or ":" in text:
        return DOT * 8
    prefix = _PREFIX.match(text)
    kept = prefix.group() if prefix and prefix.end() + 4 <= len(text) // 2 else ""
    return f"{kept}{_DOTS}{text[-4:]}"


def masked(text: str) -> str:
    """`text` with every secret-looking part masked, for logs, mails and webhooks."""
    parts, done = [], 0
    for start, end in find(text):
        parts += [text[done:start], mask(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])
