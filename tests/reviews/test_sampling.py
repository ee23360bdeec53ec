"""Which calls are drawn for a later look: by rate and risk, the same ones each time, with the reason in words."""

from __future__ import annotations

import uuid

import pytest

from reviewhub.reviews import sampling
from reviewhub.reviews.sampling import Draw, number_of, sampled, share_of

SAID = "Rule Replies lets it run, to be looked at later."


def draw(percent: int, risk: str = "low", *, failed: bool = False, number: int = 0) -> Draw | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "number_of", lambda _: number)
        return sampled(call_id=uuid.uuid4(), percent=percent, risk=risk, failed=failed, because=SAID)


@pytest.mark.parametrize(
    ("percent", "risk", "share"),
    [
        (10, "low", 10), (10, "medium", 20), (10, "high", 100), (10, "critical", 100),
        (60, "medium", 100), (100, "low", 100), (1, "low", 1), (1, "somewhat", 100),
    ],
)  # fmt: skip
def test_the_share_rises_with_the_risk_and_what_is_unheard_of_is_drawn(
    percent: int, risk: str, share: int
) -> None:
    assert share_of(percent, risk) == share


def test_a_number_below_the_share_is_drawn_and_the_words_say_so() -> None:
    assert draw(10, number=10) is None
    found = draw(10, number=9)
    assert found is not None
    assert (found.percent, found.number) == (10, 9)
    assert found.because == f"{SAID} Number 9 is among the first 10 of 100."
    twice = draw(10, "medium", number=19)
    assert twice is not None and "first 20 of 100, twice its share for medium risk." in twice.because
    assert draw(10, "medium", number=20) is None


def test_what_fails_and_what_is_risky_is_drawn_whatever_its_number_is() -> None:
    failed, risky, all_of_them = draw(1, failed=True, number=99), draw(1, "high", number=99), draw(100)
    assert failed is not None and failed.because.endswith("what fails is always drawn.")
    assert risky is not None and risky.because == f"{SAID} High risk: always drawn."
    assert all_of_them is not None and all_of_them.because == SAID


def test_the_same_call_has_the_same_number_and_the_numbers_are_spread(settings: object) -> None:
    ids = [uuid.UUID(int=one) for one in range(4000)]
    numbers = [number_of(one) for one in ids]
    assert numbers == [number_of(one) for one in ids]
    assert set(numbers) == set(range(100))
    assert 800 < sum(number < 25 for number in numbers) < 1200
    settings.SECRET_KEY = "another installation"  # type: ignore[attr-defined]
    assert numbers != [number_of(one) for one in ids], "nobody can reckon it from the id alone"
