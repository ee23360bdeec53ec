"""Names as rules see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewhub.policies import names
from reviewhub.policies.names import (
    covers,
    covers_folded,
    fold_case,
    fold_look,
    matches_exactly,
    matches_folded,
    oddities,
    reads_like,
)

ACCENTED = ["files_dele\N{COMBINING ACUTE ACCENT}te", "F\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}LES_DELETE"]
SPELLINGS = [
    *ACCENTED,
    "files_delete\n",
    "\N{LATIN SMALL LIGATURE FI}les_delete",
    "files_d\N{CYRILLIC SMALL LETTER IE}lete",
    "files_\N{ZERO WIDTH SPACE}delete",
    "ｆｉｌｅｓ＿ｄｅｌｅｔｅ",
    "f\N{LATIN SMALL LETTER DOTLESS I}les_delete",
    "files_delete\N{VARIATION SELECTOR-16}",
    "files\N{UNDERTIE}delete",
    "\N{RIGHT-TO-LEFT OVERRIDE}files_delete",
    "FILES_DELETE",
    "files_delete ",
]


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_name_spelled_otherwise_is_held_but_not_let_through(name):
    assert matches_folded("files_delete", name)
    assert matches_folded("files_*", name)
    assert not matches_exactly("files_delete", name)
    assert reads_like("files_delete", name)


@pytest.mark.parametrize("name", SPELLINGS[:-2])
def test_a_pattern_lets_no_deceiving_name_through(name):
    assert not matches_exactly("*", name)
    assert oddities(name) or name in ACCENTED


@pytest.mark.parametrize(
    "name", ["files-delete", "files.delete", "filesdelete", "files_deleted", "files", ""]
)
def test_other_names_are_other_names(name):
    assert not matches_folded("files_delete", name)


@pytest.mark.parametrize(
    ("pattern", "name", "yes"),
    [
        ("*", "a", True),
        ("*", "", True),
        ("*.get", "crm.get", True),
        ("*.get", "crm.get.delete", False),
        ("crm.*", "crm.", True),
        ("c?m", "crm", True),
        ("c?m", "cm", False),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "aXcYb", False),
        ("a.c", "abc", False),
        ("[ab]", "a", False),
        ("\\*", "*", False),
    ],
)
def test_globs(pattern, name, yes):
    assert covers(pattern, name) is yes


@pytest.mark.parametrize(
    ("wide", "narrow", "yes"),
    [
        ("*", "a*", True),
        ("a*", "*", False),
        ("a*", "ab*", True),
        ("a?", "a*", False),
        ("a*", "a?", True),
        ("?", "?", True),
        ("A*", "a.b", True),
    ],
)
def test_globs_cover_globs(wide, narrow, yes):
    assert covers_folded(wide, narrow) is yes


def test_letters_of_other_scripts_match_whatever_their_case():
    assert matches_folded("ΔΙΑΓΡΑΦΗ", "διαγραφη")
    assert matches_folded("удалить", "УДАЛИТЬ")


def test_a_wide_asterisk_is_no_wildcard():
    assert not matches_folded("files＊", "files_delete")
    assert not matches_exactly("files＊", "files_delete")


@pytest.mark.parametrize(
    "name", ["files.read", "поиск", "files_поиск", "検索", "café", "διαγραφή", "mcp__x__y"]
)
def test_honest_names_are_not_odd(name):
    assert oddities(name) == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a b", "invisible character U+0020"),
        ("dеlete", "look-alike character U+0435"),
        ("сору", "look-alike character U+0441"),
        ("a‐b", "look-alike character U+2010"),
    ],
)
def test_odd_names_say_what_is_odd(name, says):
    assert str(oddities(name)[0]) == says


@given(st.text())
def test_folding_is_stable(name):
    assert fold_case(fold_case(name)) == fold_case(name)
    assert fold_look(fold_look(name)) == fold_look(name)


@given(st.text(alphabet="abAB*?.", max_size=8), st.text(alphabet="abAB.", max_size=8))
def test_whatever_is_let_through_is_also_held(pattern, name):
    assert not matches_exactly(pattern, name) or matches_folded(pattern, name)


@given(st.text("ab*?", max_size=6), st.text("ab*?", max_size=6), st.text("ab", max_size=6))
def test_covering_is_never_wrongly_claimed(wide, narrow, name):
    if covers(wide, narrow) and covers(narrow, name):
        assert covers(wide, name)


def test_a_new_name_makes_no_expression_that_what_is_written_rules_out(monkeypatch):
    made = []
    monkeypatch.setattr(names, "_expression", lambda piece: made.append(piece))
    for pattern in (f"*{'?' * 180}7*", "*a?b*", f"{'?' * 5}*", "*?*?*x"):
        assert not covers_folded(pattern, "new.tool") or not pattern.strip("*?"), pattern
    assert made == []
    monkeypatch.undo()
    assert covers_folded("*w.t??l", "new.tool") and not covers_folded("*w.t???l", "new.tool")


@given(pattern=st.text("aB*? \t\x7f", max_size=8))
def test_plain_patterns_are_folded_as_all_others_are(pattern):
    pieces = "".join(one if one in "*?" else fold_look(one) for one in pattern)
    assert names.foldings(pattern) == (pieces, pieces)


@pytest.mark.parametrize(("name", "looks"), [("*?" * 100, 1), ("files_del\u0435te", 2)])
def test_plain_names_are_looked_at_once(name: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """600 patterns against a name full of wildcards took 70 ms, since both foldings of it, the same, were compared."""
    seen: list[str] = []

    def covers(_: str, narrow: str) -> bool:
        seen.append(narrow)
        return False

    monkeypatch.setattr(names, "covers", covers)
    assert not names.covers_folded("*x?y*", name)
    assert len(seen) == looks
