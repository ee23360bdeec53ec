"""Pure rules of accounts: names as people may write them, one-time passwords."""

from __future__ import annotations

import secrets
import unicodedata
from typing import Final

from reviewhub.core.errors import Invalid
from reviewhub.core.words import fold

MAX_NAME: Final = 120
# Without letters and digits that look alike: these passwords are read aloud and typed.
_LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS: Final = 4
_GROUP: Final = 5


def clean_name(text: str, *, path: str = "/name") -> str:
    """A name without white space around it.

    Raises:
        Invalid: it is empty or longer than 120 characters, or holds control or invisible characters, with
            which one name could
            pass for another.
    """
    name = text.strip()
    if not name:
        raise Invalid.at(path, "A name is needed.", "missing")
    if len(name) > MAX_NAME:
        raise Invalid.at(path, f"The name has {len(name)} characters; the limit is {MAX_NAME}.", "too_long")
    if any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in name):
        raise Invalid.at(path, "The name holds control or invisible characters.")
    return name


def fold_name(name: str) -> str:
    """The form in which two names are compared: without letter case, and with one way to write each letter."""
    return fold(name)


def one_time_password() -> str:
    """A random password such as `k3tmw-9xqpr-…`: 20 characters from 31, 99 bits."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS))
