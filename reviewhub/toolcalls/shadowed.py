"""What the draft in shadow would have done so far."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from reviewhub.policies.models import PolicyDraft
from reviewhub.toolcalls.models import ShadowAnswer, ToolCall
from reviewhub.toolcalls.states import Mode

MOST_LISTED = 10


@dataclass(frozen=True, kw_only=True)
class Group:
    """The calls that the draft would treat in one way: how many, and the newest of them."""

    heading: str
    count: int
    calls: list[ShadowAnswer]


@dataclass(frozen=True, kw_only=True)
class Shadowed:
    """`calls`: how many were made since the draft is in shadow. `undecided`: which rules could not be decided, why, and
    on how many calls, the most frequent first; `undecided_more`: how many such texts are left out."""

    calls: int
    groups: list[Group]
    undecided: list[tuple[str, int]]
    undecided_more: int


def shadowed(draft: PolicyDraft) -> Shadowed | None:
    """What is known of a draft that is, or was, in shadow; None when it never was."""
    if draft.shadow_since is None:
        return None
    answers = ShadowAnswer.objects.filter(draft=draft)
    counts = dict(answers.order_by().values_list("change").annotate(Count("id")))
    made = ToolCall.objects.filter(
        workspace_id=draft.workspace_id, created_at__gte=draft.shadow_since, mode=Mode.GATED
    )
    rows = answers.filter(change=ShadowAnswer.Change.UNDECIDED).order_by().values("asks")
    undecided = rows.annotate(many=Count("id")).order_by("-many", "asks").values_list("asks", "many")
    listed = answers.select_related("tool_call__agent").order_by("-id")
    return Shadowed(
        calls=made.count(),
        groups=[
            Group(
                heading=change, count=counts[change], calls=list(listed.filter(change=change)[:MOST_LISTED])
            )
            for change in ShadowAnswer.Change.values
            if change in counts
        ],
        undecided=list(undecided[:MOST_LISTED]),
        undecided_more=max(0, undecided.count() - MOST_LISTED),
    )
