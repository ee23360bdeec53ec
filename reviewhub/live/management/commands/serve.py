"""`manage.py serve`: the web process, HTTP and WebSockets on one port."""

from __future__ import annotations

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from reviewhub.audit.refuse_unguarded import Unguarded, refuse_unguarded
from reviewhub.live.server import serve


class Command(BaseCommand):
    """Serves until it is stopped; drains on SIGTERM."""

    help = "Serves HTTP and WebSockets on one port (uvicorn); ends in an orderly way on SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        """The address, or a listening socket inherited from a supervisor."""
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--fd", type=int, help="file descriptor of a listening socket")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serves.

        Raises:
            CommandError: the database does not guard the record.
        """
        try:
            refuse_unguarded()
        except Unguarded as error:
            raise CommandError(str(error)) from error
        finally:
            connection.close()
        listener = socket.socket(fileno=options["fd"]) if options["fd"] is not None else None
        serve(host=options["host"], port=options["port"], listener=listener)
