"""Whether policy denies by now what a page asks a person to approve."""

from __future__ import annotations

from reviewhub.policies.evaluate import Resolved
from reviewhub.reviews.denied_now import denied_now, refusal
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.states import RequestState
from reviewhub.toolcalls.ahead import Ahead
from reviewhub.web.evidence import Evidence


def denied(row: ReviewRequest, shown: Evidence) -> Resolved | None:
    """The answer that denies the call of an open request, as the page shows it; None where policy denies nothing."""
    if row.state != RequestState.PENDING or row.kind != ReviewRequest.Kind.APPROVAL:
        return None
    call = row.tool_call
    call.agent, call.run, call.branch = row.agent, row.run, row.branch
    schema = shown.tool.schema if shown.tool else ""
    read = Ahead(version=row.version, schema=schema, arguments=shown.text, tree=None, by_schema=None)
    return denied_now(call, read)


def check_not_denied(row: ReviewRequest, shown: Evidence) -> None:
    """Refuses an approval before anybody is asked for a password or a last confirmation. Raises DeniedByNow."""
    answer = denied(row, shown)
    if answer is not None:
        raise refusal(answer)
