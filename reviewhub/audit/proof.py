"""Whether one event is proven: where it stands, and whether leaf, path and signature fit now."""

from __future__ import annotations

from dataclasses import dataclass

from reviewhub.audit import keys, merkle, statement
from reviewhub.audit.export import paths_of, seal_of
from reviewhub.audit.leaf import leaf_hash, payload_hash
from reviewhub.audit.models import Event, Position


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Of a sealed event. `wrong` is "" when everything fits.

    This looks at one event and its seal. Whether everything before it is as it was sealed, `verify` shows.
    """

    position: int
    seal: int
    sealed_at: str
    root: str
    key: str
    is_erased: bool
    wrong: str


def proof_of(event: Event) -> Proof | None:
    """The proof of an event; None while it waits for its seal."""
    place = Position.objects.filter(pk=event.pk).first()
    if place is None:
        return None
    seal = seal_of(event.workspace_id, place.position)
    try:
        said = statement.read(seal.statement)
    except ValueError:
        said = None
    wrong = "the statement of the seal cannot be read"
    if said is not None:
        size = said.last - said.first + 1
        path = paths_of(seal).of(place.position - seal.first)
        root = merkle.climb(bytes(event.leaf), place.position - said.first, size, path)
        wrong = ""
        if not _leaf_fits(event):
            wrong = "the words are not those that were recorded"
        elif root.hex() != said.root:
            wrong = "the event is not the one that was sealed at this position"
        elif not keys.is_signed(said.key, statement.signed(seal.statement), bytes(seal.signature)):
            wrong = "the signature is not that of the seal"
    return Proof(
        position=place.position,
        seal=seal.number,
        sealed_at=said.sealed_at if said else "",
        root=said.root if said else "",
        key=said.key if said else "",
        is_erased=event.payload.erased_at is not None,
        wrong=wrong,
    )


def _leaf_fits(event: Event) -> bool:
    """Of an erased event there are no words to compute the leaf from."""
    payload = event.payload
    if payload.erased_at is not None:
        return True
    try:
        hashed = payload_hash(salt=bytes(payload.salt), body=payload.body)
    except ValueError:
        return False
    leaf = leaf_hash(workspace_id=event.workspace_id, kind=event.kind, at=event.at, payload=hashed)
    return leaf == bytes(event.leaf)
