"""The replay: plays recordings as runs, and never acts twice however and whenever it is killed."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import reviewhub_agents
from reviewhub_agents import errors, exchange
from reviewhub_agents.client import Client
from reviewhub_agents.demos.replay import __main__ as command
from reviewhub_agents.demos.replay import play, recording
from reviewhub_agents.demos.replay.ledger import Busy, Ledger

from .fake import KEY, FakeHub, Refused, Stored
from .talks import BOOK, CANCEL, SEARCH, conversation

REQUESTS = 16
"""Of a replay of one read, one write that succeeds and one that fails."""


class Killed(BaseException):
    """The process dies here."""


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "FIRST_DELAY", 0.002)
    monkeypatch.setattr(play, "_POLL_SECONDS", 0.002)


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def play_all(hub: FakeHub, tmp_path: Path) -> Callable[..., tuple[list[str], dict[str, Any]]]:
    """One start of the replay: the endings and the counts."""

    def start(*conversations: dict[str, Any], **options: Any) -> tuple[list[str], dict[str, Any]]:
        file = tmp_path / "r.jsonl"
        file.write_text("".join(json.dumps(item) + "\n" for item in conversations))
        found = list(recording.read(file, name="r", is_write=command._is_write(command.READS, "")))
        with (
            Ledger(tmp_path / "state") as ledger,
            Client("http://hub.test", key=KEY, patience=0.5, transport=hub.transport()) as client,
        ):
            player = play.Player(client, ledger, **options)
            endings = [player.play(item) for item in found]
            return endings, ledger.counts({item.external_id for item in found})

    return start


def counted(counts: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(counts[name] for name in ("attempts", "acts", "effects", "failures", "refusals", "twice"))


# ---- one start ------------------------------------------------------------------------------------


def test_reads_are_observed_and_writes_pause(hub: FakeHub, play_all: Any) -> None:
    endings, counts = play_all(conversation(SEARCH, BOOK, SEARCH, CANCEL))
    assert endings == ["complete"]
    assert counted(counts) == (2, 1, 1, 1, 0, [])
    assert [item["tool"] for item in hub.observed] == ["search_direct_flight"] * 2
    states = [(call.tool, call.state, call.result) for call in hub.calls.values()]
    assert states == [
        ("book_reservation", "succeeded", {"reservation_id": "R-2041"}),
        ("cancel_reservation", "failed", None),
    ]
    assert [run["state"] for run in hub.runs.values()] == ["succeeded"]


def test_b10_recorded_arguments_keep_their_text(hub: FakeHub, play_all: Any) -> None:
    play_all(conversation(BOOK))
    assert [call.text for call in hub.calls.values()] == ['{"price":1E2,"user":"a"}']


def test_equal_calls_with_equal_ids_are_two_calls(hub: FakeHub, play_all: Any) -> None:
    endings, counts = play_all(conversation(BOOK, BOOK))
    assert endings == ["complete"]
    assert counted(counts) == (2, 2, 2, 0, 0, [])
    assert len(hub.pauses) == 2


@pytest.mark.parametrize("decision", ["reject", "deny", "expire", "withdraw", "skip", "respond"])
def test_a_refused_call_ends_that_replay_only(hub: FakeHub, play_all: Any, decision: str) -> None:
    answers = iter([decision, "approve"])
    hub.decide = lambda call: next(answers)
    endings, counts = play_all(conversation(BOOK, CANCEL), conversation(BOOK))
    assert endings == [f"{decision} at message 2 (book_reservation)", "complete"]
    assert counted(counts) == (1, 1, 1, 0, 1, [])
    assert [run["state"] for run in hub.runs.values()] == ["succeeded", "succeeded"]


def test_an_edited_call_is_not_run(hub: FakeHub, play_all: Any) -> None:
    hub.decide = lambda call: {"type": "edit", "arguments": {"user": "b"}}
    endings, counts = play_all(conversation(BOOK))
    assert endings == ["edited at message 2 (book_reservation)"]
    assert counted(counts) == (0, 0, 0, 0, 1, [])


def test_reads_may_pause_too_and_are_not_counted(hub: FakeHub, play_all: Any) -> None:
    endings, counts = play_all(conversation(SEARCH, BOOK), pause_reads=True)
    assert (endings, hub.observed) == (["complete"], [])
    assert counted(counts) == (1, 1, 1, 0, 0, [])
    assert [call.effect for call in hub.calls.values()] == ["read", "once"]


def test_a_rewrite_ends_that_replay(hub: FakeHub, play_all: Any) -> None:
    there = {"branch": "main~2", "checkpoint": "0190a6b2-6f1c-7c3e-9d2a-3b1f0c5d7e42"}
    hub.overrides["post_runs_observations"] = [Refused(409, "superseded", {"continue_from": there})]
    assert play_all(conversation(SEARCH))[0] == ["rewritten by a person"]


def test_a_run_that_a_person_ended_stays_ended(hub: FakeHub, play_all: Any) -> None:
    def cancel(call: Stored) -> str:
        hub.runs[call.run]["state"] = "cancelled"
        return "cancel"

    hub.decide = cancel
    assert play_all(conversation(BOOK))[0] == ["cancel at message 2 (book_reservation)"]


# ---- killed and started again ---------------------------------------------------------------------


def test_a_second_start_does_nothing(hub: FakeHub, play_all: Any) -> None:
    first = play_all(conversation(SEARCH, BOOK))
    before = len(hub.requests)
    endings, counts = play_all(conversation(SEARCH, BOOK))
    assert endings == ["over before (succeeded)"]
    assert counts == first[1]
    assert len(hub.requests) == before + 1


def kill_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, number: int, *, after: bool) -> None:
    """Die at the `number`-th call of a method, before or after it did its work; once."""
    real, seen = getattr(owner, name), [0]

    def dying(*args: Any, **kwargs: Any) -> Any:
        seen[0] += 1
        if seen[0] == number and not after:
            raise Killed
        result = real(*args, **kwargs)
        if seen[0] == number:
            raise Killed
        return result

    monkeypatch.setattr(owner, name, dying)


def test_killed_at_every_request_it_goes_on_and_acts_once(
    hub: FakeHub, play_all: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person says what the file of effects shows: it happened exactly when there is an act."""
    acts: set[str] = set()
    effects = tmp_path / "state" / "effects.jsonl"

    def decide(call: Stored) -> str:
        return (
            ("happened" if str(call.id) in acts else "did_not_happen")
            if call.state == "unknown"
            else "approve"
        )

    talk = conversation(SEARCH, BOOK, CANCEL)
    rounds = 0
    for after, number in itertools.product((False, True), range(1, REQUESTS + 1)):
        hub.__init__(decide)  # type: ignore[misc]
        killed = False
        with monkeypatch.context() as patch:
            kill_at(patch, hub, "handle", number, after=after)
            try:
                play_all(talk)
            except Killed:
                killed = True
        if killed:
            rounds += 1
            lines = effects.read_text().splitlines()
            acts.update(json.loads(line)["call"] for line in lines if '"act"' in line)
            endings, counts = play_all(talk)
            assert endings[0] in ("complete", "over before (succeeded)"), number
            server = list(hub.calls.values())
            assert [call.state for call in server] == ["succeeded", "failed"]
            assert counts["attempts"] == sum(len(call.attempts) for call in server)
            assert counted(counts)[1:] == (1, 1, 1, 0, [])
            assert (len(hub.pauses), len(hub.observed)) == (2, 1)
        effects.unlink()
    assert rounds == 2 * REQUESTS
    hub.__init__()  # type: ignore[misc]
    play_all(talk)
    assert len(hub.requests) == REQUESTS


