"""What a step that starts again has to ask for once more, since it did the first time."""

from __future__ import annotations

from .errors import ReplayDiverged

SHOWN = 5
LONGEST = 19


class Replay:
    """The places that were recorded after the snapshot a process starts from, and which of them were met again."""

    def __init__(self, places: set[str]) -> None:
        """Made by the engine from `Store.places`."""
        self._left: dict[int, set[str]] = {}
        # The events of steps are written by the engine itself, and compared when it comes by.
        for key in places:
            if key.endswith("/end"):
                continue
            self._left.setdefault(step_of(key), set()).add(key)

    @property
    def going_on(self) -> bool:
        """Whether something is still to be met again."""
        return any(self._left.values())

    def holds(self, place: str) -> bool:
        """Whether this was asked for before, and not yet again."""
        return place in self._left.get(step_of(place), ())

    def met(self, place: str) -> bool:
        """The step asks for this; whether it was asked for before."""
        left = self._left.get(step_of(place), set())
        was = place in left
        left.discard(place)
        return was

    def refuse_new(self, place: str) -> None:
        """A step that runs in order may not act anew while it has not asked again for all it asked for before.

        Raises:
            ReplayDiverged: names both.
        """
        left = self._left.get(step_of(place))
        if left:
            raise ReplayDiverged(f"{place} is new; the first time this step asked for {_said(left)}")

    def ended(self, step: int) -> None:
        """The step has ended.

        Raises:
            ReplayDiverged: it did not ask for something that it asked for the first time.
        """
        left = self._left.pop(step, None)
        if left:
            raise ReplayDiverged(f"this step asked for {_said(left)} the first time, and not now")


def step_of(place: str) -> int:
    """The number of the step in which something was asked for; -1 for a key that the engine did not make."""
    number = place.partition("/")[0]
    return int(number) if number.isdecimal() and len(number) < LONGEST else -1


def node_of(place: str) -> str:
    """The node of the graph in which something was asked for; empty for a key that the engine did not make."""
    return place.split("/", 2)[1] if step_of(place) >= 0 and place.count("/") > 1 else ""


def _said(places: set[str]) -> str:
    some = sorted(places)
    more = f" and {len(some) - SHOWN} more" if len(some) > SHOWN else ""
    return ", ".join(some[:SHOWN]) + more
