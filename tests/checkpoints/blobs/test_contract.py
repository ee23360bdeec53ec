"""What holds for every blob store."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewhub.checkpoints.blobs.protocol import MAX_KEY, BlobStore, StoreDown
from reviewhub.checkpoints.blobs.redis import RedisStore
from reviewhub.checkpoints.blobs.stores import open_store
from tests.checkpoints.blobs.conftest import ADDRESSED

pytestmark = pytest.mark.django_db
A = "0193-ws/0193-run/aa.01"
B = "0193-ws/0193-run/bb.01"
EVERY_BYTE = bytes(range(256)) * 40


@pytest.fixture(params=["memory", *ADDRESSED])
def store(request: pytest.FixtureRequest, opened: Callable[[str], Any]) -> BlobStore:
    found: BlobStore = opened(request.param)
    return found


@pytest.mark.parametrize("data", [b"", b"\x00", EVERY_BYTE, b"x" * 6_000_000])
def test_returns_exactly_what_was_put(store: BlobStore, data: bytes) -> None:
    store.put_many({A: data, B: b"other"})
    assert store.get_many([A]) == {A: data}


def test_many_at_once_each_under_its_key(store: BlobStore) -> None:
    blobs = {f"w/r/{number:03}.x": str(number).encode() for number in range(60)}
    store.put_many(blobs)
    assert store.get_many(list(blobs)) == blobs


def test_what_is_not_there_is_left_out(store: BlobStore) -> None:
    store.put_many({A: b"1"})
    assert store.get_many([A, B]) == {A: b"1"}
    assert store.get_many([B]) == {}


def test_nothing_at_all(store: BlobStore) -> None:
    store.put_many({})
    store.delete_many([])
    assert store.get_many([]) == {}


def test_a_second_put_replaces(store: BlobStore) -> None:
    store.put_many({A: b"long and old"})
    store.put_many({A: b"new"})
    assert store.get_many([A]) == {A: b"new"}


def test_delete_removes_these_and_no_others(store: BlobStore) -> None:
    store.put_many({A: b"1", B: b"2"})
    store.delete_many([A])
    assert store.get_many([A, B]) == {B: b"2"}


def test_delete_again_is_no_error(store: BlobStore) -> None:
    store.put_many({A: b"1"})
    store.delete_many([A, B])
    store.delete_many([A, B])
    assert store.get_many([A, B]) == {}


def test_a_key_is_no_beginning_of_another(store: BlobStore) -> None:
    store.put_many({"w/r/a": b"1", "w/r/ab": b"2"})
    store.delete_many(["w/r/a"])
    assert store.get_many(["w/r/a", "w/r/ab"]) == {"w/r/ab": b"2"}


HOSTILE = [
    "",
    "/etc/passwd",
    "../up",
    "a/../b",
    "a//b",
    "a/",
    ".",
    "a/.",
    "A",
    "ä",
    "a b",
    "a\n",
    "a\x00",
    "*",
]


@pytest.mark.parametrize("key", [*HOSTILE, "x" * (MAX_KEY + 1)])
def test_a_key_that_could_mean_another_place_is_refused(store: BlobStore, key: str) -> None:
    for does in (lambda: store.put_many({A: b"1", key: b"2"}), lambda: store.get_many([key])):
        with pytest.raises(ValueError, match="no key"):
            does()
    with pytest.raises(ValueError, match="no key"):
        store.delete_many([A, key])
    assert store.get_many([A]) == {}


def test_the_longest_key(store: BlobStore) -> None:
    key = "/".join(["x" * 82] * 3)[:MAX_KEY]
    store.put_many({key: b"1"})
    assert store.get_many([key]) == {key: b"1"}


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def verbs(store: BlobStore) -> list[Callable[[], Any]]:
    return [lambda: store.get_many([A]), lambda: store.put_many({A: b"1"}), lambda: store.delete_many([A])]


@pytest.mark.parametrize("url", ["redis://:SECRET@127.0.0.1:1/0", "s3://blobs?endpoint=http://127.0.0.1:1"])
def test_one_that_is_down_says_so_and_no_credentials(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "SECRET")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
    for does in verbs(open_store(url)):
        with pytest.raises(StoreDown) as raised:
            does()
        assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize("kind", ["redis", "s3"])
def test_one_that_never_answers_is_given_up(
    silent: str, kind: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BLOB_TIMEOUT_SECONDS = 0.2
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    url = f"redis://{silent}/0" if kind == "redis" else f"s3://blobs?endpoint=http://{silent}"
    with pytest.raises(StoreDown):
        open_store(url).get_many([A])


def test_a_folder_that_is_not_there_is_no_empty_store(tmp_path: Path) -> None:
    for does in verbs(open_store(f"file://{tmp_path}/mount")):
        with pytest.raises(StoreDown, match="No such file"):
            does()


def test_a_bucket_that_is_not_there_is_no_empty_store(
    s3_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    for does in verbs(open_store(f"s3://elsewhere?endpoint={s3_server}&region=us-east-1")):
        with pytest.raises(StoreDown, match="NoSuchBucket"):
            does()


def test_files_are_private_and_none_is_left_unfinished(tmp_path: Path) -> None:
    store = open_store(f"file://{tmp_path}")
    store.put_many({A: b"1"})
    (path,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (path.relative_to(tmp_path).as_posix(), path.stat().st_mode & 0o777) == (A, 0o600)


def test_what_a_killed_process_left_unfinished_goes_with_its_key(tmp_path: Path) -> None:
    store = open_store(f"file://{tmp_path}")
    store.put_many({A: b"1", B: b"2"})
    for key in (A, B):
        (tmp_path / f"{key}.00ff.part").write_bytes(b"half")
    store.delete_many([A])
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {B, f"{B}.00ff.part"}


def test_a_server_that_drops_keys_when_it_is_full_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    store = RedisStore("redis://127.0.0.1:1/0", seconds=1)
    monkeypatch.setattr(store._client, "info", lambda _: {"maxmemory_policy": "allkeys-lru"})
    with pytest.raises(StoreDown, match="allkeys-lru"):
        store.put_many({A: b"1"})
