"""How long the page of insights takes over 1,000,000 decisions, and what counting them costs.

    python benchmarks/insights.py [--decisions 1000000] [--days 366] [--write docs/benchmarks.md]

Rows are made by SQL: requests of 20 agents with 60 tools and 30 reviewers, their calls and one vote for each. Makes a
scratch database in a temporary folder, or uses the empty one of DATABASE_URL. Times are those of the wall.
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
from django.test import Client  # noqa: E402

from reviewhub.accounts.models import Agent, Role  # noqa: E402
from reviewhub.core.clock import now  # noqa: E402
from reviewhub.insights.days import day_of  # noqa: E402
from reviewhub.insights.figures import Asked, depth, figures  # noqa: E402
from reviewhub.insights.models import Answered, RolledDay  # noqa: E402
from reviewhub.insights.people import reviewers  # noqa: E402
from reviewhub.insights.roll_up import roll_day, roll_up  # noqa: E402
from reviewhub.runs.models import Branch, Run  # noqa: E402
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
    cast = make_cast()
    took, _ = timed(lambda: fill(cast, given.decisions, given.days))
    print(f"{given.decisions:,} decisions made in {took:.0f} s", flush=True)
    took, _ = timed(lambda: roll_up(seconds=1e9))
    print(f"counted: {RolledDay.objects.count()} days, {Answered.objects.count():,} rows in {took:.0f} s")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    lines = [
        line("a day counted again", lambda: roll_day(day_of(now())), None),
        *reads(cast, day_of(now()), given.days),
    ]
    if given.write is not None:
        write(given.write, "\n".join(text for text, _ in lines))
    if not all(held for _, held in lines):
        sys.exit("the target is missed")


def reads(cast: Cast, last: date, days: int) -> list[tuple[str, bool]]:
    """The lines of what is read."""
    whole = Asked(workspace_id=cast.workspace.pk, first=last - timedelta(days=days - 1), last=last)
    agent = Agent.objects.filter(workspace=cast.workspace).earliest("name")
    client = Client()
    client.force_login(cast.carol.person)
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
    """The median and the longest of some rounds, as a row of the table; whether the median is within the target."""
    act()
    times = [timed(act)[0] for _ in range(ROUNDS)]
    wanted = f"≤ {target * 1000:.0f}" if target else ""
    text = (
        f"| {said}, {connection.vendor} | {wanted} | {median(times) * 1000:.0f} | {max(times) * 1000:.0f} |"
    )
    print(text, flush=True)
    return text, target is None or median(times) <= target


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what `act` gives."""
    began = time.perf_counter()
    found = act()
    return time.perf_counter() - began, found


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
    count: str, id_: str, created: str, decided: str, cast_: Callable[[str], str], blob: str
) -> list[str]:
    """The same four tables for both databases: `count` gives n, `id_` an id of n with a table's letter."""
    return [
        f"INSERT INTO toolcalls_toolcall (id, workspace_id, agent_id, run_id, branch_id, mode, position, call_id,"
        f" tool_name, effect, time_limit_seconds, state, version, digest, claims, policy_version, because,"
        f" ran_without_approval, attempt, idempotency_key, outcome_digest, created_at)"
        f" SELECT {id_.format('c')}, {cast_('%(workspace)s')}, {cast_('agent')}, {cast_('run')}, {cast_('branch')},"
        f" 'observed', 0, '', 'tool.' || (numbers.n %% %(tools)s), 'once', 300, 'succeeded', 1, 'sha256:0',"
        f" '{{}}', 1, '{{}}', {blob}, 1, 'k', '', {created} FROM ({count}) AS numbers"
        f" JOIN whom ON whom.n = numbers.n %% %(agents)s",
        f"INSERT INTO toolcalls_callversion (tool_call_id, version, arguments, digest, likeness, changes, author_kind,"
        f" author_name, created_at) SELECT {id_.format('c')}, 1, '{{\"amount\":' || numbers.n || '}}', 'sha256:0',"
        f" '', '[]', 'agent', '', {created} FROM ({count}) AS numbers",
        f"INSERT INTO reviews_reviewrequest (id, workspace_id, number, kind, tool_call_id, run_id, branch_id, agent_id,"
        f" state, version, digest, tool_name, agent_name, environment, risk, risk_rank, sentence, plain_sentence,"
        f" failed_checks, requirement, approvals_needed, approvals, waits_for, on_timeout, escalated,"
        f" asks_managers, decided_by_name, created_at, decided_at)"
        f" SELECT {id_.format('d')}, {cast_('%(workspace)s')}, numbers.n, 'approval', {id_.format('c')}, "
        f" {cast_('run')}, {cast_('branch')}, {cast_('agent')}, {_STATE}, 1, 'sha256:0',"
        f" 'tool.' || (numbers.n %% %(tools)s), '', 'production', 'low', 0, '[]', '', 0,"
        f" CASE WHEN numbers.n %% 7 < 3 THEN %(requirement0)s ELSE %(requirement1)s END, 1, 1, '', 'deny', 0, {blob},"
        f" '', {created}, {decided} FROM ({count}) AS numbers JOIN whom ON whom.n = numbers.n %% %(agents)s",
        f"INSERT INTO reviews_review (id, request_id, member_id, name, verdict, version, digest, message, note, seats,"
        f" for_teams, in_place_of, created_at, voided_because)"
        f" SELECT {id_.format('e')}, {id_.format('d')}, {cast_('member')}, '', {_VERDICT},"
        f" 1, 'sha256:0', '', '', '', '', '', {decided}, ''"
        f" FROM ({count}) AS numbers JOIN who ON who.n = numbers.n %% %(reviewers)s WHERE numbers.n %% 20 <> 19",
        f"INSERT INTO insights_opening (request_id, member_id, version, at)"
        f" SELECT {id_.format('d')}, {cast_('member')}, 1, {created}"
        f" FROM ({count}) AS numbers JOIN who ON who.n = numbers.n %% %(reviewers)s WHERE numbers.n %% 4 <> 0",
    ]


def _sql_postgresql() -> list[str]:
    begun = "clock_timestamp() - make_interval(secs => %(step)s * (%(many)s - numbers.n) + 60000)"
    return _statements(
        "SELECT generate_series(1, %(many)s) AS n",
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
