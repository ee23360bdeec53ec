"""What an answer needs of a call's arguments and what takes time, done before anything is locked."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

from reviewhub_agents import canonical, wire

from reviewhub.core.display.masking import masked_tree
from reviewhub.reviews import edit as edits
from reviewhub.reviews.denied_now import may_be_denied
from reviewhub.reviews.present import Reading, for_people
from reviewhub.reviews.rules import FIRST_VERSION
from reviewhub.toolcalls.ahead import Ahead, read_ahead
from reviewhub.toolcalls.models import ToolCall


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Arguments without their secrets, as a schema says which they are."""

    arguments: str
    schema: str
    masked: canonical.Tree


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The edit, if the answer is one; else the current version, read and, where it is to be remembered or where policy
    may deny it by now, checked."""

    edit: edits.Edit | None = None
    ahead: Ahead | None = None
    shown: Shown | None = None

    def reading(self, schema: str) -> Reading:
        """How people read the call by this schema; what was masked by the same one is not masked again."""
        read, known = for_people(schema), self.shown
        if known is None or known.schema != schema:
            return read
        return replace(read, value=lambda text: known.masked if text == known.arguments else read.value(text))


def prepare(*, request_id: uuid.UUID, body: wire.DecideBody) -> Prepared:
    """Reads, checks and masks what the answer is about. Raises as `edit.prepare` does."""
    if body.type is wire.Verdict.EDIT:
        edit = edits.prepare(request_id=request_id, body=body)
        shown = Shown(arguments=edit.arguments, schema=edit.tool.schema, masked=edit.shown.masked)
        return Prepared(edit=edit, shown=shown)
    if body.type is not wire.Verdict.APPROVE and body.version == FIRST_VERSION:
        return Prepared()
    call = ToolCall.objects.only("workspace", "tool_name").filter(requests=request_id).first()
    if call is None:
        return Prepared()
    checks = body.remember is not None or (body.type is wire.Verdict.APPROVE and may_be_denied(call))
    ahead = read_ahead(call.pk, checks=checks)
    if ahead is None:
        return Prepared()
    masked = masked_tree(ahead.tree, ahead.schema)
    return Prepared(ahead=ahead, shown=Shown(arguments=ahead.arguments, schema=ahead.schema, masked=masked))
