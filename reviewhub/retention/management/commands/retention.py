"""`manage.py retention`: what the rules would remove, or removing it now, or erasing what a person's runs hold."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewhub.accounts.models import Workspace
from reviewhub.retention.estimate import Estimate, estimate
from reviewhub.retention.prune import prune
from reviewhub.runs.models import Run


class Command(BaseCommand):
    """`retention --dry-run` tells; `retention run` does. Both look at every run of all workspaces, or of one."""

    help = "Removes what the retention rules take (run), or only says how much that is (--dry-run)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, and where."""
        parser.add_argument("verb", nargs="?", choices=["run"], help="remove it now")
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--workspace", metavar="SLUG", help="only this one")

    def handle(self, *args: Any, **options: Any) -> None:
        """Goes through the runs and tells of each that loses something."""
        if bool(options["dry_run"]) == (options["verb"] == "run"):
            raise CommandError("Say either `run` or `--dry-run`.")
        total = Estimate()
        for workspace in _workspaces(options["workspace"]):
            for run in Run.objects.filter(workspace=workspace).order_by("created_at", "id").iterator(200):
                goes = estimate(run) if options["dry_run"] else prune(run_id=run.pk)
                total += goes
                if not goes.is_nothing:
                    self.stdout.write(f"{workspace.slug} {run.pk}: {_said(goes)}")
        self.stdout.write(f"{'would go' if options['dry_run'] else 'gone'}: {_said(total)}")


def _workspaces(slug: str | None) -> list[Workspace]:
    found = Workspace.objects.order_by("slug")
    if slug is None:
        return list(found)
    if not (one := list(found.filter(slug=slug))):
        raise CommandError(f"There is no workspace {slug!r}.")
    return one


def _said(goes: Estimate) -> str:
    tiers = ", ".join(f"{tier} {size}" for tier, size in sorted(goes.sizes.items())) or "none"
    rows = f"{goes.checkpoints} checkpoints, {goes.blobs} blobs, {goes.bytes} bytes"
    return f"{rows} ({tiers}); {goes.cost:.6f} a month"
