"""What rules most pairs of names and patterns out rules none out that belong together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reviewhub.policies.names import covers_folded, matches_exactly, matches_folded
from reviewhub.policies.sifting import Names, Sifted

TEXTS = st.text(alphabet="abAB.*?_ \u0430\u00e9\u200b\uff0a\ufb01\u0130\u03a3", max_size=12)
PLAIN = st.text(alphabet="ab.*?", max_size=12)


@given(TEXTS | PLAIN, TEXTS | PLAIN)
def test_a_pattern_covers_what_it_did_before(wide: str, narrow: str) -> None:
    assert Sifted(wide).covers(Sifted(narrow), exactly=False) == covers_folded(wide, narrow)


@given(TEXTS | PLAIN, st.lists(TEXTS | PLAIN, max_size=6))
def test_of_many_names_a_pattern_finds_all_that_it_matches(pattern: str, names: list[str]) -> None:
    many, sifted = Names(names), Sifted(pattern)
    assert set(many.covered(sifted, exactly=True)) == {n for n in names if matches_exactly(pattern, n)}
    assert set(many.covered(sifted, exactly=False)) == {n for n in names if matches_folded(pattern, n)}


def test_most_pairs_are_ruled_out_without_looking_at_them() -> None:
    many = Names(f"service{at % 40}.op{at}" for at in range(1000))
    asked: list[str] = []
    looked = [name for name in many._written if not Sifted("*service3.*7").bits & name[0]]
    asked += [text for _, text in looked]
    assert set(many.covered(Sifted("*service3.*7"), exactly=True)) <= set(asked)
    assert len(asked) < 100
