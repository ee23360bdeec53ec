"""`manage.py demo_run`: the demo agent asks once more."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviewhub.core.errors import ReviewHubError
from reviewhub.hosting.demo import demo_agent, demo_run


class Command(BaseCommand):
    """Another request for the tour, after the first is decided."""

    help = "Starts another run of the demo agent; its refund waits in the queue a moment later."

    def handle(self, *args: Any, **options: Any) -> None:
        """Starts the run, or says why there is none to start."""
        agent = demo_agent()
        if agent is None:
            raise CommandError("There is no demo agent here. The first start makes one.")
        try:
            demo_run(agent)
        except ReviewHubError as error:
            raise CommandError(f"{agent.name}: {error.message}") from error
        self.stdout.write(
            f"{agent.name} is at work; its refund waits in the queue as soon as a worker has it."
        )
