"""Times in words."""

from datetime import UTC, datetime, timedelta

import pytest

from reviewhub.core.display.durations import ago, due, length

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (59, "59 s"),
        (60, "1 m"),
        (3600, "1 h"),
        (4800, "1 h 20 m"),
        (90_000, "1 d 1 h"),
    ],
)
def test_length(seconds: int, words: str) -> None:
    assert length(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(1, "just now"), (60, "1 m ago"), (7200, "2 h ago"), (200_000, "27 Nov 2026")]
)
def test_ago(seconds: int, words: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("left", "words", "tone"),
    [
        (252, "4:12", "soon"),
        (900, "15:00", "soon"),
        (901, "15 m", ""),
        (0, "0 s late", "late"),
        (-720, "12 m late", "late"),
    ],
)
def test_due(left: int, words: str, tone: str) -> None:
    found = due(NOW + timedelta(seconds=left), NOW, NOW - timedelta(seconds=100))
    assert (found.text, found.tone) == (words, tone)


def test_no_deadline_is_said() -> None:
    assert due(None, NOW, NOW).text == "no deadline"
