"""What an edit changes in a call's arguments, value by value: what was and what is, for people to read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from reviewhub_agents import canonical

from reviewhub.core.display import secrets, segments
from reviewhub.core.display.arguments import HEAD_CHARACTERS, Leaf, in_words, leaves
from reviewhub.core.display.segments import Segment

MOST = 60
LONG = 200  # characters; of longer texts only what is near the difference is shown
NEAR = 40


@dataclass(frozen=True, slots=True)
class Changed:
    """One value that differs. `was` is None for one that is new, `becomes` for one that is gone."""

    name: tuple[Segment, ...]
    was: tuple[Segment, ...] | None
    becomes: tuple[Segment, ...] | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Differences:
    """The values that differ, in the order of the arguments; `left_out` more are not listed."""

    listed: tuple[Changed, ...] = ()
    left_out: int = 0


def differences(before: str, after: str, *, secret_paths: Collection[str] = ()) -> Differences:
    """Every value that is not the same in two canonical JSON texts.

    Values are compared by their bytes, so `1`, `1.0` and `"1"` differ; secrets are compared, and shown masked.
    """
    old = {leaf[0]: leaf for leaf in leaves(canonical.reread(before))}
    new = {leaf[0]: leaf for leaf in leaves(canonical.reread(after))}
    unequal = [path for path in {**old, **new} if _bytes(old.get(path)) != _bytes(new.get(path))]
    listed = tuple(_changed(old.get(path), new.get(path), secret_paths) for path in unequal[:MOST])
    return Differences(listed, left_out=len(unequal) - len(listed))


def _bytes(leaf: Leaf | None) -> str | None:
    return None if leaf is None else canonical.dumps(leaf[2])


def changed(name: str, was: str | None, becomes: str | None, *, is_secret: bool = False) -> Changed:
    """One value that differs, of what it was and is as text to read; None for what was not or is not there."""
    if is_secret:
        return Changed(segments.split(name, mask=False), _secret(was), _secret(becomes))
    # Masked before it is cut, or half a secret would pass unseen.
    was, becomes = _near(*(None if text is None else secrets.masked(text) for text in (was, becomes)))
    shown = None if becomes is None else segments.split(becomes)
    return Changed(
        name=segments.split(name, mask=False),
        was=None if was is None else segments.split(was),
        becomes=shown,
        flags=tuple(segments.odd(shown or ())),
    )


def _changed(old: Leaf | None, new: Leaf | None, secret_paths: Collection[str]) -> Changed:
    path, name = (old or new or ("", "", None, 0, False))[:2]
    was, becomes = _text(old), _text(new)
    is_secret = path in secret_paths or any(leaf[4] for leaf in (old, new) if leaf is not None)
    if was == becomes and not is_secret:  # a number that became the same text, or the other way round
        was, becomes = _bytes(old), _bytes(new)
    return changed(name, was, becomes, is_secret=is_secret)


def _text(leaf: Leaf | None) -> str | None:
    return None if leaf is None else in_words(leaf[2])[0]


def _secret(text: str | None) -> tuple[Segment, ...] | None:
    return None if text is None else (segments.secret(text),)


def _near(was: str | None, becomes: str | None) -> tuple[str | None, str | None]:
    """Both texts without what they share far from the difference."""
    if was is None or becomes is None or max(len(was), len(becomes)) <= LONG:
        return _head(was), _head(becomes)
    start = _shared(was, becomes)
    end = _shared(was[start:][::-1], becomes[start:][::-1])
    start, end = max(0, start - NEAR), max(0, end - NEAR)
    return _head(_between(was, start, end)), _head(_between(becomes, start, end))


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    at = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(at, min(len(one), len(other)))


def _between(text: str, start: int, end: int) -> str:
    return f"{'…' if start else ''}{text[start : len(text) - end]}{'…' if end else ''}"


def _head(text: str | None) -> str | None:
    if text is None or len(text) <= HEAD_CHARACTERS:
        return text
    return f"{text[:HEAD_CHARACTERS]}… ({len(text) - HEAD_CHARACTERS:,} more characters)"
