"""Finds what looks like a secret, by its key or by its shape, and masks it the same way on every surface."""

from __future__ import annotations

import re

DOT = "•"
_DOTS = DOT * 4
_SHORT = 12  # characters; of a shorter secret nothing at all is shown

_KEY = re.compile(
    r"pass(?:word|wd|phrase|code)|pwd$|secret|credential|authorization|(?:^|_)auth$|cookie|session_?id|bearer"
    r"|(?:^|_)token$|(?:api|access|private|signing|encryption|client|master|ssh)_?(?:key|token)|(?:^|_)(?:cvv|cvc|pin|otp|ssn)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|rk|pk|whsec|rh)(?:[_-](?:live|test|prod|proj|stg|prd|ant))?[_-][A-Za-z0-9_-]{12,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|npm_|pypi-|xox[abeprs]-|hf_|dop_v1_|shpat_)[A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{12,}|(?<=[Bb]asic )[A-Za-z0-9+/=]{12,}"
    r"|(?<=://)[^\s:/@]{0,100}:[^\s:/@]{1,200}(?=@)"
    # As people write them in a text: password=…, "api_key": "…". A word after a colon alone is mostly none.
    r"|(?i:passw(?:or)?d|passphrase|secret|api[_-]?key|token)[\"']?(?:=|\s?:\s?(?=[\"']))[\"']?"
    r"(?P<named>[^\s\"'&,;<>]{6,200})",
    re.DOTALL,
)
_PREFIX = re.compile(r"[A-Za-z]{2,7}[_-](?:[A-Za-z0-9]{2,5}[_-])?")


def is_secret_key(name: str) -> bool:
    """Whether a field of this name is taken for a secret: api_key, clientSecret, password …"""
    return bool(_KEY.search(_CAMEL.sub("_", name).replace("-", "_").lower()))


def find(text: str) -> list[tuple[int, int]]:
    """Start and end of every part of `text` with the shape of a secret."""
    return [match.span("named" if match["named"] else 0) for match in _SHAPES.finditer(text)]


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