@pytest.mark.parametrize(
    ("answer", "ending", "expected"),
    [
        ({"type": "happened", "value": 1}, "complete", (1, 0, 1, 0, 0, [])),
        ("did_not_happen", "complete", (2, 1, 1, 0, 0, [])),
        ("skip", "skip at message 2 (book_reservation)", (1, 0, 0, 0, 1, [])),
    ],
)
def test_killed_between_consume_and_outcome_it_waits_for_what_people_say(
    hub: FakeHub,
    play_all: Any,
    monkeypatch: pytest.MonkeyPatch,
    answer: Any,
    ending: str,
    expected: tuple[Any, ...],
) -> None:
    with monkeypatch.context() as patch:
        kill_at(patch, Ledger, "note", 1, after=False)
        with pytest.raises(Killed):
            play_all(conversation(BOOK))
    looks = [0]

    def decide(call: Stored) -> Any:
        assert call.state == "unknown"
        looks[0] += 1
        return answer if looks[0] > 3 else None

    hub.decide = decide
    endings, counts = play_all(conversation(BOOK))
    assert endings == [ending]
    assert counted(counts) == expected


def test_a_server_that_is_away_for_a_while_is_waited_for(hub: FakeHub, play_all: Any) -> None:
    for route in ("/runs", "/pauses", "/consume", "/outcome", "/finish", "/observations"):
        hub.die_once("POST", route, "lost after", times=3)
    endings, counts = play_all(conversation(SEARCH, BOOK))
    assert endings == ["complete"]
    assert counted(counts) == (1, 1, 1, 0, 0, [])


