"""How long the page of insights takes over 1,000,000 decisions, and what counting them costs.

    python benchmarks/insights.py [--decisions 1000000] [--days 366] [--write docs/insights.md]

Rows are made by SQL: requests of 20 agents with 60 tools and 30 reviewers, their calls and one vote for each. Makes a
scratch database in a temporary folder, or uses the one of DATABASE_URL: an empty one is filled and kept, and of one
that this has filled only the days since are counted. Times are those of the wall.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "agents")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
SCRATCH = tempfile.TemporaryDirectory()
os.environ["REVIEWHUB_VAR"] = SCRATCH.name

import django  # noqa: E402

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Model  # noqa: E402
from django.test import Client  # noqa: E402

from reviewhub.accounts.models import Agent, Member, Role, Workspace  # noqa: E402
from reviewhub.core.clock import now  # noqa: E402
from reviewhub.insights.days import day_of  # noqa: E402
from reviewhub.insights.figures import Asked, depth, figures  # noqa: E402
from reviewhub.insights.models import Answered, Opening, RolledDay  # noqa: E402
from reviewhub.insights.people import reviewers  # noqa: E402
from reviewhub.insights.roll_up import roll_day, roll_up  # noqa: E402
from reviewhub.reviews.models import Review, ReviewRequest  # noqa: E402
from reviewhub.runs.models import Branch, Run  # noqa: E402
from reviewhub.toolcalls.models import CallVersion, ToolCall  # noqa: E402
from tests.cast import Cast, make_cast, member  # noqa: E402

TARGET = 0.5
AGENTS, TOOLS, REVIEWERS = 20, 60, 30
ROUNDS = 7


def main() -> None:
    """Fills, counts, measures, prints the table, and ends with 1 where the target is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--decisions", type=int, default=1_000_000)
    options.add_argument("--days", type=int, default=366)
    options.add_argument("--write", type=Path)
    given = options.parse_args()
    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    workspace = Workspace.objects.filter(slug="northwind").first()
    if workspace is None:
        cast = make_cast()
        workspace = cast.workspace
        took, *_ = timed(lambda: fill(cast, given.decisions, given.days))
        print(f"{given.decisions:,} decisions made in {took:.0f} s", flush=True)
    took, *_ = timed(lambda: roll_up(seconds=1e9))
    print(f"counted: {RolledDay.objects.count()} days, {Answered.objects.count():,} rows in {took:.0f} s")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    lines = [
        line("a day counted again", lambda: roll_day(day_of(now())), None),
        *reads(workspace, day_of(now()), given.days),
    ]
    if given.write is not None:
        write(given.write, "\n".join(text for text, _ in lines))
    if not all(held for _, held in lines):
        sys.exit("the target is missed")


def reads(workspace: Workspace, last: date, days: int) -> list[tuple[str, bool]]:
    """The lines of what is read."""
    whole = Asked(workspace_id=workspace.pk, first=last - timedelta(days=days - 1), last=last)
    agent = Agent.objects.filter(workspace=workspace).earliest("name")
    client = Client()
    client.force_login(Member.objects.get(workspace=workspace, role=Role.MANAGER).person)
    page = f"/northwind/insights?since={whole.first}&until={whole.last}"

    def opened(address: str) -> None:
        answer = client.get(address)
        assert answer.status_code == 200, answer.status_code

    assert figures(whole).total.answered > 0
    return [
        line("figures of all", lambda: figures(whole)),
        line("queue by hour", lambda: depth(whole.workspace_id, whole.first, last, now())),
        line("people", lambda: reviewers(whole.workspace_id, whole.first, last)),
        line("the page, all decisions", lambda: opened(page)),
        line("the page, one agent", lambda: opened(f"{page}&agent={agent.pk}")),
        line("the page, 30 days", lambda: opened("/northwind/insights?days=30")),
    ]


