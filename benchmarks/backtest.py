"""How long a backtest takes: a draft of 200 rules against 100,000 recorded calls, in one worker.

    python benchmarks/backtest.py [--calls 100000] [--write docs/policy.md]

Makes a scratch database in a temporary folder, or uses the empty one of DATABASE_URL. Times are those of the wall.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "agents")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
SCRATCH = tempfile.TemporaryDirectory()
os.environ["REVIEWHUB_VAR"] = SCRATCH.name

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402
from reviewhub_agents import canonical  # noqa: E402

from reviewhub.accounts.models import Agent  # noqa: E402
from reviewhub.celery import app  # noqa: E402
from reviewhub.insights.models import Backtest  # noqa: E402
from reviewhub.insights.start_backtest import start_backtest  # noqa: E402
from reviewhub.insights.work_off import work_off  # noqa: E402
from reviewhub.policies.publish import publish  # noqa: E402
from reviewhub.policies.save_draft import save_draft  # noqa: E402
from reviewhub.runs.models import Branch, Run  # noqa: E402
from reviewhub.toolcalls.models import CallVersion, Decision, ToolCall  # noqa: E402
from reviewhub.tools.models import Tool  # noqa: E402
from tests.cast import ALICE, make_cast, make_test_agent  # noqa: E402

TARGET = 60.0
SCHEMA = canonical.canonical(
    json.dumps(
        {
            "type": "object",
            "required": ["amount", "customer"],
            "properties": {
                "amount": {"type": "number", "minimum": 0},
                "reason": {"type": "string", "maxLength": 500},
                "customer": {"type": "object", "properties": {"country": {"type": "string"}}},
            },
        }
    )
)
ACTIONS = ("allow", "require", "deny", "observe")


def main() -> None:
    """Fills, measures, prints the line, and ends with 1 where the target is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=100_000)
    options.add_argument("--write", type=Path)
    given = options.parse_args()
    app.send_task = lambda *_, **__: None  # type: ignore[method-assign]
    call_command("migrate", verbosity=0)
    cast = make_cast()
    agent = make_test_agent(cast.support)[0]
    fill(agent, given.calls)
    publish(workspace=cast.workspace, rules_text=policy(1000), note="to begin", base=0, actor=ALICE)
    draft = save_draft(
        workspace=cast.workspace, rules_text=policy(800), note="lower", replaces=None, actor=ALICE
    )
    test = start_backtest(workspace_id=cast.workspace.pk, draft_id=draft.pk, days=30, actor=ALICE)
    began, worked, slices = time.perf_counter(), time.process_time(), 1
    while work_off(test.pk):
        slices += 1
    took, worked = time.perf_counter() - began, time.process_time() - worked
    done = Backtest.objects.get(pk=test.pk)
    assert (done.state, done.looked_at) == ("done", given.calls), (done.state, done.looked_at)
    line = f"| {connection.vendor} | {given.calls:,} | 200 | {took:.1f} | {worked:.1f} | {slices} | ≤ {TARGET:g} |"
    print(line)
    print(done.figures[:600])
    if given.write is not None:
        before, rest = given.write.read_text().split("<!-- backtest -->")
        rows, after = rest.split("<!-- end of backtest -->")
        kept = [row for row in rows.strip().splitlines() if not row.startswith(f"| {connection.vendor} ")]
        table = "\n".join([*kept, line])
        given.write.write_text(f"{before}<!-- backtest -->\n{table}\n<!-- end of backtest -->{after}")
    if took > TARGET * given.calls / 100_000:
        sys.exit("the target is missed")


def policy(limit: int) -> str:
    """200 rules on 40 services, 40 of them in CEL, as in `policy.py`."""
    rules: list[dict[str, Any]] = []
    for at in range(200):
        service = f"service{at % 40}"
        rule: dict[str, Any] = {
            "name": f"Rule {at}",
            "tool": f"{service}.*" if at % 3 == 0 else f"{service}.op{at}",
            "action": ACTIONS[at % 4],
            "when": [{"path": "amount", "test": "is_over", "value": limit + at}],
        }
        if at % 5 == 0:
            rule["expression"] = f"args.customer.country == 'C{at}'"
        rules.append(rule)
    return json.dumps(
        {"guardrails": [r for r in rules if r["action"] in ("require", "deny")][:20], "rules": rules[20:]}
    )


def fill(agent: Agent, many: int) -> None:
    """So many calls of 200 tools over 30 days; people decided every tenth."""
    random = Random(5)
    Tool.objects.bulk_create(
        Tool(
            workspace=agent.workspace, agent=agent, name=f"service{at % 40}.op{at}", schema=SCHEMA, effect="once",
            registered_at=timezone.now(), schema_fingerprint=f"sha256:{at}",
        )
        for at in range(200)
    )  # fmt: skip
    run = Run.objects.create(workspace=agent.workspace, agent=agent, environment="production")
    branch = Branch.objects.create(workspace=agent.workspace, run=run, name="main")
    for start in range(0, many, 5000):
        calls, versions, decisions = [], [], []
        for at in range(start, min(start + 5000, many)):
            tool = random.randrange(200)
            text = canonical.canonical(
                json.dumps(
                    {
                        "amount": random.randrange(2000),
                        "customer": {"country": f"C{tool}"},
                        "reason": "late " * 20,
                    }
                )
            )
            name = f"service{tool % 40}.op{tool}"
            call = ToolCall(
                workspace=agent.workspace, agent=agent, run=run, branch=branch, mode="observed", tool_name=name,
                effect="once", state="succeeded", digest=f"sha256:{at}", idempotency_key=str(at),
            )  # fmt: skip
            calls.append(call)
            versions.append(
                CallVersion(
                    tool_call=call, version=1, arguments=text, digest=call.digest, author_kind="agent"
                )
            )
            if at % 10 == 0:
                decisions.append(
                    Decision(
                        workspace=agent.workspace, tool_call=call, type="reject" if at % 100 == 0 else "approve",
                        version=1, digest=call.digest, by_kind="person", by_name="Alice", decided_at=timezone.now(),
                    )
                )  # fmt: skip
        ToolCall.objects.bulk_create(calls)
        CallVersion.objects.bulk_create(versions)
        Decision.objects.bulk_create(decisions)
    # `created_at` is set by the database's adapter; spread over the month in one go.
    step = timedelta(days=29) / many
    for at, pk in enumerate(
        ToolCall.objects.order_by("pk").values_list("pk", flat=True)[:: max(1, many // 50)]
    ):
        ToolCall.objects.filter(pk__lte=pk, created_at__gt=timezone.now() - timedelta(hours=6)).update(
            created_at=timezone.now() - timedelta(days=29) + step * (at * max(1, many // 50))
        )


if __name__ == "__main__":
    main()
