"""Reads settings from environment variables; a value that cannot be read stops the start with its name."""

from __future__ import annotations

import os
from pathlib import Path

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


class BadSetting(Exception):
    """An environment variable holds a value that cannot be read."""


def text(name: str, default: str = "") -> str:
    """The variable `name`, or the contents of the file named by `name`_FILE (how container secrets arrive)."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        return Path(path).read_text(encoding="utf-8").strip()
    return os.environ.get(name, default)


def flag(name: str, *, default: bool = False) -> bool:
    """A yes/no variable; anything but the usual words raises."""
    raw = text(name, "1" if default else "0").strip().lower()
    if raw in TRUE:
        return True
    if raw in FALSE:
        return False
    raise BadSetting(f"{name}={raw!r} is neither yes nor no")


def number(name: str, default: int, *, most: int | None = None) -> int:
    """A whole number, at most `most`."""
    raw = text(name, str(default)).strip()
    try:
        found = int(raw)
    except ValueError as error:
        raise BadSetting(f"{name}={raw!r} is not a whole number") from error
    if most is not None and found > most:
        raise BadSetting(f"{name}={raw!r} is more than {most}")
    return found


def words(name: str, default: str = "") -> list[str]:
    """A list of words separated by commas."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def pairs(name: str, default: str = "") -> dict[str, str]:
    """A list of `key=value` separated by commas."""
    found = {}
    for word in words(name, default):
        key, equals, value = word.partition("=")
        if not (key and equals and value):
            raise BadSetting(f"{name}: {word!r} is not of the form name=value")
        found[key] = value
    return found


def amounts(name: str, default: str = "") -> dict[str, float]:
    """A list of `key=number` separated by commas; numbers from 0 up."""
    found = {}
    for key, value in pairs(name, default).items():
        try:
            found[key] = float(value)
        except ValueError as error:
            raise BadSetting(f"{name}: {value!r} is not a number") from error
        if not 0 <= found[key] < float("inf"):
            raise BadSetting(f"{name}: {value!r} is not a number from 0 up")
    return found