def test_a_server_that_stays_away_leaves_it_for_the_next_start(hub: FakeHub, play_all: Any) -> None:
    hub.die_once("POST", "/consume", "lost after", times=10**6)
    with pytest.raises(errors.Unreachable):
        play_all(conversation(BOOK))
    hub.faults.clear()
    hub.decide = lambda call: "did_not_happen"
    endings, counts = play_all(conversation(BOOK))
    assert endings == ["complete"]
    assert counted(counts) == (2, 1, 1, 0, 0, [])


# ---- the file of effects --------------------------------------------------------------------------


def test_two_replays_do_not_share_a_folder(tmp_path: Path) -> None:
    with Ledger(tmp_path), pytest.raises(Busy):
        Ledger(tmp_path)


def test_a_torn_line_is_ignored_and_ended(tmp_path: Path) -> None:
    about = {"run": "r/0", "position": 2, "write": True}
    with Ledger(tmp_path) as ledger:
        assert ledger.note("attempt", call="c", attempt=1, **about)
    with ledger.path.open("ab") as file:
        file.write(b'{"kind": "act", "ca')
    for _ in range(2):
        with Ledger(tmp_path) as ledger:
            assert ledger.counts({"r/0"})["attempts"] == 1
            ledger.note("act", call="c", attempt=1, **about)
    with Ledger(tmp_path) as ledger:
        assert not ledger.note("attempt", call="c", attempt=1, **about)
        assert counted(ledger.counts({"r/0"})) == (1, 2, 0, 0, 0, ["r/0 message 2"])
        assert ledger.counts({"other"})["acts"] == 0


# ---- the command, in a process of its own ---------------------------------------------------------


@pytest.fixture
def served(hub: FakeHub) -> Iterator[str]:
    """The fake behind a real port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                self.close_connection = True  # killed in the middle of asking: nothing was asked
                return
            headers = dict(self.headers.items())
            request = httpx.Request(
                self.command, f"http://hub.test{self.path}", headers=headers, content=body
            )
            response = hub.handle(request)
            try:
                self.send_response(response.status_code)
                for name in ("content-type", "content-length"):
                    self.send_header(name, response.headers[name])
                self.end_headers()
                self.wfile.write(response.content)
            except OSError:
                self.close_connection = True  # the replay was killed meanwhile

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def start(url: str, folder: Path, *options: str) -> subprocess.Popen[str]:
    root = Path(reviewhub_agents.__file__).parent.parent
    environment = os.environ | {"REVIEWHUB_URL": url, "REVIEWHUB_KEY": KEY, "PYTHONPATH": str(root)}
    command_line = [sys.executable, "-m", "reviewhub_agents.demos.replay", str(folder / "r.jsonl"), *options]
    return subprocess.Popen(
        [*command_line, "--state-dir", str(folder)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_hard_again_and_again_it_acts_once(hub: FakeHub, served: str, tmp_path: Path) -> None:
    def decide(call: Stored) -> str | None:
        if call.state == "unknown":
            lines = (tmp_path / "effects.jsonl").read_text()
            return "happened" if f'"act", "call": "{call.id}"' in lines else "did_not_happen"
        return "approve" if random.random() < 0.5 else None

    hub.decide = decide
    talks = [conversation(SEARCH, BOOK, BOOK, CANCEL) for _ in range(6)]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    for _ in range(3):
        process = start(served, tmp_path, "--workers", "3", "--tool-seconds", "0.05")
        deadline = time.monotonic() + random.uniform(1.0, 2.5)
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    out, err = start(served, tmp_path, "--workers", "6").communicate(timeout=120)
    counts = json.loads(out)
    assert counts["runs"] == 6, err
    assert counted(counts)[1:] == (12, 12, 6, 0, [])
    assert counts["attempts"] == sum(len(call.attempts) for call in hub.calls.values())
    assert len(hub.runs) == 6
    assert len(hub.pauses) == 18
    assert len(hub.observed) == 6
    assert {run["state"] for run in hub.runs.values()} == {"succeeded"}


def test_the_command_says_what_it_needs(served: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("{\n")
    process = start(served, tmp_path)
    assert "line 1" in process.communicate(timeout=60)[1]
    assert process.returncode == 2
    with pytest.raises(SystemExit):
        command.main(["x", "--url", "http://hub.test", "--key", "k", "--workers", "0"])


def test_a_wrong_key_is_an_error_and_no_success(
    hub: FakeHub, tmp_path: Path, capsys: Any, served: str
) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps(conversation(BOOK)))
    code = command.main(
        [str(tmp_path / "r.jsonl"), "--url", served, "--key", "rh_wrong", "--state-dir", str(tmp_path)]
    )
    assert code == 2
    assert "unauthenticated" in capsys.readouterr().err
