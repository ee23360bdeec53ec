"""`make check`: what can be said about the code without running it. All checks run, then failures are named."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
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
    # The longest first.
    return {
        "types": [*python, "-m", "mypy", "-p", "reviewhub", "-p", "reviewhub_agents"],
        "template lint": [*python, "-m", "curlylint", "--quiet", *templates()],
        "format": [*python, "-m", "ruff", "format", "--check", "--quiet", "."],
        "lint": [*python, "-m", "ruff", "check", "--quiet", "."],
        "import contracts": [str(BIN / "lint-imports"), "--no-cache"],
        "migrations": [*manage, "makemigrations", "--check", "--dry-run"],
        "template format": [*python, "-m", "djhtml", "--check", "--tabwidth", "2", *templates()],
        "deployment": [*manage, "check", "--deploy", "--fail-level", "WARNING"],
    }


def run(name: str, command: list[str], var: str) -> tuple[str, int, str, float]:
    """Runs one check: its name, exit code, what it said, and the seconds it took."""
    started = time.monotonic()
    environment = {"REVIEWHUB_VAR": var, **(PRODUCTION if name == "deployment" else {})}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "agents"), **os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return name, done.returncode, done.stdout, time.monotonic() - started


def main() -> int:
    """Runs all, as many side by side as there are cores; 1 if one failed."""
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as var, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        running = [pool.submit(run, name, command, var) for name, command in checks().items()]
        for done in as_completed(running):
            name, code, said, seconds = done.result()
            print(f"{'FAILED' if code else 'ok    '} {name} ({seconds:.0f} s)", flush=True)
            if code:
                failed.append(name)
                print(said, flush=True)
    if failed:
        print(f"make check: {', '.join(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