def line(said: str, act: Callable[[], Any], target: float | None = TARGET) -> tuple[str, bool]:
    """The median and the longest of some rounds and what this process worked, as a row of the table; whether the median
    is within the target."""
    act()
    rounds = [timed(act)[:2] for _ in range(ROUNDS)]
    times, worked = [wall for wall, _ in rounds], [cpu for _, cpu in rounds]
    wanted = f"≤ {target * 1000:.0f}" if target else ""
    figures_of = " | ".join(f"{one * 1000:.0f}" for one in (median(times), max(times), median(worked)))
    text = f"| {said}, {connection.vendor} | {wanted} | {figures_of} |"
    print(text, flush=True)
    return text, target is None or median(times) <= target


def timed(act: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the wall and of this process, and what `act` gives."""
    began, worked = time.perf_counter(), time.process_time()
    found = act()
    return time.perf_counter() - began, time.process_time() - worked, found


def write(path: Path, table: str) -> None:
    """Puts the table in the place of this database's rows."""
    before, rest = path.read_text().split("<!-- insights -->")
    rows, after = rest.split("<!-- end of insights -->")
    kept = [row for row in rows.strip().splitlines() if f", {connection.vendor} |" not in row]
    path.write_text(
        f"{before}<!-- insights -->\n" + "\n".join([*kept, table]) + f"\n<!-- end of insights -->{after}"
    )


def fill(cast: Cast, many: int, days: int) -> None:
    """Makes the rows. Request n is that of call n; ids are counted up, times lie evenly over the days."""
    people = [
        member(f"r{at}", workspace=cast.workspace, role=Role.REVIEWER, teams=(cast.support,))
        for at in range(REVIEWERS)
    ]
    agents = [
        Agent.objects.create(workspace=cast.workspace, team=cast.support, name=f"agent {at:02}")
        for at in range(AGENTS)
    ]
    runs = [
        Run.objects.create(workspace=cast.workspace, agent=one, environment="production") for one in agents
    ]
    branches = [Branch.objects.create(workspace=cast.workspace, run=run, name="main") for run in runs]
    sql = POSTGRESQL if connection.vendor == "postgresql" else SQLITE
    stored = {
        f"requirement{at}": json.dumps(
            {"teams": [str((cast.support, cast.finance)[at].pk)], "rule": ("Large refunds", "Mail")[at]}
        )
        for at in range(2)
    }
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # The rows fit; asking for each of them, and how long that takes, is no part of this.
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("SET session_replication_role = replica")
        cursor.execute("CREATE TEMPORARY TABLE whom (n integer, agent text, run text, branch text)")
        cursor.executemany(
            "INSERT INTO whom VALUES (%s, %s, %s, %s)",
            [
                (at, *(str(one.pk) if connection.vendor == "postgresql" else one.pk.hex for one in row))
                for at, row in enumerate(zip(agents, runs, branches, strict=True))
            ],
        )
        cursor.execute("CREATE TEMPORARY TABLE who (n integer, member text)")
        cursor.executemany(
            "INSERT INTO who VALUES (%s, %s)",
            [
                (at, str(one.pk) if connection.vendor == "postgresql" else one.pk.hex)
                for at, one in enumerate(people)
            ],
        )
        for statement in sql:
            values = {
                "many": many,
                "step": (days * 86_400 - 3600) / many,
                "workspace": str(cast.workspace.pk)
                if connection.vendor == "postgresql"
                else cast.workspace.pk.hex,
                "agents": AGENTS,
                "tools": TOOLS,
                "reviewers": REVIEWERS,
                **stored,
            }
            names = [name for name in values if f"%({name})s" in statement]
            cursor.execute(statement, {name: values[name] for name in names})
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = origin")
        cursor.execute("ANALYZE")


# How long people took: most answer within minutes, some after hours.
_WAIT = (
    "(20 + (numbers.n * 7919 %% 600) "
    "+ CASE WHEN numbers.n %% 17 = 0 THEN numbers.n * 104729 %% 40000 ELSE 0 END)"
)
_STATE = (
    "CASE WHEN numbers.n %% 10 < 7 THEN 'approved' WHEN numbers.n %% 10 = 7 THEN 'edited' "
    "WHEN numbers.n %% 10 = 8 THEN 'rejected' "
    "ELSE CASE WHEN numbers.n %% 20 = 9 THEN 'responded' ELSE 'expired' END END"
)
_VERDICT = (
    "CASE WHEN numbers.n %% 10 < 7 THEN 'approve' WHEN numbers.n %% 10 = 7 THEN 'edit' "
    "WHEN numbers.n %% 10 = 8 THEN 'reject' ELSE 'respond' END"
)


def _statements(
    count: str, id_: str, created: str, decided: str, cast_: Callable[[str], str], no: str
) -> list[str]:
    """The same tables for both databases: `count` gives n, `id_` an id of n with a table's letter."""
    call, request, vote = (id_.format(letter) for letter in "cde")
    numbers = f"({count}) AS numbers"
    whom = f"{numbers} JOIN whom ON whom.n = numbers.n %% %(agents)s"
    who = f"{numbers} JOIN who ON who.n = numbers.n %% %(reviewers)s"
    ours = {name: cast_(name) for name in ("agent", "run", "branch")} | {
        "workspace": cast_("%(workspace)s"),
        "tool_name": "'tool.' || (numbers.n %% %(tools)s)",
        "digest": "'sha256:0'",
        "created_at": created,
    }
    asked = "CASE WHEN numbers.n %% 7 < 3 THEN %(requirement0)s ELSE %(requirement1)s END"
    return [
        _insert(ToolCall, no, whom, **ours, id=call, mode="'observed'", effect="'once'", state="'succeeded'"),
        _insert(
            CallVersion,
            no,
            numbers,
            tool_call=call,
            version="1",
            arguments="'{\"amount\":' || numbers.n || '}'",
            created_at=created,
        ),
        _insert(
            ReviewRequest,
            no,
            whom,
            **ours,
            id=request,
            number="numbers.n",
            tool_call=call,
            state=_STATE,
            risk="'low'",
            requirement=asked,
            decided_at=decided,
        ),
        _insert(
            Review,
            no,
            f"{who} WHERE numbers.n %% 20 <> 19",
            id=vote,
            request=request,
            member=cast_("member"),
            verdict=_VERDICT,
            version="1",
            created_at=decided,
        ),
        _insert(
            Opening,
            no,
            f"{who} WHERE numbers.n %% 4 <> 0",
            request=request,
            member=cast_("member"),
            version="1",
            at=created,
        ),
    ]


def _insert(model: type[Model], no: str, source: str, /, **given: str) -> str:
    """INSERT … SELECT; what is not given has the value that the model gives it, or nothing."""
    values = {}
    for field in model._meta.concrete_fields:
        if field.name in given:
            values[field.column] = given[field.name]
        elif not field.null and not field.primary_key:
            default = field.get_default()
            if isinstance(default, bool):
                values[field.column] = no if not default else f"NOT {no}"
            else:
                values[field.column] = str(default) if isinstance(default, int) else f"'{default or ''}'"
    columns = ", ".join(values)
    return f"INSERT INTO {model._meta.db_table} ({columns}) SELECT {', '.join(values.values())} FROM {source}"


def _sql_postgresql() -> list[str]:
    begun = "clock_timestamp() - make_interval(secs => %(step)s * (%(many)s - numbers.n) + 60000)"
    return _statements(
        "SELECT generate_series(1::bigint, %(many)s) AS n",
        "('00000000-0000-7000-8000-{0}' || lpad(to_hex(numbers.n), 11, '0'))::uuid",
        begun,
        f"{begun} + make_interval(secs => {_WAIT})",
        lambda text: f"{text}::uuid",
        "false",
    )


def _sql_sqlite() -> list[str]:
    count = (
        "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < %(many)s)"
        " SELECT n FROM counted"
    )
    ago = "%(step)s * (%(many)s - numbers.n) + 60000"
    wait = _WAIT

    def at(seconds: str) -> str:
        return f"strftime('%%Y-%%m-%%d %%H:%%M:%%f000', 'now', (-({seconds})) || ' seconds')"

    return _statements(
        count,
        "'0000000000007000800{0}' || printf('%%012x', numbers.n)",
        at(ago),
        at(f"{ago} - {wait}"),
        lambda text: text,
        "0",
    )


POSTGRESQL, SQLITE = _sql_postgresql(), _sql_sqlite()

if __name__ == "__main__":
    main()
