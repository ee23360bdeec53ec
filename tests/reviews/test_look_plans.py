"""Lists of later looks read an index from where the page begins, however they are narrowed."""

from __future__ import annotations

import uuid
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from reviewhub.accounts.permissions import scope_of
from reviewhub.audit.testing import unguarded
from reviewhub.core.clock import now
from reviewhub.reviews.looks import LookFilters, handed_to, in_order, left_behind, looks
from reviewhub.reviews.models import FollowUp, PostReview
from reviewhub.reviews.states import SEVERITIES
from tests.cast import Cast, caller
from tests.web.make import drawn, suggested_rule, waiting

pytestmark = pytest.mark.django_db


def plan_of(rows: Any) -> str:
    """How the database would read `rows`.

    On PostgreSQL as if no table were small enough to be read whole, and as if none had been counted yet: among a row
    or two that were, all indexes are the same to it.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as sql:
            sql.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            with unguarded():
                sql.execute(f"TRUNCATE {PostReview._meta.db_table} CASCADE")
    return str(rows.explain())


@pytest.mark.parametrize(
    ("narrowed", "index"),
    [
        ({}, "post_review_triage"),
        ({"tool": "refund"}, "post_review_tool"),
        ({"agent": "support-triage"}, "post_review_agent"),
        ({"state": "fine"}, "post_review_done"),
        ({"state": "fine", "tool": "refund"}, "post_review_tool_done"),
        ({"state": "flagged", "agent": "support-triage"}, "post_review_agent_done"),
    ],
)
def test_a_list_is_read_in_the_order_of_an_index(cast: Cast, narrowed: dict[str, str], index: str) -> None:
    drawn(waiting(cast.support).tool_call)
    plan = plan_of(in_order(scope_of(caller(cast.carol)), LookFilters(**narrowed))[:51])
    assert f"{index} " in plan and "TEMP B-TREE" not in plan and "Sort" not in plan, plan


def test_what_was_handed_on_is_found_by_to_whom(cast: Cast) -> None:
    plan = plan_of(handed_to(scope_of(caller(cast.carol)), cast.carol.pk)[:5])
    assert "follow_up_handed" in plan and "TEMP B-TREE" not in plan and "Sort" not in plan, plan


def test_what_was_handed_on_to_nobody_who_can_see_to_it_is_read_from_the_worst_on(cast: Cast) -> None:
    plan = plan_of(left_behind(scope_of(caller(cast.carol)))[:5])
    assert "follow_up_escalated" in plan and "TEMP B-TREE" not in plan and "Sort" not in plan, plan


def test_what_followed_before_gets_the_severity_of_its_flag(cast: Cast) -> None:
    ranks = {}
    for rank, severity in enumerate(SEVERITIES):
        row = drawn(waiting(cast.support).tool_call, state="flagged", severity=severity)
        ranks[suggested_rule(row, cast.carol).pk] = rank
    brought = import_module("reviewhub.reviews.migrations.0019_follow_ups_by_severity")
    brought.fill(apps, connection.schema_editor())
    assert dict(FollowUp.objects.values_list("pk", "rank")) == ranks


def test_an_agents_list_is_that_of_its_id(cast: Cast) -> None:
    rows = [drawn(waiting(cast.support, agent=name).tool_call) for name in ("one", "two", "one")]
    scope = scope_of(caller(cast.carol))

    def found(agent: str) -> set[uuid.UUID]:
        return {row.pk for row in looks(scope, filters=LookFilters(agent=agent)).rows}

    assert found("one") == {rows[0].pk, rows[2].pk}
    assert found("two") == {rows[1].pk}
    assert found("nobody") == set()


def test_pages_of_a_tool_follow_one_another(cast: Cast) -> None:
    made = [drawn(waiting(cast.support, tool="refund").tool_call, rank=n % 3) for n in range(5)]
    for row in made[:3]:
        PostReview.objects.filter(pk=row.pk).update(
            state="fine", reviewed_at=now() - timedelta(seconds=row.rank), member_name="Carol"
        )
    drawn(waiting(cast.support, tool="else").tool_call)
    scope = scope_of(caller(cast.carol))
    for state, many in (("drawn", 2), ("fine", 3)):
        seen, cursor = [], ""
        while True:
            page = looks(scope, filters=LookFilters(state=state, tool="refund"), cursor=cursor, limit=1)
            seen += [row.pk for row in page.rows]
            cursor = page.next
            if not cursor:
                break
        assert len(seen) == len(set(seen)) == many
