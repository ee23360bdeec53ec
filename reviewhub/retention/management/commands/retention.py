"""`manage.py retention`: what the rules would remove, or removing it now, or erasing what a person's runs hold."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewhub.accounts.models import Workspace
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import ReviewHubError
from reviewhub.retention.attempt import attempt
from reviewhub.retention.erase import erase
from reviewhub.retention.estimate import Estimate, estimate
from reviewhub.runs.models import Run


class Command(BaseCommand):
    """`retention --dry-run` tells; `retention run` does. Both look at every run of all workspaces, or of one.

    `retention erase` needs the workspace, the person and a reason.
    """

    help = "Removes what the rules take (run), says how much that is (--dry-run), or erases a person's runs (erase)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, and where."""
        parser.add_argument("verb", nargs="?", choices=["run", "erase"], help="do it now")
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--workspace", metavar="SLUG", help="only this one")
        parser.add_argument(
            "--on-behalf-of", metavar="NAME", help="erase: whose runs, exactly as they have it"
        )
        parser.add_argument("--reason", help="erase: why; kept for ever")

    def handle(self, *args: Any, **options: Any) -> None:
        """Goes through the runs and tells of each that loses something."""
        if options["verb"] == "erase" and not options["dry_run"]:
            self._erase(options)
            return
        if bool(options["dry_run"]) == bool(options["verb"]):
            raise CommandError("Say either `run`, `erase` or `--dry-run`.")
        total, failed = Estimate(), 0
        for workspace in _workspaces(options["workspace"]):
            for run in Run.objects.filter(workspace=workspace).order_by("created_at", "id").iterator(200):
                goes = estimate(run) if options["dry_run"] else attempt(run)
                if goes is None:
                    failed += 1
                    self.stdout.write(f"{workspace.slug} {run.pk}: failed; the page Retention says why")
                    continue
                total += goes
                if not goes.is_nothing:
                    self.stdout.write(f"{workspace.slug} {run.pk}: {_said(goes)}")
        self.stdout.write(f"{'would go' if options['dry_run'] else 'gone'}: {_said(total)}")
        if failed:
            raise CommandError(f"{failed} runs could not be gone through.")

    def _erase(self, options: dict[str, Any]) -> None:
        if not options["workspace"]:
            raise CommandError("Say which --workspace.")
        (workspace,) = _workspaces(options["workspace"])
        try:
            done = erase(
                workspace_id=workspace.pk,
                on_behalf_of=options["on_behalf_of"] or "",
                reason=options["reason"] or "",
                actor=SYSTEM,
            )
        except ReviewHubError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"erased: {done.runs} runs")


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
