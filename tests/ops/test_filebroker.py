"""The broker in a folder: order, two readers, and a folder that is wiped while everything runs."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

import reviewhub.celery
from reviewhub.ops.filebroker import Channel

assert reviewhub.celery.app  # registers the transport


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "broker"


@pytest.fixture
def connection(folder: Path) -> Iterator[Connection]:
    options = {"data_folder_in": str(folder), "data_folder_out": str(folder), "polling_interval": 0.01}
    with Connection("folder://localhost", transport_options=options) as opened:
        yield opened


def put(connection: Connection, *names: str, queue: str = "work") -> None:
    with connection.Producer(serializer="json") as producer:
        for name in names:
            producer.publish({"id": name}, exchange="", routing_key=queue)


def take(connection: Connection, queue: str = "work") -> str:
    with connection.SimpleQueue(queue, serializer="json") as waiting:
        message = waiting.get(timeout=5)
        message.ack()
        return str(message.payload["id"])


def test_messages_come_in_order(connection: Connection) -> None:
    put(connection, *"abc")
    assert [take(connection) for _ in range(3)] == ["a", "b", "c"]


def test_queues_do_not_mix(connection: Connection) -> None:
    put(connection, "a", queue="one.two")
    put(connection, "b", queue="two")
    assert take(connection, "two") == "b"
    assert take(connection, "one.two") == "a"


def test_a_wiped_folder_is_made_again(connection: Connection, folder: Path) -> None:
    put(connection, "lost")
    shutil.rmtree(folder)
    put(connection, "found")
    assert take(connection) == "found"
    shutil.rmtree(folder)
    with connection.SimpleQueue("work") as waiting, pytest.raises(Empty):
        waiting.get(timeout=0.05)


def test_a_half_written_message_is_not_seen(connection: Connection, folder: Path) -> None:
    put(connection, "whole")
    (folder / "00000000000000000000_x.work.draft").write_text('{"bo')
    assert take(connection) == "whole"


def test_two_readers_never_get_the_same_message(connection: Connection) -> None:
    channel: Channel = connection.default_channel
    for number in range(300):
        channel._put("work", {"number": number})
    got: list[int] = []

    def read() -> None:
        while True:
            try:
                got.append(channel._get("work")["number"])
            except Empty:
                return

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(300))
