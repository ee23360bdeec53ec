"""Reads of child runs."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet, Sum

from reviewhub.runs.models import Branch, Child, Run


def going_on(branch: Branch) -> list[str]:
    """The keys of the children of a branch that have not ended."""
    return list(
        Child.objects.filter(parent_branch=branch, outcome="").order_by("pk").values_list("key", flat=True)
    )


def children_of(branches: Iterable[Branch]) -> QuerySet[Child]:
    """The children of some branches, the oldest first, each with branch, run and parent's branch."""
    started = [branch for branch in branches if branch.has_children]
    rows = Child.objects.filter(parent_branch__in=started)
    return rows.select_related("branch__run", "parent_branch").order_by("pk")


def family_spent(root: Run) -> int:
    """What a run and all below it have spent together, in millionths."""
    rows = Run.objects.filter(Q(pk=root.pk) | Q(root=root))
    return rows.aggregate(spent=Sum("spent_micros"))["spent"] or 0
