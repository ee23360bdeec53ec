"""`make check`: what can be said about the code without running it. All checks run, then failures are named."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PRODUCTION = {
    "REVIEWHUB_PRODUCTION": "1",
    "SECRET_KEY": "only-for-the-deployment-check-0123456789-abcdefghij-ABCDEFGHIJ",
    "ALLOWED_HOSTS": "reviewhub.example.com",
    "PUBLIC_URL": "https://reviewhub.example.com",
    "DATABASE_URL": "postgresql://reviewhub@127.0.0.1/reviewhub",
}


def templates() -> list[str]:
    """Every template of this repository."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("templates/**/*.html"))


def checks() -> dict[str, list[str]]:
    """What runs, by name."""
    python = [sys.executable]
    manage = [*python, "manage.py"]
    found = {
        "format": [*python, "-m", "ruff", "format", "--check", "--quiet", "."],
        "lint": [*python, "-m", "ruff", "check", "--quiet", "."],
        "import contracts": [str(BIN / "lint-imports"), "--no-cache"],
        "migrations": [*manage, "makemigrations", "--check", "--dry-run"],
        "deployment": [*manage, "check", "--deploy", "--fail-level", "WARNING"],
        "types": [*python, "-m", "mypy", "-p", "reviewhub", "-p", "reviewhub_agents"],
    }
    if templates():
        found["template format"] = [*python, "-m", "djhtml", "--check", "--tabwidth", "2", *templates()]
        found["template lint"] = [*python, "-m", "curlylint", "--quiet", *templates()]
    return found


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs one check and keeps what it says."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "agents"), **os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def main() -> int:
    """Runs all; 1 if one failed."""
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as var:
        for name, command in checks().items():
            started = time.monotonic()
            environment = {"REVIEWHUB_VAR": var, **(PRODUCTION if name == "deployment" else {})}
            done = run(command, environment)
            print(
                f"{'ok    ' if done.returncode == 0 else 'FAILED'} {name} ({time.monotonic() - started:.0f} s)",
                flush=True,
            )
            if done.returncode:
                failed.append(name)
                print(done.stdout, flush=True)
    if failed:
        print(f"make check: {', '.join(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
