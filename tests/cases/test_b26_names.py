"""B26: no two different names share an allow; what is not exactly a known name waits; holds match how it reads."""

from __future__ import annotations

import pytest

from reviewhub.policies.names import oddities
from reviewhub.policies.rules import Answer, Call, Policy, Rule, evaluate

RULES = (
    Rule(name="Read", tool="files.read", action="allow"),
    Rule(name="Delete", tool="files_delete", action="require", approvals=2),
    Rule(name="Never", tool="db_drop", action="deny"),
)
ASKS_FOR_TWO = [
    "files_delete", "FILES_DELETE", "Files_Delete", "files_delete ", "files_delete\n", "\ufb01les_delete",
    "files_del\u0435te", "files_\u200bdelete", "\uff46iles_delete", "files_delete\u202e", "f\u0456les_delete",
    "files\u203fdelete", "files_d\u00e9lete",
]  # fmt: skip
OTHER_NAMES = [
    "files-delete", "files.delete", "files:delete", "filesdelete", "srv1__delete", "srv2__delete", "get_file.delete",
    "files__delete", "files_deleted", "xfiles_delete", "files.Read", "files.read ", "files_read", "files-read",
    "srv1.files.read", "files.r\u0435ad", "files.read\u200b", "FILES.READ", "files\u2024read", "files.read.",
]  # fmt: skip


def said(tool: str, *, registered: bool = True, rules: tuple[Rule, ...] = RULES) -> Answer:
    call = Call(
        tool=tool, registered=registered, known=registered, effect="once",
        agent="a", agent_team="Support", environment="production",
    )  # fmt: skip
    return evaluate(Policy(rules=rules), call)


@pytest.mark.parametrize("name", ASKS_FOR_TWO)
@pytest.mark.parametrize("registered", [True, False])
def test_b26_a_hold_finds_whatever_reads_like_it(name: str, registered: bool) -> None:
    answer = said(name, registered=registered)
    assert answer.rule == "Delete" and answer.requirement is not None and answer.requirement.approvals == 2


@pytest.mark.parametrize("name", ["DB_DROP", "db_dr\u043ep", "db_\u00addrop", "\uff44b_drop"])
def test_b26_so_does_a_denial(name: str) -> None:
    assert said(name).action == "deny"


@pytest.mark.parametrize("name", OTHER_NAMES)
@pytest.mark.parametrize("registered", [True, False])
def test_b26_another_name_is_another_tool_and_waits(name: str, registered: bool) -> None:
    assert said("files.read").action == "allow"
    answer = said(name, registered=registered)
    assert (answer.action, answer.rule) == ("require", None)


@pytest.mark.parametrize("tool", ["srv1__*", "srv1__delete", "srv?__delete"])
def test_b26_names_of_two_servers_share_no_allow(tool: str) -> None:
    rules = (Rule(name="One", tool=tool, action="allow"),)
    assert said("srv1__delete", rules=rules).action == "allow"
    for name in ("srv1-_delete", "SRV1__delete", "srv1__delete\u200b", "\u0455rv1__delete"):
        assert said(name, rules=rules).action == "require"
    assert said("srv2__delete", rules=rules).action == ("allow" if "?" in tool else "require")
    assert said("srv1__delete", registered=False, rules=rules).action == "require"


@pytest.mark.parametrize(
    "name", [name for name in ASKS_FOR_TWO + OTHER_NAMES if not name.isascii() or " " in name]
)
def test_b26_what_cannot_be_seen_or_deceives_is_flagged(name: str) -> None:
    assert oddities(name) or name == "files_d\u00e9lete"  # an accent is seen
