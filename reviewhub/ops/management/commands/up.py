"""`manage.py up`: everything on one machine under one supervisor."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from reviewhub.ops.alone import Alone, RunsAlready
from reviewhub.ops.answers import when_it_answers
from reviewhub.ops.changed import CodeChanged
from reviewhub.ops.port import listen
from reviewhub.ops.ready import problems
from reviewhub.ops.static_files import are_stale
from reviewhub.ops.supervisor import Program, Supervisor


class Command(BaseCommand):
    """Web, worker and beat, started again when they die, all gone when this command is."""

    help = "Runs web, worker and beat under one supervisor until Ctrl-C or SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to listen and what to run besides."""
        parser.add_argument("--host", default=os.environ.get("HOST", "127.0.0.1"))
        parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
        parser.add_argument("--console", action="store_true", help="logs go to this console, not to files")
        parser.add_argument(
            "--reload", action="store_true", help="start the programs again when code changes"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs until it is stopped."""
        self.say("Starting …")
        if found := problems():
            raise CommandError("Not ready: " + "; ".join(found[:3]) + ". Run: manage.py migrate")
        try:
            alone = Alone(settings.VAR)
        except RunsAlready as running:
            raise CommandError(f"ReviewHub runs already: {running}") from None
        self.collect()
        listener = listen(options["host"], options["port"])
        port = listener.getsockname()[1]
        address = f"http://{options['host']}:{port}"
        logs = None if options["console"] else settings.VAR / "log"
        if options["port"] not in (0, port):
            self.say(f"Port {options['port']} is busy; using {port}.")
        alone.say(address)
        when_it_answers(options["host"], port, lambda: self.say_address(address, logs))
        watched = CodeChanged([settings.BASE_DIR / "reviewhub", settings.BASE_DIR / "agents"])
        wanted = programs(address=address, fd=listener.fileno(), logs=logs)
        stopping = partial(self.say, "Stopping: what runs is brought to an end …")
        Supervisor(wanted, renew_when=watched if options["reload"] else None, when_stopping=stopping).run()
        self.stdout.write("Stopped.")

    def say(self, words: str) -> None:
        """At once, whatever the output is."""
        self.stdout.write(words)
        self.stdout.flush()

    def collect(self) -> None:
        """After an upgrade the pages would go on with the scripts and styles of the version before."""
        if not are_stale():
            return
        try:
            call_command("collectstatic", verbosity=0, interactive=False)
        except OSError as error:
            raise CommandError(
                f"The static files are those of another version and cannot be collected: {error}"
            ) from error
        self.stdout.write("The static files are brought up to date.")

    def say_address(self, address: str, logs: Path | None) -> None:
        """Tells where it runs."""
        self.stdout.write(self.style.SUCCESS(f"ReviewHub runs at {address}  (Ctrl-C ends it)"))
        if logs is not None:
            self.stdout.write(f"Logs: {logs}/web.log, worker.log, beat.log")
        self.stdout.flush()


def python_path() -> str:
    """Lets the programs run from the source folder too, where neither distribution need be installed.

    What was there already stays behind it: own graphs (HOSTED_GRAPHS) may lie anywhere.
    """
    ours = [str(settings.BASE_DIR), str(settings.BASE_DIR / "agents")]
    return os.pathsep.join([*ours, *filter(None, [os.environ.get("PYTHONPATH", "")])])


def programs(*, address: str, fd: int, logs: Path | None) -> list[Program]:
    """What runs, in the order in which it starts; it is stopped the other way round."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "reviewhub.settings",
        "PUBLIC_URL": os.environ.get("PUBLIC_URL", address),
        "PYTHONPATH": python_path(),
    }

    def program(name: str, module: str, *arguments: str, inherit: tuple[int, ...] = ()) -> Program:
        log = logs / f"{name}.log" if logs else None
        return Program(
            name=name, module=module, arguments=arguments, environment=environment, inherit=inherit, log=log
        )

    return [
        program("web", "django", "serve", "--fd", str(fd), inherit=(fd,)),
        program("worker", "celery", *worker_arguments()),
        program("beat", "celery", "--app", "reviewhub.celery", "beat", "--loglevel", "WARNING", "--pidfile="),
    ]


def worker_arguments() -> list[str]:
    """Celery's command line for a worker: threads, since tasks wait for databases and networks, not for processors."""
    return [
        *("--app", "reviewhub.celery", "worker", "--pool", "threads", "--concurrency", "4"),
        *("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"),
    ]
