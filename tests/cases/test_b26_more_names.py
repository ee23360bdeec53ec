"""B26, further inputs: marks, scripts that no list of look-alikes holds, names in both directions."""

from __future__ import annotations

import pytest

from reviewhub.policies.names import matches_exactly, matches_folded, oddities
from reviewhub.policies.rules import Rule
from tests.cases.test_b26_names import said

HELD = [
    "files_dele\u20ddte",  # a circle around a letter
    "files_d\u1dc4elete",  # an accent of another block
    "files_dele\ufe20te",  # half of a mark
    "f\u0489iles_delete",  # Cyrillic millions sign
    "\U0001d41files_delete",
    "files\uff3fdelete",
    "files_de\u01c0ete",  # a click that looks like an l
    "\u0192iles_delete",
    "files_delete\U000e0001",  # language tag
    "files_delete\u3164",  # Hangul filler
]  # fmt: skip
FLAGGED = [
    "\u13a0elete_file",  # Cherokee
    "\ua4d3elete_file",  # Lisu
    "files_read\u0661",  # an Arabic digit
    "re\u10d0d",  # Georgian
    "read\u05c0x",
    "files\u0332read",  # a line under a letter passes for _
    "rea\U00010428d",  # Deseret
    "\u03f3ob",
    "read\u2c9f",  # Coptic
    "a\u0e02i",
    "\U0001f175iles_read",  # a letter in a black square
    "\U0001f1ebiles_read",  # a regional indicator
]  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_b26_marks_and_letters_of_any_block_slip_past_no_hold(name: str) -> None:
    answer = said(name)
    assert (answer.action, answer.rule) == ("require", "Delete")
    assert said(name, rules=(Rule(name="No", tool="files_*", action="deny"),)).action == "deny"


@pytest.mark.parametrize("name", FLAGGED)
def test_b26_a_word_of_two_scripts_is_flagged_and_held_by_its_very_own_rule(name: str) -> None:
    assert oddities(name)
    for tool in (name, "*"):
        answer = said(name, rules=(Rule(name="Run", tool=tool, action="allow"),))
        assert answer.action == "require", "even one that is registered and named by an allow rule"


HONEST = ["検索api", "カード_get", "files_поиск", "e\u0301tat", "vie\u0323\u0302t", "weiß", "हिन्दी"]


@pytest.mark.parametrize("name", HONEST)
def test_b26_honest_names_of_any_script_are_not(name: str) -> None:
    assert oddities(name) == ()
    assert said(name, rules=(Rule(name="Run", tool=name, action="allow"),)).action == "allow"


def test_b26_vowel_signs_are_letters_of_theirs() -> None:
    assert not matches_folded("\u0915\u093f", "\u0915")
    assert matches_exactly("\u0915\u093f", "\u0915\u093f")
