#!/usr/bin/env python
"""Django's command line for ReviewHub."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Runs one management command; the agents' distribution next door needs no installation for that."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewhub.settings")
    agents = Path(__file__).resolve().parent / "agents"
    if agents.is_dir() and str(agents) not in sys.path:
        sys.path.append(str(agents))
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
