"""`manage.py start_run AGENT`: a run of an agent that runs here."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from reviewhub_agents import canonical

from reviewhub.accounts.models import Agent, Team
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import ReviewHubError
from reviewhub.core.limits import parse_sent
from reviewhub.hosting.adopt import adopt
from reviewhub.hosting.start import start
from reviewhub.ops.alone import public_address


class Command(BaseCommand):
    """Starts a run, and registers the agent first where it is not yet."""

    help = "Starts a run of a hosted agent; a worker takes it up at once. Prints the run's address."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which agent, and what it gets."""
        parser.add_argument("agent", help="the agent's name, or that of a graph of this installation")
        parser.add_argument("--workspace", default="", help="its slug, where there are several")
        parser.add_argument("--team", default="", help="who looks after an agent that is registered by this")
        parser.add_argument("--input", default="{}", help="JSON from which the first state is made")
        parser.add_argument("--title", default="")
        parser.add_argument("--environment", default="production")

    def handle(self, *args: Any, **options: Any) -> None:
        """Starts it, or says why not."""
        try:
            run = start(
                agent=self._agent(options),
                given=parse_sent(options["input"].encode()),
                actor=SYSTEM,
                title=options["title"],
                environment=options["environment"],
            )
        except canonical.BadJson as error:
            raise CommandError(f"--input is no JSON: {error}") from error
        except ReviewHubError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{public_address()}/{run.workspace.slug}/runs/{run.pk}")

    def _agent(self, options: dict[str, Any]) -> Agent:
        name, slug = options["agent"], options["workspace"]
        agents = Agent.objects.filter(
            runner=Agent.Runner.HOSTED, **({"workspace__slug": slug} if slug else {})
        )
        found = list(agents.filter(name=name)[:2]) or list(
            agents.filter(graph=name).order_by("created_at")[:1]
        )
        if len(found) == 1:
            return found[0]
        if found:
            raise CommandError(f"There are several agents called {name}: say --workspace.")
        if name not in settings.HOSTED_GRAPHS:
            known = ", ".join(sorted(settings.HOSTED_GRAPHS))
            raise CommandError(f"There is no hosted agent {name} here, and no such graph; there are: {known}")
        return adopt(team=self._team(options), graph=name, name=name, owner=None, actor=SYSTEM)

    def _team(self, options: dict[str, Any]) -> Team:
        slug, name = options["workspace"], options["team"]
        narrow = {"workspace__slug": slug} if slug else {}
        teams = list(Team.objects.filter(**narrow, **({"name": name} if name else {})).order_by("pk")[:2])
        if len(teams) != 1:
            raise CommandError(
                "Say which team looks after the agent: --team, and --workspace where there are several."
            )
        return teams[0]
