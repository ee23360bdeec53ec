"""`manage.py chaos AGENT`: kills the workers of a hosted agent again and again, and says what came of it.

It plays on an installation made for it: a database of its own (SQLite in a temporary folder, or `--database`), a
workspace with a reviewer who approves everything. What the agent's tools do is real.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewhub.accounts.models import Workspace
from reviewhub.core.errors import ReviewHubError
from reviewhub.ops.chaos.play import POINTS, Play, Stuck

INSIDE = "REVIEWHUB_CHAOS"
LEASE_SECONDS = 3


class Command(BaseCommand):
    """Faults injected, runs finished, effects expected and done, what was redone, nothing lost, nothing twice."""

    help = "Kills the workers of a hosted agent at named points and at random, on a database of its own."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which agent, and how hard."""
        known = ", ".join(sorted(settings.HOSTED_GRAPHS))
        parser.add_argument("agent", help=f"a graph of this installation: {known}")
        parser.add_argument("--input", default="{}", help="the input of each run, JSON")
        parser.add_argument("--kills", type=int, default=30, help="how many workers die (30)")
        parser.add_argument("--runs", type=int, default=3, help="how many runs are under way at once (3)")
        parser.add_argument(
            "--point", action="append", choices=POINTS, help="a fault point; all when left out"
        )
        parser.add_argument("--seed", type=int, help="of the dice; printed")
        parser.add_argument("--minutes", type=float, default=10, help="after which it gives up (10)")
        parser.add_argument("--database", default="", help="a DATABASE_URL to play on; it must be empty")

    def handle(self, *args: Any, **options: Any) -> None:
        """Goes to an installation of its own, and plays there."""
        if os.environ.get(INSIDE):
            self.play(options)
            return
        with tempfile.TemporaryDirectory(prefix="reviewhub-chaos-") as folder:
            done = subprocess.run(
                [sys.executable, *sys.argv], env=_apart(Path(folder), options["database"]), check=False
            )
        if done.returncode:
            raise CommandError("It did not come out clean.", returncode=done.returncode)

    def play(self, options: dict[str, Any]) -> None:
        """Kills, and prints the table."""
        seed = options["seed"] if options["seed"] is not None else random.randrange(10**9)  # noqa: S311  dice
        call_command("migrate", verbosity=0, interactive=False)
        if Workspace.objects.exists():
            raise CommandError("There are workspaces in this database: it must be empty.")
        try:
            report = Play(
                graph=options["agent"],
                given=json.loads(options["input"]),
                kills=options["kills"],
                at_once=options["runs"],
                points=options["point"] or POINTS,
                dice=random.Random(seed),  # noqa: S311
                patience=options["minutes"] * 60,
            ).run()
        except (ReviewHubError, json.JSONDecodeError, Stuck) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['agent']}, seed {seed}\n" + "\n".join(report.lines()))
        if not report.is_clean:
            raise CommandError("Something was lost, done twice, or did not end well.")


def _apart(folder: Path, database: str) -> dict[str, str]:
    """The environment of an installation in `folder`, which shares nothing with this one."""
    mine = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    theirs = {
        INSIDE: "1",
        "REVIEWHUB_VAR": str(folder),
        "REVIEWHUB_DEMO": str(folder / "demo"),
        "CELERY_BROKER_URL": "memory://",
        "LEASE_SECONDS": str(LEASE_SECONDS),
        "RESUME_ATTEMPTS": "1000",
        "LOG_LEVEL": "CRITICAL",
    }
    return {**mine, **theirs, **({"DATABASE_URL": database} if database else {})}
