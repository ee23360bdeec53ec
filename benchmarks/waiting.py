"""What a page of the queue costs with 100,000 requests waiting: server time, and how many queries.

    DATABASE_URL=postgresql://… python benchmarks/waiting.py [--requests 100000] [--plans]

Fills the empty database of DATABASE_URL (or a scratch one on SQLite): half of the requests are Support's, a
thousandth Finance's, and as many are decided. Each page is asked for in this process, template and all, as a reviewer
gets it; the fastest, the median and the worst of seven. Ends with 1 where the target is missed, or where the number of
queries is another one than with ten requests. `--plans` prints what the database does for the slowest queries.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "agents")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
SCRATCH = tempfile.TemporaryDirectory()
os.environ["REVIEWHUB_VAR"] = SCRATCH.name

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Model  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from reviewhub.accounts.models import Member  # noqa: E402
from reviewhub.reviews.models import ReviewRequest  # noqa: E402
from reviewhub.runs.models import Branch, Run, Words  # noqa: E402
from reviewhub.toolcalls.models import CallVersion, Pause, ToolCall  # noqa: E402
from tests.cast import Cast, make_cast  # noqa: E402
from tests.web.make import waiting  # noqa: E402

TARGET_MS = 60.0
TIMES = 7
PAGES = (
    "queue",
    "queue?free=1",
    "queue?risk=critical",
    "queue?tool=tool7",
    "queue?state=any",
    "queue?me=1",
    "queue?q=8812",
    "queue?q=refund",
    "queue?q=order99",
    "queue?q=nothing-like-it",
    "queue?late=1",
    "queue?team=Finance",
    "search?q=order99",
    "search?q=refund",
    "start",
)
WHO = ("bob", "dave", "carol")  # half of them, a thousandth, all


def main() -> None:
    """Fills, measures, prints a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--requests", type=int, default=100_000)
    options.add_argument("--plans", action="store_true")
    options.add_argument("--filled", action="store_true", help="the database was filled by this before")
    given = options.parse_args()
    call_command("migrate", verbosity=0)
    if given.filled:
        people = {row.person.name.lower(): row for row in Member.objects.select_related("person")}
        few: dict[tuple[str, str], int] = {}
    else:
        cast = make_cast()
        people = cast.people
        one = waiting(cast.support)
        fill(cast, one, 10)
        few = {(who, page): len(queries_of(browser(people[who]), page)) for who in WHO for page in PAGES}
        fill(cast, one, given.requests)
    slow = [
        f"{who} {page}"
        for who in WHO
        for page in PAGES
        if not measured(people[who], who, page, few.get((who, page)), plans=given.plans)
    ]
    if slow:
        sys.exit(f"missed: {', '.join(slow)}")


def browser(member: Member) -> Client:
    """A signed-in browser."""
    client = Client()
    client.force_login(member.person)
    return client


def measured(member: Member, who: str, page: str, few: int | None, *, plans: bool) -> bool:
    """Prints one line of the table; whether the target is met."""
    client, times, works = browser(member), [], []
    for _ in range(TIMES):
        began, worked = time.perf_counter(), time.process_time()
        assert client.get(f"/northwind/{page}").status_code == 200
        times.append((time.perf_counter() - began) * 1000)
        works.append((time.process_time() - worked) * 1000)
    queries = queries_of(client, page)
    median, worst = statistics.median(times), max(times)
    in_database = sum(float(one["time"]) for one in queries) * 1000
    print(
        f"| {who} | {page} | {min(times):.0f} | {median:.0f} | {worst:.0f} | {min(works):.0f} | {in_database:.0f} "
        f"| {len(queries)} | ≤ {TARGET_MS:g} |",
        flush=True,
    )
    if plans:
        explain(sorted(queries, key=lambda one: -float(one["time"]))[:2])
    return median <= TARGET_MS and few in (None, len(queries))


def queries_of(client: Client, page: str) -> list[dict[str, str]]:
    """What the page asks the database."""
    with CaptureQueriesContext(connection) as found:
        assert client.get(f"/northwind/{page}").status_code == 200
    return list(found.captured_queries)


def explain(queries: list[dict[str, str]]) -> None:
    """What the database does for them."""
    for one in queries:
        print(one["time"], one["sql"][:3000])
        prefix = "EXPLAIN (ANALYZE, BUFFERS)" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
        with connection.cursor() as cursor:
            cursor.execute(f"{prefix} {one['sql'].replace('%', '%%')}", [])
            print("\n".join(f"    {row[-1] if len(row) > 1 else row[0]}" for row in cursor.fetchall()))


