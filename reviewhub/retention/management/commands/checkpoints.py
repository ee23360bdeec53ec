"""`manage.py checkpoints drill`: could the runs that wait really go on?"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewhub.accounts.models import Workspace
from reviewhub.retention.drill import drill


class Command(BaseCommand):
    """Ends with an error when a run could not be resumed, so that a schedule notices."""

    help = "Tries whether open runs could go on (drill). Runs no tool, asks no model, changes no run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, and how much."""
        parser.add_argument("verb", choices=["drill"])
        parser.add_argument("--sample", type=int, default=20, metavar="N", help="so many branches at most")
        parser.add_argument("--workspace", metavar="SLUG", help="only this one")

    def handle(self, *args: Any, **options: Any) -> None:
        """Tells of each branch how far it got."""
        workspace = None
        if slug := options["workspace"]:
            workspace = Workspace.objects.filter(slug=slug).first()
            if workspace is None:
                raise CommandError(f"There is no workspace {slug!r}.")
        tried = drill(sample=options["sample"], workspace_id=workspace.pk if workspace else None)
        for one in tried:
            said = f"FAILED: {one.problem}" if one.problem else one.reached
            self.stdout.write(f"{one.branch.run_id} {one.branch.name}: {said}")
        failed = sum(bool(one.problem) for one in tried)
        self.stdout.write(f"{len(tried)} tried, {failed} failed")
        if failed:
            raise CommandError(f"{failed} of {len(tried)} could not be resumed.")
