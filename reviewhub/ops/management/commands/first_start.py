"""`manage.py first_start`: everything that has to be there before `manage.py up`, made when it is missing."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from reviewhub.ops.first_start import AGENTS, PEOPLE, Started, first_start


class Command(BaseCommand):
    """Database, static files, and at the very first start a workspace with people, a policy and agents."""

    help = "Brings the database and the static files up to date; makes a first workspace when there is none."

    def handle(self, *args: Any, **options: Any) -> None:
        """Does what is missing; a second time nothing."""
        settings.VAR.mkdir(parents=True, exist_ok=True)
        if steps := self.steps():
            self.stdout.write(f"Bringing the database up to date: {steps} steps …")
            self.stdout.flush()
        call_command("migrate", verbosity=0, interactive=False)
        call_command("collectstatic", verbosity=0, interactive=False)
        if started := first_start():
            self.tell(started)

    def steps(self) -> int:
        """How many migrations the database lacks."""
        executor = MigrationExecutor(connection)
        return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))

    def tell(self, started: Started) -> None:
        """Prints the passwords: the only time that anybody sees them."""
        self.stdout.write(f"\nFirst start: the workspace “{started.workspace.name}” is made. Sign in as\n\n")
        for (email, password), (_, role, does) in zip(started.passwords.items(), PEOPLE, strict=True):
            self.stdout.write(f"    {email:20} {password:18} {role}: {does}")
        self.stdout.write(
            "\nThe passwords are shown only now. For another: .venv/bin/python manage.py changepassword EMAIL"
        )
        self.stdout.write(
            f"Keys of the demo's agents: {', '.join(str(demo.key_file) for demo in AGENTS)}\n\n"
        )
        self.stdout.flush()
