"""`manage.py demo_run [support|migration|claims|outreach|triage]`: a demo agent asks (once more)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from reviewhub_agents.demos import model

from reviewhub.core.errors import ReviewHubError
from reviewhub.hosting.demo import DEMOS, SUPPORT, demo_agent, start_demo


class Command(BaseCommand):
    """Another request for the tour, after the first is decided."""

    help = "Starts a run of a demo agent; what cannot be undone waits in the queue."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which demo."""
        parser.add_argument("demo", nargs="?", choices=tuple(DEMOS), default=SUPPORT.graph)

    def handle(self, *args: Any, **options: Any) -> None:
        """Starts the run beside the support agent, or says why there is none to start."""
        known = demo_agent()
        if known is None:
            raise CommandError("There is no demo agent here. The first start makes one.")
        demo = DEMOS[options["demo"]]
        try:
            agent = start_demo(team=known.team, owner=known.owner, demo=demo).agent
        except ReviewHubError as error:
            raise CommandError(f"{demo.name}: {error.message}") from error
        told = (
            f"{demo.waits} waits in the queue as soon as a worker has it"
            if demo.waits
            else "a sample of what it did is on the page Post-review as soon as a worker has it"
        )
        self.stdout.write(f"{agent.name} is at work; {told}.\n{model.said()}")
