"""The main job under fire: recorded conversations, a person in a real browser, and everything killed in the middle.

Web, worker, beat, the replay itself and at last all at once are killed hard; the broker's queue is wiped; all is
started again. Every run ends, and what was allowed, started, done and recorded are the same, once each.

`REPLAY_FILE` names another recording than the one that lies beside the checkout; without any, small made-up talks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reviewhub.ops.first_start import AGENTS
from reviewhub.ops.port import listen
from tests.agents.talks import BOOK, CANCEL, SEARCH, conversation
from tests.ops.product import ROOT, Product, environment, installed, manage, until

RECORDING = ROOT.parent / "shared" / "data" / "airline-runs" / "runs.jsonl.gz"
REVIEWER = "bob@example.com"
AGENT = "Replay"
BLOWS = ("web", "replay", "worker", "all", "beat", "replay", "web", "all", "worker", "replay")

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(
        not (os.environ.get("CHROMIUM") or shutil.which("chromium")),
        reason="no Chromium: the person has no browser",
    ),
]


@dataclass
class Stage:
    """An installation, its server, the replaying agent and the person, each a process that can be killed."""

    var: Path
    recording: Path
    port: int
    password: str
    processes: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    product: Product | None = None
    blows: Counter[str] = field(default_factory=Counter)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def effects(self) -> Path:
        return self.var / "replay" / "effects.jsonl"

    def up(self) -> None:
        """Starts the product on the same port as before."""
        self.product = Product(self.var, "--port", str(self.port))
        self.product.wait_until_ready()
        assert self.product.address == self.address

    def start(self, name: str, *command: str, **more: str) -> None:
        """Starts one process whose output goes to files."""
        with (self.var / f"{name}.out").open("a") as out, (self.var / f"{name}.err").open("a") as err:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=ROOT,
                env={**environment(self.var), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'agents'}", **more},
                stdout=out,
                stderr=err,
                text=True,
            )

    def start_replay(self) -> None:
        """Slow enough that a kill finds a tool running, now and then."""
        key = next(demo.key_file for demo in AGENTS if demo.name == AGENT).name
        self.start(
            "replay",
            "reviewhub_agents.demos.replay",
            str(self.recording),
            "--tool-seconds=0.5",
            f"--state-dir={self.effects.parent}",
            REVIEWHUB_URL=self.address,
            REVIEWHUB_KEY=(self.var / "keys" / key).read_text().strip(),
        )

    def start_person(self) -> None:
        """Bob, at a browser of his own."""
        self.start(
            "person",
            "tests.chaos.person",
            self.address,
            REVIEWER,
            str(self.effects),
            REVIEWER_PASSWORD=self.password,
        )

    def decided(self) -> list[Any]:
        """What the person saw confirmed."""
        assert self.processes["person"].poll() is None, (self.var / "person.err").read_text()[-2000:]
        return [json.loads(line) for line in (self.var / "person.out").read_text().splitlines()]

    def strike(self, what: str) -> None:
        """Kills one of them hard and sees to it that it is there again."""
        self.blows[what] += 1
        assert self.product is not None
        if what == "replay":
            until(self.tool_runs, "a tool of the replay runs")
            self.processes["replay"].kill()
            self.processes["replay"].wait()
            self.start_replay()
        elif what == "all":
            self.product.end()
            self.wipe_broker()
            self.up()
        else:
            children = self.product.children()
            os.kill(children[{"web": "serve"}.get(what, what)], 9)

    def tool_runs(self) -> bool:
        """Whether a tool was started that did not end yet."""
        lines = [json.loads(line) for line in self.effects.read_text().splitlines() if line.endswith("}")]
        kinds = Counter(line["kind"] for line in lines)
        return kinds["attempt"] > kinds["effect"] + kinds["failure"]

    def wipe_broker(self) -> None:
        """Every message that waited for a worker is lost."""
        if url := os.environ.get("REDIS_URL"):
            from redis import Redis

            Redis.from_url(url).flushdb()
        else:
            shutil.rmtree(self.var / "broker", ignore_errors=True)

    def books(self) -> Any:
        """What the database says."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.chaos.books", AGENT],
            cwd=ROOT,
            env={**environment(self.var), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'agents'}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def end(self) -> None:
        """Nothing is left running."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        if self.product is not None:
            self.product.end()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with installed(tmp_path / "var") as var:
        said = manage(var, "first_start")
        password = next(line.split()[1] for line in said.splitlines() if line.strip().startswith(REVIEWER))
        with listen("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        made = Stage(var=var, recording=recording(tmp_path), port=port, password=password)
        try:
            yield made
        finally:
            made.end()


def recording(folder: Path) -> Path:
    """The recording to play."""
    if found := os.environ.get("REPLAY_FILE"):
        return Path(found)
    if RECORDING.exists():
        return RECORDING
    made = folder / "talks.jsonl"
    talks = [
        conversation(SEARCH, BOOK, BOOK, CANCEL),
        conversation(BOOK, SEARCH),
        conversation(BOOK, BOOK),
    ] * 25
    made.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    return made


def test_every_recorded_run_ends_and_nothing_happens_twice(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.up()
    stage.start_replay()
    stage.start_person()
    # A blow after every few decisions, wherever the processes happen to be.
    for number, what in enumerate(BLOWS, start=1):
        until(
            lambda wanted=number * 5: len(stage.decided()) >= wanted,
            f"{number * 5} decisions, then {what} dies",
        )
        stage.strike(what)
    begun = time.monotonic()
    code = wait_for_replay(stage, begun)
    summary = json.loads((stage.var / "replay.out").read_text())
    assert code == 0, summary
    until(lambda: not any(stage.books()["left"].values()), "nothing is left to do", 60)
    found = stage.books()
    assert found["broken"] == []
    assert set(found["runs"]) == {"succeeded"}, found
    assert found["runs"]["succeeded"] == summary["runs"]
    assert set(found["other_runs"]) == {"succeeded"}, found
    assert summary["twice"] == []
    assert summary["attempts"] == found["attempts"]
    assert summary["effects"] == found["calls"]["succeeded"] == summary["acts"]
    assert found["decisions"].get("happened", 0) + found["decisions"].get("did_not_happen", 0) >= 1, (
        "no call was lost"
    )
    assert summary["failures"] == found["calls"].get("failed", 0)
    refused = found["calls"].get("denied", 0)
    assert summary["refusals"] == refused + found["decisions"].get("edit", 0)
    with capsys.disabled():
        print(f"\n{dict(stage.blows)}\n{json.dumps(summary)}\n{json.dumps(found)}")


def wait_for_replay(stage: Stage, begun: float) -> int:
    """Until it has ended by itself; its exit code."""
    while (code := stage.processes["replay"].poll()) is None:
        stage.decided()
        assert time.monotonic() - begun < 900, stage.books()
        time.sleep(0.2)
    return code
