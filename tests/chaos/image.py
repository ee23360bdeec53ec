"""Reads the Dockerfile and does in a folder what a container engine would do in an image."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCKERFILE = ROOT / "docker" / "Dockerfile"


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a Dockerfile in order, continued lines joined, comments left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        word, _, rest = line.partition(" ")
        yield word, rest.strip()


class Image:
    """A folder that stands for the root of the image."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.app = root / "app"
        self.environment: dict[str, str] = {}
        self.entrypoint: list[str] = []
        self.user = ""

    def build(self) -> None:
        """Carries out every instruction."""
        for folder in ("app", "srv", "var/lib"):
            (self.root / folder).mkdir(parents=True)
        for word, rest in instructions(DOCKERFILE.read_text()):
            getattr(self, f"do_{word.lower()}", lambda _: None)(rest)

    def do_copy(self, rest: str) -> None:
        """Copies from the repository; what a later stage copies from the first is there already."""
        words = [word for word in rest.split() if not word.startswith("--")]
        if "--from=" in rest:
            return
        *sources, target = words
        for source in sources:
            destination = self.app / (target if len(sources) == 1 and target != "./" else source)
            destination.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "*.egg-info", "var", ".venv")
                shutil.copytree(ROOT / source, destination, ignore=ignore)
            else:
                shutil.copy(ROOT / source, destination)

    def do_run(self, rest: str) -> None:
        """Runs a step with the image's paths moved below the folder, and its user being whoever runs this."""
        if rest.startswith("useradd "):
            return
        owner = f"-o {os.getuid()} -g {os.getgid()}"
        self.run("sh", "-euc", self.moved(rest).replace("-o reviewhub -g reviewhub", owner))

    def do_env(self, rest: str) -> None:
        """Sets variables."""
        for pair in shlex.split(rest):
            name, _, value = pair.partition("=")
            path = self.environment.get("PATH", os.environ["PATH"])
            self.environment[name] = self.moved(value.replace("$PATH", path))

    def do_user(self, rest: str) -> None:
        """Notes who the programs run as."""
        self.user = rest

    def do_entrypoint(self, rest: str) -> None:
        """Notes what is started."""
        self.entrypoint = [word.strip(' "') for word in rest.strip("[]").split(",")]

    def moved(self, text: str) -> str:
        """`text` with the image's absolute paths below the folder."""
        return re.sub(r"(?<![\w.])/(app|srv|var/lib)\b", rf"{self.root}/\1", text)

    def run(self, *command: str) -> None:
        """Runs a command in the image's work folder."""
        done = subprocess.run(
            command, cwd=self.app, env=self.all_variables({}), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"

    def start(self, command: str, variables: dict[str, str]) -> subprocess.Popen[bytes]:
        """Starts the entry point with `command`."""
        return subprocess.Popen(
            [*self.entrypoint, command],
            cwd=self.app,
            env=self.all_variables(variables),
            stdout=subprocess.DEVNULL,
        )

    def all_variables(self, more: dict[str, str]) -> dict[str, str]:
        """A container's environment: its own and what it was given, nothing of the shell around."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**kept, **self.environment, **more}
