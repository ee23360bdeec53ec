"""Where a state stands: the row that it becomes on top of another checkpoint. Reads, and writes nothing."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from reviewhub.checkpoints.change import write
from reviewhub.checkpoints.chunks import size_of
from reviewhub.checkpoints.recall import Tip
from reviewhub.checkpoints.rows import pack, slide
from reviewhub.checkpoints.skeleton import Skeleton
from reviewhub.checkpoints.tree import State, standing_on


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A row that is ready to be written, good only on top of the checkpoint `upon`."""

    upon: uuid.UUID | None
    number: int
    base: int
    weight: int
    window: bytes
    content: bytes
    blobs: dict[bytes, bytes]
    state: State
    skeleton: Skeleton

    def tip(self, *, id_: uuid.UUID, run_id: uuid.UUID) -> Tip:
        """What the row is once it has an id."""
        return Tip(
            id=id_,
            run_id=run_id,
            number=self.number,
            base=self.base,
            weight=self.weight,
            window=self.window,
            state=self.state,
            skeleton=self.skeleton,
        )


def place(state: State, *, on: Tip | None, begins_branch: bool = False) -> Placed:
    """Finds the difference, and hashes and compresses what is new; to be called before the transaction.

    Args:
        on: the checkpoint before; None when there is none.
        begins_branch: the row is the first of a fork: it stands alone and is number 1.
    """
    before = on.state if on else State({})
    shared = standing_on(before, state)
    written = write(
        shared,
        before=before,
        skeleton=on.skeleton if on else Skeleton(),
        rows=0 if on is None or begins_branch else on.number - on.base + 1,
        weight=on.weight if on else 0,
    )
    number = 1 if on is None or begins_branch else on.number + 1
    base, weight, window = number, 0, b""
    if on is not None and not written.is_manifest:
        base, weight, window = on.base, on.weight + size_of(written.text), on.window
    return Placed(
        upon=on.id if on else None,
        number=number,
        base=base,
        weight=weight,
        window=slide(window, written.text),
        content=pack(written.text.encode(), window=window),
        blobs={bytes.fromhex(hash_): pack(raw) for hash_, raw in written.blobs.items()},
        state=shared,
        skeleton=written.skeleton,
    )
