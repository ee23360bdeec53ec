"""The Dockerfile's steps, run in a clean folder: the image builds, migrates, answers, drains."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.chaos.image import Image
from tests.ops.product import until

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    built = Image(tmp_path_factory.mktemp("image"))
    built.build()
    return built


@pytest.fixture(scope="module")
def variables(image: Image) -> dict[str, str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {
        "SECRET_KEY": "a-secret-of-the-test-0123456789-abcdefghijklmnopqrstuvwxyz",
        "ALLOWED_HOSTS": "reviewhub.example.com",
        "DATABASE_URL": f"sqlite:///{image.root}/var/lib/reviewhub/reviewhub.sqlite3",
        "PORT": str(port),
    }


def test_the_image_builds_and_does_not_run_as_root(image: Image) -> None:
    assert image.user not in {"", "root", "0"}
    assert image.environment["REVIEWHUB_PRODUCTION"] == "1"
    assert (image.root / "srv/static/staticfiles.json").exists()
    assert not (image.app / "var/keys").exists(), "no secret of the build is in the image"


def test_without_a_secret_it_does_not_start(image: Image, variables: dict[str, str]) -> None:
    without = {name: value for name, value in variables.items() if name != "SECRET_KEY"}
    process = subprocess.Popen(
        [*image.entrypoint, "web"], cwd=image.app, env=image.all_variables(without), stderr=subprocess.PIPE
    )
    _, said = process.communicate(timeout=60)
    assert process.returncode != 0 and b"SECRET_KEY" in said


def test_it_migrates_becomes_ready_and_drains(image: Image, variables: dict[str, str]) -> None:
    address = f"http://127.0.0.1:{variables['PORT']}"

    def status(path: str) -> int:
        try:
            return httpx.get(f"{address}{path}", timeout=5).status_code
        except httpx.HTTPError:
            return 0

    web = image.start("web", variables)
    try:
        until(lambda: status("/healthz") == 200, "the process answers")
        assert status("/readyz") == 503, "the database is still empty"
        assert image.start("migrate", variables).wait(120) == 0
        until(lambda: status("/readyz") == 200, "it is ready")
        slow = threading.Thread(target=finish_slowly, args=(int(variables["PORT"]), answers := []))
        slow.start()
        time.sleep(0.5)
        web.send_signal(signal.SIGTERM)
        slow.join(20)
        assert answers and answers[0].startswith(b"HTTP/1.1 "), "a request that had begun is answered"
        assert web.wait(30) in {0, -signal.SIGTERM}
    finally:
        if web.poll() is None:
            os.kill(web.pid, signal.SIGKILL)
            web.wait()


def finish_slowly(port: int, answers: list[bytes]) -> None:
    """A request whose body takes two seconds."""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.sendall(
            b"POST /signin HTTP/1.1\r\nHost: reviewhub.example.com\r\nContent-Length: 4\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n\r\na="
        )
        time.sleep(2)
        connection.sendall(b"bc")
        connection.settimeout(15)
        answers.append(connection.recv(100))


def test_worker_and_beat_start_and_end_in_order(image: Image, variables: dict[str, str]) -> None:
    running = {name: image.start(name, variables) for name in ("worker", "beat")}
    for name, process in running.items():
        until(lambda process=process: process.poll() is not None or catches(process.pid), f"{name} is up")
    time.sleep(2)  # it does not fall over right after its start either
    for name, process in running.items():
        assert process.poll() is None, f"{name} ended by itself"
        process.send_signal(signal.SIGTERM)
    assert {name: process.wait(40) for name, process in running.items()} == {"worker": 0, "beat": 0}


def catches(pid: int) -> bool:
    """Whether a process has a way of its own to end when it is asked to: before, it would just be gone."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)
