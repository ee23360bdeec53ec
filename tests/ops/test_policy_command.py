"""`manage.py policy`, and what the policy page says of its file."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from reviewhub.audit.models import Event
from reviewhub.ops.alone import Alone
from reviewhub.policies.models import PolicyVersion
from tests.cast import Cast
from tests.driver import policy

GOOD = "rules:\n- name: Refunds\n  tool: refund\n  action: require\n  team: Finance\n  approvals: 2\n"


def run(*words: str, **options: Any) -> tuple[str, str]:
    """What it writes, and what it says was wrong (with what it raised)."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("policy", *words, stdout=out, stderr=err, workspace="northwind", **options)
    except CommandError as error:
        err.write(str(error))
    return out.getvalue(), err.getvalue()


def test_a_file_is_checked_compared_and_put_in_force_once(cast: Cast, tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    name = str(path)
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "deny"})
    path.write_text(GOOD.replace("Finance", "Marketing"))
    assert f"{name}:5: Rule 1 (Refunds), team: There is no team 'Marketing'." in run("check", name)[1]
    path.write_text(GOOD.replace("2", "two"))
    assert (
        f"{name}:6: Rule 1 (Refunds), approvals: Should be a whole number"
        in run("apply", name, reason="x")[1]
    )
    path.write_text(GOOD.replace("2", "two").replace("Finance", "Marketing"))
    both = run("check", name)[1]
    assert "There is no team 'Marketing'." in both and "approvals: Should be a whole number" in both
    path.write_text(GOOD)
    out, _ = run("check", name)
    assert "warning: Rule 1, Refunds: Matched 0 calls: no tool is called refund so far." in out
    assert "It asks for 2 approvals, but Finance has one person" in out and "1 rule, nothing wrong" in out
    with pytest.raises(SystemExit) as differs:
        run("diff", name)
    assert differs.value.code == 1
    assert run("apply", name)[1] == "Say why with --reason." and PolicyVersion.objects.count() == 1
    assert (
        "carol@example.com is no member" not in run("apply", name, reason="x", email="carol@example.com")[1]
    )
    assert PolicyVersion.objects.count() == 1, "a manager may not"
    assert "v1 meanwhile" in run("apply", name, reason="x", base=0)[1]
    assert run("apply", name, reason="two pairs of eyes", email="alice@example.com")[0] == "v2 is in force\n"
    assert Event.objects.latest("id").payload.sentence == "Alice published policy v2: two pairs of eyes"
    assert run("apply", name, reason="again")[0] == "v2 says the same; nothing to do\n"
    assert run("diff", name) == ("", "")
    exported, _ = run("export")
    assert exported.startswith("# yaml-language-server: $schema=") and exported.endswith(GOOD)
    assert "action: deny" in run("export", version_number=1)[0]
    assert '"$schema"' in run("schema")[0] == Client().get("/api/v1/policy/schema").content.decode()


def test_the_schema_of_an_export_is_where_it_runs(
    cast: Cast, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "deny"})
    monkeypatch.delenv("PUBLIC_URL", raising=False)
    settings.VAR, settings.PUBLIC_URL = tmp_path, "http://127.0.0.1:8000"
    head = "# yaml-language-server: $schema=http://127.0.0.1:{}/api/v1/policy/schema\n"
    assert run("export")[0].startswith(head.format(8000))
    held = Alone(tmp_path)
    held.say("http://127.0.0.1:9417")
    assert run("export")[0].startswith(head.format(9417))
    monkeypatch.setenv("PUBLIC_URL", "http://127.0.0.1:8000")
    assert run("export")[0].startswith(head.format(8000)), "what is set is so, wherever it runs"
    monkeypatch.delenv("PUBLIC_URL")
    held._file.close()
    assert run("export")[0].startswith(head.format(8000)), "it runs no more"


def test_the_page_says_when_file_and_policy_differ(cast: Cast, tmp_path: Path, settings: Any) -> None:
    policy(cast.support, {"name": "Refunds", "tool": "refund", "action": "deny"})
    settings.POLICY_FILE = str(tmp_path / "{workspace}.yaml")
    path = tmp_path / "northwind.yaml"
    client = Client()
    client.force_login(cast.alice.person)

    def page() -> str:
        shown = client.get("/northwind/policy").content.decode()
        assert "<b>]" not in shown
        return re.sub(r"<[^>]*>", "", shown)

    assert "cannot be read: No such file" in page()
    path.write_text("rules: [<b>]\n")
    assert "cannot be read: Rule 1: Should be an object" in page()
    path.write_bytes(b"\xff\xfe")
    assert "not written in UTF-8" in page()
    path.write_text(GOOD)
    assert "says something else than" in page() and "Changed: Refunds" in page()
    path.write_text("rules: [{name: Refunds, tool: refund, action: deny}]\n")
    os.utime(path, (1, 1))
    assert "says the same" in page()
    client.force_login(cast.bob.person)
    assert "northwind.yaml" not in page()
