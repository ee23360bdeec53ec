"""`manage.py audit`: sealing the record, checking it, exporting it, and its keys."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from reviewhub.accounts.models import Workspace
from reviewhub.audit import keys
from reviewhub.audit.export import export_range
from reviewhub.audit.lag import lag
from reviewhub.audit.models import Chain, Position, SealKey
from reviewhub.audit.rotate_key import rotate_key
from reviewhub.audit.seal import seal_all
from reviewhub.audit.verify import verify
from reviewhub.checkpoints.exported import NamedStates
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import ReviewHubError


class Command(BaseCommand):
    """`verify` ends with an error when the record is not what was sealed, so that a schedule notices."""

    help = "Seals the record, checks it, and shows or changes the keys that sign it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What to do, and where."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("seal", help="seal what waits, now")
        verifying = verbs.add_parser("verify", help="check everything; names the first broken place")
        verifying.add_argument("--workspace", metavar="SLUG", help="only this one")
        verifying.add_argument(
            "--key",
            action="append",
            default=[],
            metavar="PUBLIC",
            help="trust this key instead of the folder's",
        )
        exporting = verbs.add_parser("export", help="write a signed bundle of whole seals")
        exporting.add_argument("--workspace", metavar="SLUG", required=True)
        exporting.add_argument("--since", metavar="DAY", type=_day, help="seals from this day on (UTC)")
        exporting.add_argument(
            "--until", metavar="DAY", type=_day, help="seals up to the end of this day (UTC)"
        )
        exporting.add_argument(
            "--out", metavar="FILE", type=Path, help="a new file; without it, in this folder"
        )
        exporting.add_argument(
            "--states", action="store_true", help="with the states of checkpoints that events name, masked"
        )
        verbs.add_parser("keys", help="which keys there are")
        rotating = verbs.add_parser(
            "rotate_key", help="make a new key, which the old one names in its last seal"
        )
        rotating.add_argument("--lost", action="store_true", help="the old private key is gone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the verb."""
        try:
            getattr(self, f"_{options['verb']}")(options)
        except ReviewHubError as error:
            raise CommandError(error.message) from error

    def _seal(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"sealed: {seal_all()} events")
        if problems := sorted(set(Chain.objects.exclude(problem="").values_list("problem", flat=True))):
            raise CommandError(" ".join(problems))

    def _verify(self, options: dict[str, Any]) -> None:
        broken = 0
        for workspace in _workspaces(options["workspace"]):
            begun = time.monotonic()
            total = Position.objects.filter(workspace_id=workspace.pk).count()
            found = verify(workspace.pk, trusted=frozenset(options["key"]), progress=self._bar(total))
            said = (
                f"{found.seals} seals, {found.events} events ({found.erased} erased),"
                f" {found.waiting} not sealed yet, {time.monotonic() - begun:.1f} s"
            )
            behind = lag(workspace.pk)
            if behind.why:
                said += f"; {behind.words}"
            broken += found.broken is not None
            end = f"BROKEN at {found.broken}; before it: " if found.broken else "as it was sealed: "
            self.stdout.write(f"{workspace.slug}: {end}{said}")
        if broken:
            raise CommandError(
                f"The record of {broken} workspace{'s' * (broken > 1)} is not what was sealed."
            )

    def _bar(self, total: int) -> Any:
        """On a terminal, a bar that moves on."""
        shown = self.stderr.isatty() and total > 0
        last = -1

        def show(done: int, events: int | None = None) -> None:
            nonlocal last
            if shown and done != last:
                last, part = done, min(done / total, 1.0)
                count = done if events is None else events
                self.stderr.write(f"\r{'#' * int(40 * part):<40} {part:4.0%} {count:,}", ending="")
                if done >= total:
                    self.stderr.write("\n", ending="")

        return show

    def _export(self, options: dict[str, Any]) -> None:
        (workspace,) = _workspaces(options["workspace"])
        until = options["until"]
        with transaction.atomic():
            bundle = export_range(
                workspace_id=workspace.pk,
                actor=SYSTEM,
                since=options["since"],
                until=until + timedelta(days=1) if until else None,
                states=NamedStates() if options["states"] else None,
            )
        path = options["out"] or Path(bundle.name)
        try:
            with path.open("xb") as file:
                show = self._bar(1000)
                for line in bundle.lines:
                    file.write(line)
                    show(bundle.progress.thousandths, bundle.progress.entries)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        self.stdout.write(f"written: {path}")

    def _keys(self, options: dict[str, Any]) -> None:
        self.stdout.write(f"folder: {keys.folder()}")
        for key in SealKey.objects.order_by("number"):
            there = "" if keys.can_sign(key.public) else ", its private half is not there"
            instead = f", instead of {keys.short(key.lost)}, which is lost" if key.lost else ""
            self.stdout.write(f"{key.number}. {key.public} since {key.created_at:%F %T}{instead}{there}")
        for workspace in _workspaces(None):
            found = lag(workspace.pk)
            self.stdout.write(f"{workspace.slug}: sealed up to position {found.sealed}, {found.words}")

    def _rotate_key(self, options: dict[str, Any]) -> None:
        new = rotate_key(actor=SYSTEM, lost=options["lost"])
        self.stdout.write(f"new key: {new.public}")


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)


def _workspaces(slug: str | None) -> list[Workspace]:
    found = Workspace.objects.order_by("slug")
    if slug is None:
        return list(found)
    if not (one := list(found.filter(slug=slug))):
        raise CommandError(f"There is no workspace {slug!r}.")
    return one
