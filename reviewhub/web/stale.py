"""An answer that was written for a version which somebody has changed meanwhile: what changed, and what of it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import QueryDict

from reviewhub.core.display.changed import Differences, differences
from reviewhub.core.display.write_only import write_only_paths
from reviewhub.reviews.models import ReviewRequest
from reviewhub.toolcalls.models import CallVersion
from reviewhub.web.evidence import Evidence
from reviewhub.web.review import Typed, fields_for

CARRIED = ("message", "note", "value", "value_json", "value_as", "reason")


@dataclass(frozen=True)
class Meanwhile:
    """What became of a call since a page showed it as version `since`.

    `carried` are the fields of a form that opens the answer again on the version of now: the words, and each edited
    value that nobody else has changed.
    """

    since: int
    changes: Differences
    carried: list[tuple[str, str]]
    left_behind: bool
    """Whether something that was edited is not among them."""


def as_shown(given: QueryDict, row: ReviewRequest, shown: Evidence) -> Evidence:
    """The evidence as the form's page had it; `shown`, that of now, for a form that names no version of the call."""
    base = _base(given, row)
    if base is None or base.version == row.version:
        return shown
    schema = shown.tool.schema if shown.tool else ""
    return replace(shown, text=base.arguments, secret_paths=write_only_paths(schema, base.arguments))


def meanwhile(given: QueryDict, row: ReviewRequest, shown: Evidence, typed: Typed) -> Meanwhile | None:
    """What changed since the form was filled in; None for a form that names no version of the call.

    Args:
        row, shown: as they are now.
        typed: what was filled in, read against what the form's page showed.
    """
    base = _base(given, row)
    if base is None:
        return None
    before = as_shown(given, row, shown)
    carried = [(name, str(given[name])) for name in CARRIED if given.get(name)]
    edited = _edited(typed, before, shown)
    kept = [("f:" + path, value) for path, value in edited.items()]
    return Meanwhile(
        since=base.version,
        changes=differences(before.text, shown.text, secret_paths=before.secret_paths | shown.secret_paths),
        carried=[*carried, *kept],
        left_behind=bool(typed.raw) or len(edited) < len(typed.changed),
    )


def _base(given: QueryDict, row: ReviewRequest) -> CallVersion | None:
    """The version of the call that the form names, with its digest."""
    return CallVersion.objects.filter(tool_call_id=row.tool_call_id, digest=given.get("digest", "")).first()


def _edited(typed: Typed, before: Evidence, shown: Evidence) -> dict[str, str]:
    """The edited values, by path, of fields that hold in both versions the same."""
    was = {one.path: one for one in fields_for(before)}
    now = {one.path: one for one in fields_for(shown)}
    return {
        one.path: one.value
        for one in typed.changed
        if not one.is_out and one.path in now and now[one.path] == was[one.path]
    }
