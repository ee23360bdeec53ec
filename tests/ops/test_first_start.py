"""The first start: what is made, once, and where its secrets are."""

from __future__ import annotations

import io
import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command

from reviewhub.accounts.keys import hash_key
from reviewhub.accounts.models import AgentKey, Member, Person, Workspace
from reviewhub.audit.models import Event, EventPayload
from reviewhub.ops.first_start import AGENTS, first_start
from reviewhub.policies.queries import current

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path) -> Path:
    settings.VAR = tmp_path
    return tmp_path


def test_people_can_sign_in_with_the_passwords_that_are_told(var: Path) -> None:
    started = first_start()
    assert started is not None
    assert list(started.passwords) == ["alice@example.com", "bob@example.com", "carol@example.com"]
    for email, password in started.passwords.items():
        person = authenticate(username=email, password=password)
        assert isinstance(person, Person)
        assert password not in person.password
    assert dict(Member.objects.values_list("person__name", "role")) == {
        "Alice": "admin",
        "Bob": "reviewer",
        "Carol": "manager",
    }


def test_passwords_differ_from_each_other(var: Path) -> None:
    started = first_start()
    assert started is not None
    assert len(set(started.passwords.values())) == 3 and min(map(len, started.passwords.values())) >= 12
    assert not any(password in repr(started) for password in started.passwords.values())


def test_keys_are_in_files_that_only_the_owner_reads(var: Path) -> None:
    first_start()
    for demo in AGENTS:
        text = demo.key_file.read_text().strip()
        assert stat.S_IMODE(demo.key_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(demo.key_file.parent.stat().st_mode) == 0o700
        assert AgentKey.objects.get(key_hash=hash_key(text)).agent.name == demo.name


def test_a_second_start_makes_nothing(var: Path) -> None:
    first_start()
    keys = [demo.key_file.read_text() for demo in AGENTS]
    assert first_start() is None
    assert (Workspace.objects.count(), Person.objects.count()) == (1, 3)
    assert [demo.key_file.read_text() for demo in AGENTS] == keys


def test_a_policy_is_in_force_and_everything_is_on_record(var: Path) -> None:
    started = first_start()
    assert started is not None
    policy = current(started.workspace.pk)
    assert policy is not None and policy.number == 3, (
        "the first one, and the rules of the two demos before it"
    )
    kinds = list(Event.objects.order_by("id").values_list("kind", flat=True))
    assert kinds.count("member.invited") == 3 and kinds.count("key.made") == len(AGENTS)
    record = "".join(EventPayload.objects.values_list("body", flat=True))
    secrets = [*started.passwords.values(), *(demo.key_file.read_text().strip() for demo in AGENTS)]
    assert not any(secret in record for secret in secrets)


def test_the_command_prints_the_passwords_once(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reviewhub.ops.management.commands import first_start as command

    monkeypatch.setattr(command, "call_command", lambda *args, **options: None)
    first, second = io.StringIO(), io.StringIO()
    call_command("first_start", stdout=first)
    call_command("first_start", stdout=second)
    assert all(
        name in first.getvalue() for name in ("alice@example.com", "bob@example.com", "carol@example.com")
    )
    assert second.getvalue() == ""
