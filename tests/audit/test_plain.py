"""The record as a table and as JSON lines: everything that fits, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from reviewhub_agents.canonical import Number

from reviewhub.audit import plain
from reviewhub.audit.erase import erase
from reviewhub.audit.models import Event
from reviewhub.audit.plain import cell, export_plain
from reviewhub.audit.queries import Filters
from reviewhub.audit.record import record
from reviewhub.core.errors import Invalid
from tests.audit.test_record import MINA, WORKSPACE, Happened, write


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Mina approved", "Mina approved"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-2", "'-2"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("  =1", "'  =1"),
        ("\r=1", "'\r'=1"),
        ("＝1", "'＝1"),
        ("a;=cmd|' /C calc'!A0", "a;'=cmd|' /C calc'!A0"),
        ("a,\n-1", "a,'\n'-1"),
        ("a, -1", "a,' -1"),
        ("a\u2028=1", "a =1"),
        ("a=b", "a=b"),
        (None, ""),
        (-5, "'-5"),
        (Number("-5"), "'-5"),
        ({"a": "=1"}, '{"a":"=1"}'),
        (["x"], '["x"]'),
    ],
)
def test_a_cell_begins_no_formula(value: Any, expected: str) -> None:
    assert cell(value) == expected


def exported(form: str, **filters: Any) -> list[dict[str, Any]]:
    made = export_plain(
        workspace_id=WORKSPACE, workspace="w", actor=MINA, filters=Filters(**filters), words="", form=form
    )
    text = b"".join(made.lines).decode()
    if form == "csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["csv", "jsonl"])
class TestExport:
    def test_has_what_fits_the_oldest_first_and_is_recorded_before(
        self, form: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(plain, "BATCH", 2)
        ids = [write(data=Happened(tool=f"t{number}")).pk for number in range(5)]
        write(workspace_id=uuid.uuid4())
        assert [int(row["id"]) for row in exported(form)] == ids
        assert [row["tool"] for row in exported(form, tool="t3")] == ["t3"]
        told = list(Event.objects.filter(kind="audit.listed").values_list("payload__sentence", flat=True))
        assert told == [f"Mina exported everything of the record as {form}"] * 2

    def test_masks_what_looks_like_a_secret_and_says_what_was_erased(self, form: str) -> None:
        kept = write(data=Happened(tool="=rk_live_4242424242424242"))
        gone = write()
        erase(workspace_id=WORKSPACE, event_ids=[gone.pk], actor=MINA, because="asked for")
        first, second = exported(form)[:2]
        assert (int(first["id"]), int(second["id"])) == (kept.pk, gone.pk)
        assert "4242424242424242" not in str(first)
        assert first["what_happened"] and not second["what_happened"] and second["erased_at"]
        assert second["leaf"] == bytes(gone.leaf).hex()


@pytest.mark.django_db
def test_there_is_no_other_form() -> None:
    with pytest.raises(Invalid):
        exported("xls")


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_arguments_of_a_call_go_along_masked_and_the_file_says_what_it_is_about(form: str) -> None:
    """Where only their beginning is kept they are text, masked all the same."""
    with transaction.atomic():
        for arguments in ('{"amount":"9.50","password":"hunter2hunter2"}', '{"note":"' + "x" * 5000):
            record(
                "tests.happened",
                workspace_id=WORKSPACE,
                actor=MINA,
                data=Happened(),
                arguments=arguments,
            )
    whole, cut = [one["arguments"] for one in exported(form, kind="tests.happened")][-2:]
    assert "9.50" in str(whole) and "hunter2" not in str(whole)
    assert isinstance(cut, str) and cut.startswith('{"note":"xxx')
    since = datetime(2026, 3, 1, tzinfo=UTC)
    made = export_plain(
        workspace_id=WORKSPACE,
        workspace="demo",
        actor=MINA,
        filters=Filters(since=since, until=since + timedelta(days=31)),
        words="",
        form=form,
    )
    assert made.name == f"record-demo-from-2026-03-01-until-2026-03-31.{form}"