def fill(cast: Cast, one: ReviewRequest, many: int) -> None:
    """So many more pending requests like `one`, twenty of each run, and as many decided ones."""
    first = ReviewRequest.objects.count() + 1
    call = one.tool_call
    version = call.versions.get()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # No request of a person or an agent lasts as long as this may take.
            cursor.execute("SET statement_timeout = 0")
        total = many * 2
        copied(cursor, Run, one.run_id, total // 20 + 1, {"id": uid("i", first)})
        copied(
            cursor,
            Branch,
            one.branch_id,
            total // 20 + 1,
            {"id": uid("i", first), "run_id": uid("i", first)},
        )
        copied(cursor, Pause, call.pause_id, total // 20 + 1, {"id": uid("i", first), **of_run(first, "i")})
        parents = {**of_run(first, "i / 20"), "pause_id": uid("i / 20", first)}
        copied(
            cursor,
            ToolCall,
            call.pk,
            total,
            {"id": uid("i", first), **parents, "tool_name": "'tool' || i % 50"},
        )
        copied(
            cursor, CallVersion, version.pk, total,
            {"id": f"{first + 1000} + i", "tool_call_id": uid("i", first), "likeness": "'l' || i"},
        )  # fmt: skip
        known = Words.objects.get(call_id=call.pk).pk
        words = "'tool' || i % 50 || ' support triage refund ' || i || ' 00 to order' || (i * 7 % 100003)"
        noted = {"id": f"{first + 1000} + i", "call_id": uid("i", first), "words": words}
        copied(cursor, Words, known, total, {**noted, "run_id": uid("i / 20", first)})
        ends = f"CASE WHEN i >= {many} THEN 'approved' ELSE 'pending' END"
        # The first asked has waited longest, and is due first; a thousandth is overdue.
        began, due = moment(f"i - {total}"), moment(f"i - {many // 1000}")
        copied(
            cursor, ReviewRequest, one.pk, total,
            {
                "id": uid("i", first), "tool_call_id": uid("i", first), **of_run(first, "i / 20"),
                "number": f"{first + 10000} + i", "state": ends, "tool_name": "'tool' || i % 50",
                "plain_sentence": "'Refund $' || i || '.00 to order' || (i * 7 % 100003)",
                "decided_at": f"CASE WHEN i >= {many} THEN {began} END",
                "deadline_at": f"CASE WHEN i % 4 = 3 THEN NULL ELSE {due} END",
                "created_at": began,
                "risk": "CASE WHEN i % 1000 = 0 THEN 'critical' WHEN i % 3 = 0 THEN 'low' ELSE 'high' END",
            },
        )  # fmt: skip
        asked = f"' ' || '{cast.support.pk}' || ' '"
        cursor.execute(
            f"UPDATE reviews_reviewrequest SET asks = CASE WHEN (number - {first}) % 2 = 0 THEN {asked} ELSE '' END "
            f"WHERE number >= {first + 10000}"
        )
        through = ReviewRequest.teams.through._meta.db_table
        for team, share in ((cast.support, "i % 2 = 0"), (cast.finance, "i % 1000 = 501")):
            name = str(team.pk) if connection.vendor == "postgresql" else team.pk.hex
            cursor.execute(
                f"INSERT INTO {through} (reviewrequest_id, team_id) {numbers(total)} "
                f"SELECT {uid('i', first)}, '{name}' FROM n WHERE {share}"
            )
        cursor.execute("ANALYZE")


def numbers(many: int) -> str:
    """A table `n` of the numbers below `many`."""
    return f"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {many - 1})"


def moment(minutes: str) -> str:
    """So many minutes from now."""
    if connection.vendor == "postgresql":
        return f"now() + ({minutes}) * interval '1 minute'"
    return f"datetime('now', ({minutes}) || ' minutes')"


def uid(number: str, first: int) -> str:
    """An id that says its number."""
    if connection.vendor == "postgresql":
        return f"lpad(to_hex({first} + {number}), 32, '0')::uuid"
    return f"printf('%032x', {first} + {number})"


def of_run(first: int, number: str) -> dict[str, str]:
    """The run and branch of a row."""
    return {"run_id": uid(number, first), "branch_id": uid(number, first)}


def copied(cursor: object, model: type[Model], pk: object, many: int, other: dict[str, str]) -> None:
    """Inserts `many` copies of a row, each with `other` columns."""
    table = model._meta.db_table
    columns = [field.column for field in model._meta.local_concrete_fields]
    values = ", ".join(other.get(name, f"r.{name}") for name in columns)
    text = str(pk) if connection.vendor == "postgresql" else getattr(pk, "hex", pk)
    cursor.execute(  # type: ignore[attr-defined]
        f"INSERT INTO {table} ({', '.join(columns)}) {numbers(many)} SELECT {values} FROM {table} r, n "
        f"WHERE r.id = '{text}'"
    )


if __name__ == "__main__":
    main()
