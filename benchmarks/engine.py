"""What the engine promises, played with real workers: progress, cycles, kills, and many runs at once.

    python benchmarks/engine.py [--postgresql postgresql://user@host:port --redis redis://host:port/7] \\
        [--only progress,cycles,kills,crowd] [--quick] [--write docs/benchmarks.md]

On a database of its own that is gone afterwards (SQLite with the broker in a folder unless said); workers and beat are
processes as `manage.py up` starts them. Progress: a conversation of 1 MB is saved after each of 500 steps of 200 ms.
What the product says of its own goodput stands beside what the clock on the wall says. Cycles: pause, decide, consume
and outcome of one client, without HTTP and without a worker. Kills: SIGKILL to the worker that has the run. Crowd: 200
runs at once. `--quick` plays all of it in small. The machine's load stands in each row.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LEASE_SECONDS = 10
"""Of the kills; a sixth of what is set by default, so that more of them fit into an hour."""
GRAPHS = ("talk", "aside", "every", "milestones", "own")
MARKS = "<!-- engine -->\n", "<!-- end of engine -->"


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is played."""

    steps: int = 500
    cycles: int = 300
    kills: int = 10
    crowd: int = 200


QUICK = Size(steps=20, cycles=30, kills=2, crowd=20)


def main() -> None:
    """Plays one database and prints its rows."""
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--postgresql")
    given.add_argument("--redis", default="")
    given.add_argument("--only", default="progress,cycles,kills,crowd")
    given.add_argument("--quick", action="store_true")
    given.add_argument("--write", type=Path)
    options = given.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "agents"), str(HERE)]
    database = "postgresql" if options.postgresql else "sqlite"
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for what, told in played(Path(folder), options):
            row = f"| {what}, {database} | {told} | {os.getloadavg()[0]:.1f} |"
            print(row, flush=True)
            found.append(row)
    if options.write is not None:
        written(options.write, found)


