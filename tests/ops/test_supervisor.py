"""The supervisor with real processes: what dies comes back, what is stopped is gone, nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = [pytest.mark.servers, pytest.mark.alike]


def until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process still runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class Group:
    """A supervisor and what its programs wrote."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder = folder
        self.names = [name.partition(":")[0] for name in names if not name.startswith("--")]
        command = [sys.executable, "-m", "tests.ops.supervise", str(folder), *names]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def pids(self, name: str) -> list[int]:
        path = self.folder / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def all_pids(self) -> list[int]:
        return [pid for name in self.names for pid in self.pids(name)]

    def wait_until_running(self) -> None:
        until(lambda: all(self.pids(name) for name in self.names), "all run")

    def end(self) -> None:
        for pid in [self.process.pid, *self.all_pids()]:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Group]]:
    groups: list[Group] = []

    def begin(*names: str) -> Group:
        group = Group(tmp_path, *names)
        groups.append(group)
        group.wait_until_running()
        return group

    yield begin
    for group in groups:
        group.end()


def test_a_killed_program_is_started_again_and_the_others_are_left_alone(start: Callable[..., Group]) -> None:
    group = start("one", "two")
    os.kill(group.pids("one")[0], signal.SIGKILL)
    until(lambda: len(group.pids("one")) == 2, "it is back")
    assert len(group.pids("two")) == 1 and alive(group.pids("two")[0])


def test_a_program_that_fails_at_once_is_tried_ever_more_slowly(start: Callable[..., Group]) -> None:
    group = start("one:fails")
    until(lambda: len(group.pids("one")) >= 3, "it was tried three times")
    time.sleep(0.5)
    assert len(group.pids("one")) <= 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_in_reverse_order(
    start: Callable[..., Group], number: signal.Signals
) -> None:
    group = start("one", "two", "three")
    group.process.send_signal(number)
    assert group.process.wait(20) == 0
    assert (group.folder / "stopped").read_text().split() == ["three", "two", "one"]
    assert not any(alive(pid) for pid in group.all_pids())


def test_who_does_not_listen_is_ended_hard(start: Callable[..., Group]) -> None:
    group = start("one", "two:stubborn")
    group.process.send_signal(signal.SIGTERM)
    assert group.process.wait(20) == 0
    assert not any(alive(pid) for pid in group.all_pids())


def test_a_supervisor_killed_hard_leaves_no_orphan(start: Callable[..., Group]) -> None:
    group = start("one", "two")
    group.process.kill()
    group.process.wait()
    until(lambda: not any(alive(pid) for pid in group.all_pids()), "no orphan is left")


def test_an_orphan_is_noticed_without_the_kernels_help() -> None:
    """What holds on systems without PDEATHSIG: the program looks at who its parent is."""
    code = (
        "import os, sys; sys.platform = 'other'; from reviewhub.ops import child;"
        "child.die_with(os.getppid()); print(os.getpid(), flush=True); import time; time.sleep(60)"
    )
    middle = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {code!r}]); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", middle], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    orphan = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not alive(orphan), "the orphan has ended")


def test_a_program_whose_parent_is_already_gone_does_not_start() -> None:
    command = [sys.executable, "-m", "reviewhub.ops.child", "1", "tests.ops.program"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "gone" in done.stderr


def test_a_program_that_may_end_is_not_started_again(start: Callable[..., Group]) -> None:
    group = start("one", "two:ends")
    time.sleep(1)
    assert len(group.pids("two")) == 1 and alive(group.pids("one")[0])


def test_changed_code_starts_the_programs_again(start: Callable[..., Group]) -> None:
    group = start("--renew", "one")
    (group.folder / "changed.py").write_text("")
    until(lambda: len(group.pids("one")) == 2, "it was started again")
    assert not alive(group.pids("one")[0]) and alive(group.pids("one")[1])


def test_a_signal_that_arrives_twice_is_one_wish(start: Callable[..., Group]) -> None:
    group = start("one", "two")
    for _ in range(3):
        group.process.send_signal(signal.SIGTERM)
    assert group.process.wait(20) == 0
    assert (group.folder / "stopped").read_text().split() == ["two", "one"], "nobody was ended hard"
