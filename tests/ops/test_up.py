"""`manage.py up`: everything runs, comes back, waits for nobody slow and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.ops.product import Product, alive, installed, until

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The data of two installations."""
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    with installed(first), installed(second, like=first):
        yield first, second


@pytest.fixture(scope="module")
def product(folders: tuple[Path, Path]) -> Iterator[Product]:
    running = Product(folders[0], "--port", "0")
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.end()


def test_web_worker_and_beat_run(product: Product) -> None:
    until(lambda: set(product.children()) == {"serve", "worker", "beat"}, "all three run")


def test_four_slow_uploads_do_not_delay_a_page(product: Product) -> None:
    host, port = product.address.removeprefix("http://").split(":")
    slow = []
    for _ in range(4):
        connection = socket.create_connection((host, int(port)), 5)
        connection.sendall(
            b"POST /signin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n\r\na=1"
        )
        slow.append(connection)
    try:
        started = time.monotonic()
        assert httpx.get(f"{product.address}/signin", timeout=10).status_code < 500
        assert time.monotonic() - started < 5, "the uploads would last a minute"
    finally:
        for connection in slow:
            connection.close()


def test_a_wrong_key_is_refused_before_the_body_is_sent(product: Product) -> None:
    host, port = product.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 5) as connection:
        connection.sendall(
            b"POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer rh_wrong\r\n"
            b"Content-Length: 900000\r\n\r\n"
        )
        assert connection.recv(12) == b"HTTP/1.1 401"


def test_a_killed_web_process_comes_back_and_visitors_wait(product: Product) -> None:
    first = product.children()["serve"]
    os.kill(first, signal.SIGKILL)
    assert httpx.get(f"{product.address}/healthz", timeout=30).status_code == 200
    assert product.children()["serve"] != first


@pytest.mark.alike
def test_a_busy_port_is_said_and_another_taken_and_killed_hard_it_leaves_no_orphan(
    product: Product, folders: tuple[Path, Path]
) -> None:
    busy = product.address.rpartition(":")[2]
    second = Product(folders[1], "--port", busy)
    try:
        assert second.address != product.address
        assert httpx.get(f"{second.address}/healthz", timeout=1).status_code == 200
        assert f"Port {busy} is busy" in second.output
        second.wait_until_ready()
        children = list(second.children().values())
        second.process.kill()
        until(lambda: not any(alive(pid) for pid in children), "no orphan is left", 40)
    finally:
        second.end()


@pytest.mark.alike
def test_a_second_one_on_the_same_data_says_where_the_first_runs(
    product: Product, folders: tuple[Path, Path]
) -> None:
    second = Product(folders[0], "--port", "0")
    try:
        assert second.process.wait(60) == 1
        assert f"runs already: {product.address} (process {product.process.pid})" in second.output
        assert second.children() == {}
    finally:
        second.end()


@pytest.mark.alike
def test_asked_to_it_ends_cleanly(folders: tuple[Path, Path]) -> None:
    running = Product(folders[1], "--port", "0")
    try:
        ends_cleanly(running, signal.SIGTERM)
    finally:
        running.end()


def test_interrupted_it_ends_cleanly(product: Product) -> None:
    """The last one: the product that all the others used."""
    ends_cleanly(product, signal.SIGINT)


def ends_cleanly(running: Product, number: signal.Signals) -> None:
    running.wait_until_ready()
    children = running.children().values()
    assert running.stop(number) == 0, running.output
    assert not any(alive(pid) for pid in children)
    assert "Traceback" not in running.output
    # A page that is open can hold it for seconds; whoever pressed the keys is told that it was heard.
    assert running.output.index("Stopping") < running.output.index("Stopped.")