def played(folder: Path, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The rows of the parts that are asked for."""
    from tests.ops.product import environment, installed

    (folder / "went-on").mkdir()
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "reviewhub.settings",
        "HOSTED_GRAPHS": ",".join(f"{name}=counted:{name}" for name in GRAPHS),
        "LEASE_SECONDS": str(LEASE_SECONDS),
        "BENCH_WENT_ON": str(folder / "went-on"),
        "PYTHONPATH": f"{ROOT}:{ROOT / 'agents'}:{HERE}",
    }
    if options.postgresql:
        os.environ |= {"DATABASE_URL": f"{options.postgresql}/postgres", "REDIS_URL": options.redis}
    with installed(folder):
        os.environ |= environment(folder)
        import django

        django.setup()
        from django.db import connection
        from stage import Stage

        stage = Stage(folder)
        try:
            play = Play(stage=stage, size=QUICK if options.quick else Size())
            for part in options.only.split(","):
                yield from getattr(play, part)()
        finally:
            stage.end()
            connection.close()


class Play:
    """The four parts. Workers start with the first part that needs them."""

    def __init__(self, *, stage: Any, size: Size) -> None:
        from reviewhub.core.actors import SYSTEM
        from reviewhub.hosting.adopt import adopt
        from reviewhub.policies.publish import publish
        from reviewhub.policies.reading import policy_text
        from reviewhub.policies.rules import Policy, Rule
        from tests.cast import make_cast

        self._stage, self._size = stage, size
        self._cast = make_cast()
        self._agents = {
            name: adopt(team=self._cast.support, graph=name, name=name, owner=None, actor=SYSTEM)
            for name in GRAPHS
        }
        rules = tuple(
            Rule(name=f"{tool} passes", tool=tool, action="allow") for tool in ("bench.pay", "bench.own")
        )
        text = policy_text(Policy(rules=rules))
        publish(workspace=self._cast.workspace, rules_text=text, note="The benchmark.", base=0, actor=SYSTEM)
        self._workers: list[Any] = []
        self._dice = random.Random(7)

    def staffed(self, workers: int) -> None:
        """At least so many workers, and beat."""
        if not self._workers:
            self._stage.beat()
        while len(self._workers) < workers:
            self._workers.append(self._stage.worker())

    def begun(self, graph: str, **given: Any) -> Any:
        """A new run of one of the agents."""
        from reviewhub.core.actors import SYSTEM
        from reviewhub.hosting.start import start

        given.setdefault("name", uuid.uuid4().hex)
        return start(agent=self._agents[graph], given=given, actor=SYSTEM, title=given["name"])

    def cycles(self) -> Iterator[tuple[str, str]]:
        """Cycles a second of one client, beside transactions a second."""
        from cycle import VERBS, bare, cycle_of

        cycle = cycle_of(self._cast)
        for _ in range(5):
            cycle()
        single = bare(self._size.cycles)
        laps = [cycle() for _ in range(self._size.cycles)]
        single += bare(self._size.cycles)
        rate = len(laps) / sum(sum(one.values()) for one in laps)
        verbs = ", ".join(f"{verb} {ms(one[verb] for one in laps)}" for verb in VERBS)
        limit = len(single) / sum(single) / len(VERBS)
        told = (
            f"{rate:.0f}/s ({verbs})",
            f"four bare transactions {limit:.0f}/s",
            f"{limit / rate:.1f}× slower",
        )
        yield "cycles: pause, decide, consume, outcome", " | ".join((*told, "≥ 250/s"))

    def progress(self) -> Iterator[tuple[str, str]]:
        """Forward progress, by the product's figures and by the wall's clock."""
        from cycle import bare

        self.staffed(1)
        commit = statistics.median(bare(self._size.cycles))
        kinds = (
            ("talk", "each step", False, "≥ 99.7 %"),
            ("aside", "each step, by a thread", False, "≥ 99.7 %"),
            ("talk", "each step, one `once` call in it", True, "≥ 99.2 %"),
        )
        for graph, words, pays, target in kinds:
            run = self.begun(
                graph, steps=self._size.steps, seconds=0.2, begin=1000 - self._size.steps // 2, pays=pays
            )
            self.ended([run], 3600)
            mine, wall, between = progress_of(run)
            # A call is three transactions at least: its beginning with the state, its end.
            limit = 0.2 / (0.2 + (2 if pays else 1) * commit)
            yield (
                f"progress: {self._size.steps} steps of 200 ms, 1 MB saved {words}",
                f"{wall:.2%} (the product says {mine:.2%}; {ms(between)} between two steps) "
                f"| bare commits {limit:.2%} | {between_ratio(between, commit)} | {target}",
            )

    def kills(self) -> Iterator[tuple[str, str]]:
        """What a killed worker's run goes on from, and when."""
        from counted import started

        self.staffed(2)
        firsts, late, whole = [], [], []
        for _ in range(self._size.kills):
            run, again = self.killed("every", lambda name: 14 in started(name), steps=20, stops_in=14)
            firsts.append(started(run.title)[14])
            late.append(again.after_lease)
            whole.append(again.after_kill)
        from_step = " and ".join(sorted({str(one) for one in firsts}))
        yield (
            f"kills: 20 steps, killed in step 14, {len(firsts)} times",
            f"goes on with step {from_step} | | | loads 13",
        )
        yield (
            "kills: until another worker's step runs",
            f"{max(late):.1f} s after the lease's end, {max(whole):.1f} s after the kill at most "
            f"| lease {LEASE_SECONDS} s | {max(whole) / LEASE_SECONDS:.2f}× of it | ≤ lease + 2 s",
        )
        redone = []
        for _ in range(self._size.kills):
            at = self._dice.randint(1, 45)
            run, _ = self.killed(
                "milestones", lambda name, at=at: len(started(name)) >= at, steps=45, seconds=0.05
            )
            redone.append(len(started(run.title)) - 45)
        yield (
            f"kills: 45 steps, a milestone each 5, killed at random {len(redone)} times",
            f"{max(redone)} steps again at most, {statistics.mean(redone):.1f} on average | | | ≤ 5",
        )

    def killed(self, graph: str, when: Callable[[str], bool], **given: Any) -> tuple[Any, Again]:
        """A run whose worker is killed as soon as `when` says so of its name; at its end, and when it went on."""
        from counted import WENT_ON
        from stage import waited

        from reviewhub.hosting.models import Shift
        from reviewhub.runs.models import Branch

        run = self.begun(graph, **given)
        waited(lambda: when(run.title), 60, pause=0.003)
        pid = int(Shift.objects.get(run=run).owner.split(":")[1])
        at = self._stage.kill(pid)
        lease = Branch.objects.get(run=run).lease_until
        self._workers = [one for one in self._workers if one.pid != pid]
        self.ended([run], 120)
        lines = [line.split() for line in (WENT_ON / run.title).read_text().splitlines()]
        on = min((float(line[2]) for line in lines if int(line[3]) != pid), default=at)
        self.staffed(2)
        return run, Again(after_kill=on - at, after_lease=on - lease.timestamp() if lease else 0.0)

    def crowd(self) -> Iterator[tuple[str, str]]:
        """Many runs at once, each with a state of its own."""
        self.staffed(2)
        alone = statistics.median(self.together(1) for _ in range(5))
        many = self._size.crowd
        taken = self.together(many)
        yield (
            f"crowd: {many} runs of 5 steps with a `once` call, at once",
            f"{taken:.1f} s, nothing mixed | one alone {alone * 1000:.0f} ms "
            f"| {taken / many / alone:.2f}× of it for each | isolated",
        )

    def together(self, many: int) -> float:
        """Seconds from the first start to the last end of so many runs; ends the program where two are mixed."""
        from stage import waited

        secrets = [uuid.uuid4().hex for _ in range(many)]
        began = time.monotonic()
        runs = [self.begun("own", secret=secret, steps=5) for secret in secrets]
        self.ended(runs, 600)
        taken = time.monotonic() - began
        for run, secret in zip(runs, secrets, strict=True):
            waited(lambda run=run, secret=secret: is_own(run, secret), 0.01)
        return taken

    def ended(self, runs: list[Any], seconds: float) -> None:
        """Waits until all of them have succeeded."""
        from stage import waited

        from reviewhub.runs.models import Run

        open_ = Run.objects.filter(pk__in=[run.pk for run in runs]).exclude(state="succeeded")
        waited(lambda: not open_.exists(), seconds)


@dataclass(frozen=True, kw_only=True)
class Again:
    """When another worker's step ran, in seconds."""

    after_kill: float
    after_lease: float


def progress_of(run: Any) -> tuple[float, float, list[float]]:
    """Forward progress of a run by the product's word and by the wall, and the seconds between two steps."""
    from counted import WENT_ON
    from stage import waited

    from reviewhub.hosting.goodput.queries import goodput_of_run
    from reviewhub.hosting.models import Shift

    # Whoever ended the run closes its shift a moment later.
    waited(lambda: not Shift.objects.filter(run=run, ended_at__isnull=True).exists(), 10)
    lines = [line.split() for line in (WENT_ON / run.title).read_text().splitlines()]
    began = [float(at) for what, _, at, _ in lines if what == "began"]
    ended = [float(at) for what, _, at, _ in lines if what == "ended"]
    work = sum(end - begin for begin, end in zip(began, ended, strict=True))
    between = [begin - end for end, begin in zip(ended, began[1:], strict=False)]
    progress = goodput_of_run(run).spent.progress or 0.0
    # The last step is saved, too; it has none after it, so it is taken for like the others.
    return progress, work / (work + sum(between) + statistics.median(between)), between


def between_ratio(between: list[float], commit: float) -> str:
    """What stands between two steps, in bare commits."""
    return f"{statistics.median(between) / commit:.1f} commits between two steps"


def is_own(run: Any, secret: str) -> bool:
    """Whether all that a run saved, asked for and did is its own."""
    from counted import WENT_ON, follows
    from reviewhub_agents import canonical

    from reviewhub.checkpoints.load import load
    from reviewhub.checkpoints.models import Checkpoint
    from reviewhub.toolcalls.models import ToolCall

    wanted = [follows(secret, n) for n in range(1, 6)]
    wanted.insert(3, run.title)
    states = [
        canonical.plain(canonical.reread(load(row)))
        for row in Checkpoint.objects.filter(branch__run=run).order_by("step")
    ]
    trails = [state["trail"] for state in states]
    effects = (WENT_ON / run.title).read_text().count("effect ")
    return (
        all(state["secret"] == secret and wanted[: len(state["trail"])] == state["trail"] for state in states)
        and trails[-1] == wanted
        and all(len(one) <= len(two) for one, two in pairwise(trails))
        and effects == ToolCall.objects.filter(run=run, state="succeeded").count() == 1
    )


def ms(seconds: Any) -> str:
    """Median and 99th percentile."""
    at = sorted(one * 1000 for one in seconds)
    return f"{statistics.median(at):.1f} ({at[min(len(at) - 1, int(len(at) * 0.99))]:.1f}) ms"


def written(path: Path, rows: list[str]) -> None:
    """Puts these rows into the document, each in the place of the one about the same."""
    before, rest = path.read_text(encoding="utf-8").split(MARKS[0])
    old, after = rest.split(MARKS[1])
    kept = {row.split("|")[1]: row for row in [*old.splitlines(), *rows] if row.strip()}
    path.write_text(before + MARKS[0] + "\n".join(kept.values()) + "\n" + MARKS[1] + after, encoding="utf-8")


if __name__ == "__main__":
    main()
