"""An export holds by itself, and no change of it passes the verifier that stands alone."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reviewhub_agents
from hypothesis import given, settings
from hypothesis import strategies as st
from reviewhub_agents import verify_audit
from reviewhub_agents.verify_audit import Broken, Report, verify_bundle

from reviewhub.audit import keys
from reviewhub.audit.erase import erase
from reviewhub.audit.export import Bundle, NotSealed, export_one, export_range, export_selection
from reviewhub.audit.models import Event, EventPayload, Seal
from reviewhub.audit.queries import Filters
from reviewhub.audit.rotate_key import rotate_key
from reviewhub.audit.seal import due, seal
from reviewhub.checkpoints import exported
from reviewhub.checkpoints.exported import NamedStates
from reviewhub.checkpoints.load import CorruptCheckpoint
from reviewhub.core.actors import SYSTEM
from reviewhub.core.errors import NotFound
from tests.audit.conftest import tampering
from tests.audit.test_record import MINA, WORKSPACE, Happened, write
from tests.cast import Cast
from tests.driver import API, PersonHttp, agent_of, call

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_once")]
RUN = uuid.UUID(int=5)
VERIFIER = Path(reviewhub_agents.__file__).parent / "verify_audit.py"


@pytest.fixture
def ids(db: None, at_once: None) -> list[int]:
    """Ten events in four seals: one erased, one with text of all kinds, and the key handed over in the second seal."""
    made = [write(run_id=RUN if n % 3 == 0 else None).pk for n in range(4)]
    made.append(write(data=Happened(tool='“q” \u2028 \\ " \U0001f378 \x7f\x1f\n')).pk)
    due()
    seal(WORKSPACE, batch=3)
    rotate_key(actor=SYSTEM)
    made += [write(run_id=RUN).pk for _ in range(2)]
    erase(workspace_id=WORKSPACE, event_ids=[made[1], made[3]], actor=SYSTEM, because="asked for")
    while seal(WORKSPACE, batch=3):
        pass
    return list(Event.objects.order_by("pk").values_list("pk", flat=True))


def first_key() -> str:
    said: str = json.loads(Seal.objects.get(number=1).statement)["key"]
    return said


def checked(lines: list[bytes], *trusted: str) -> Report:
    return verify_bundle(lambda: lines, trusted)


def everything() -> list[bytes]:
    return list(export_range(workspace_id=WORKSPACE, actor=MINA).lines)


def test_all_of_it_holds_with_the_first_key_or_the_newest(ids: list[int]) -> None:
    assert [one.last for one in Seal.objects.order_by("number")] == [3, 6, 9]
    lines = everything()
    for key in (first_key(), keys.newest().public):
        report = checked(lines, key)
        assert (report.seals, report.events, report.erased, report.first, report.last) == (3, 9, 2, 1, 9)
        assert report.keys == [first_key(), keys.newest().public]
    assert str(report).startswith(
        "All 9 events, 2 of them erased from position 1 to 9 are there, in their order"
    )
    with pytest.raises(Broken, match="is not one that you trust"):
        checked(lines, "ab" * 32)
    with pytest.raises(ValueError, match="is no public key"):
        checked(lines, "ab")
    assert (
        Event.objects.latest("id").payload.sentence == "Mina exported the seals 1 to 3 of the sealed record"
    )


def test_a_range_of_time_has_whole_seals_and_stands_on_the_statement_before(ids: list[int]) -> None:
    two = Seal.objects.get(number=2)
    bundle = export_range(workspace_id=WORKSPACE, actor=MINA, since=Seal.objects.get(number=1).latest)
    assert bundle.name == "record-seals-1-3.jsonl"
    lines = _range_from(two.number)
    report = checked(lines, first_key(), keys.newest().public)
    assert (report.anchor, report.first, report.events) == (1, 4, 6)
    header = json.loads(lines[0])
    header["header"]["anchor"] = None
    with pytest.raises(Broken, match="seal 1 is missing"):
        checked([_dumped(header), *lines[1:]], first_key())
    with pytest.raises(NotSealed):
        export_range(workspace_id=uuid.uuid4(), actor=MINA)


def _range_from(number: int) -> list[bytes]:
    """The seals from `number` on: as if the ones before were of another time."""
    from reviewhub.audit import export

    writer = export._Writer(WORKSPACE, keys.newest().public, "range", Seal.objects.get(number=number - 1))
    return list(
        writer.whole(
            export._range(writer, WORKSPACE, *Seal.objects.filter(number__in=(number, 3)).order_by("number"))
        )
    )


def test_chosen_events_prove_themselves(ids: list[int]) -> None:
    bundle = export_selection(
        workspace_id=WORKSPACE, actor=MINA, filters=Filters(run_id=RUN), words="one run"
    )
    lines = list(bundle.lines)
    report = checked(lines, keys.newest().public)
    assert (report.kind, report.events, report.erased) == ("selection", 4, 1)
    assert "That no other event fits the choice is not shown" in str(report)
    for pk in ids[:9]:
        one: Bundle = export_one(workspace_id=WORKSPACE, actor=MINA, event_id=pk)
        assert checked(list(one.lines), keys.newest().public).events == 1
    with pytest.raises(NotFound):
        export_one(workspace_id=uuid.uuid4(), actor=MINA, event_id=ids[0])
    with pytest.raises(NotSealed):
        export_one(workspace_id=WORKSPACE, actor=MINA, event_id=Event.objects.latest("id").pk)


def test_the_api_gives_them_to_who_may(ids: list[int], cast: Cast) -> None:
    Event.objects.exists()
    carol = PersonHttp(cast.carol)
    assert carol.get("/events/export").code == "not_sealed"
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    for _ in due():
        seal(cast.workspace.pk)
    mine = Event.objects.filter(workspace_id=cast.workspace.pk).latest("id")
    for path in ("/events/export", f"/events/export?run={run}&kind=run.started", f"/events/{mine.pk}/proof"):
        answer = carol.client.get(f"{API}{path}")
        assert answer.status_code == 200, answer.content
        assert answer["Content-Disposition"].startswith('attachment; filename="record-')
        checked(list(io.BytesIO(answer.getvalue())), keys.newest().public)
    told = Event.objects.filter(kind="audit.exported", workspace_id=cast.workspace.pk).order_by("id")
    assert [one.payload.sentence for one in told][1] == (
        f"Carol exported what fits “kind run.started, run {run}” of the sealed record"
    )
    for path in ("?since=yesterday", "?agent=1", "?colour=red", "?states=0", "?states=1&form=csv"):
        assert carol.get(f"/events/export{path}").status == 422
    assert PersonHttp(cast.bob).get("/events/export").status == 403
    assert PersonHttp(cast.mallory).get(f"/events/{mine.pk}/proof").status == 404


STATE = {
    "order": {"id": 8812, "amount": 10.00},
    "note": "“ok” \u2028",
    "api_key": "rk_live_4242424242427Qd2",
    "n": 1,
}
SECRET = "4242424242"


def _with_states(cast: Cast) -> list[bytes]:
    """A record that names two states, one of them with a secret, and its export with both."""
    agent = agent_of(cast.support)
    run = agent.run()["id"]
    agent.pause(run, call(), checkpoint={"state": STATE}).ok(201)
    agent.pause(agent.run()["id"], call(), checkpoint={"state": {"n": 2}}).ok(201)
    for _ in due():
        seal(cast.workspace.pk)
    path = f"{API}/events/export?run={run}&states=1"
    chosen = list(io.BytesIO(PersonHttp(cast.carol).client.get(path).getvalue()))
    assert sum(b'{"state":' in line for line in chosen) == 1, "one run was asked for"
    where = cast.workspace.pk
    return list(export_range(workspace_id=where, actor=MINA, states=NamedStates()).lines)


def test_the_states_that_events_name_are_in_it_masked_and_checked(cast: Cast) -> None:
    lines = _with_states(cast)
    report = checked(lines, keys.newest().public)
    assert (report.states, report.masked, report.missing) == (2, 1, 0)
    assert "1 of them parts are masked" in str(report)
    assert SECRET not in b"".join(lines).decode()
    places = [at for at, line in enumerate(lines) if line.startswith(b'{"state":')]
    first, second = (json.loads(lines[at])["state"] for at in places)
    assert first["masked"] == ["api_key"]
    assert first["hash"] in json.loads(lines[places[0] - 1])["event"]["body"]
    assert json.loads(first["texts"]["order"]) == STATE["order"]
    changes: list[tuple[Callable[[Any], object], str]] = [
        (lambda state: state["texts"].update(n="3"), "the field 'n' of the state is not what was hashed"),
        (
            lambda state: state["fields"].update(n="0" * 64),
            "the field 'n' of the state is not what was hashed",
        ),
        (lambda state: state["masked"].append("m"), "the state has other fields than were hashed"),
        (
            lambda state: state.update(masked=["api_key", "n"]) or state["fields"].update(n="0" * 64),
            "the hash is not",
        ),
        (lambda state: state["texts"].update(m="3"), "the state has other fields than were hashed"),
        (lambda state: state["texts"].pop("n"), "the field 'n' of the state is none"),
        (lambda state: state["texts"].update(n=3), "the field 'n' of the state is none"),
        (
            lambda state: (state["fields"].pop("n"), state["texts"].pop("n")),
            "the hash is not that of the state's fields",
        ),
        (lambda state: (state.clear(), state.update(second)), "the event before does not name this state"),
        (lambda state: (state.clear(), state.update(hash=first["hash"], missing="lost")), "nobody knows why"),
    ]
    for change, said in changes:
        with pytest.raises(Broken, match=re.escape(said)):
            checked(
                _edited(lines, places[0], lambda value, change=change: change(value["state"])),
                keys.newest().public,
            )
    # What is masked is the signer's word alone, and the signer's word is over all of it.
    touched = _edited(lines, places[0], lambda value: value["state"]["texts"].update(api_key='"x"'))
    more = _edited(lines, places[0], lambda value: value["state"]["masked"].append("n"))
    for changed in (touched, more, [*lines[: places[1]], *lines[places[1] + 1 :]]):
        with pytest.raises(Broken, match="the lines before it are not those that were signed"):
            checked(changed, keys.newest().public)


def test_of_a_state_that_is_gone_an_export_says_so(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(row: Any) -> Any:
        raise CorruptCheckpoint

    monkeypatch.setattr(exported, "load_state", damaged)
    report = checked(_with_states(cast), keys.newest().public)
    assert (report.states, report.missing) == (2, 2)
    state_hash = json.dumps(
        {"data": {"checkpoint": f"sha256:{'0' * 64}", "state_hash": "x", "digest": "sha256:0"}}
    )
    assert [one["missing"] for one in NamedStates()(RUN, state_hash)] == ["unknown"]


def test_without_the_key_nothing_is_exported(ids: list[int], audit_keys: Path) -> None:
    for path in audit_keys.glob("*.pem"):
        path.unlink()
    with pytest.raises(keys.KeyMissing):
        export_range(workspace_id=WORKSPACE, actor=MINA)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _edited(lines: list[bytes], place: int, change: Callable[[Any], object]) -> list[bytes]:
    value = json.loads(lines[place])
    change(value)
    return [*lines[:place], _dumped(value), *lines[place + 1 :]]


def _swapped(lines: list[bytes], one: int, other: int) -> list[bytes]:
    made = list(lines)
    made[one], made[other] = made[other], made[one]
    return made


# Lines: 0 header, 1 seal 1, 2-4 events, 5 seal 2, 6-8 events, 9 seal 3, 10-12 events, 13 end.
CHANGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "words": (
        lambda lines: _edited(lines, 2, lambda one: one["event"].update(body="{}")),
        "line 3, seal 1, position 1, event .*: the leaf is not that of the event's kind, time and words",
    ),
    "words with their leaf": (
        lambda lines: _edited(lines, 3, lambda one: one["event"].update(leaf="ab" * 32)),
        "line 6: seal 1: the root over its leaves is another one",
    ),
    "called erased": (
        lambda lines: _edited(
            lines,
            2,
            lambda one: one.update(
                event={
                    **{k: v for k, v in one["event"].items() if k not in ("salt", "body")},
                    "erased_at": "2026-01-01T00:00:00.000000+00:00",
                }
            ),
        ),
        "the last line: the lines before it are not those that were signed",
    ),
    "an event is gone": (lambda lines: lines[:6] + lines[7:], "line 7, .*: position 4 was expected"),
    "the last event of a seal is gone": (
        lambda lines: lines[:4] + lines[5:],
        "line 5: seal 1: position 3 is missing",
    ),
    "two events change places": (lambda lines: _swapped(lines, 6, 7), "line 7, .*: position 4 was expected"),
    "an event twice": (
        lambda lines: [*lines[:3], lines[2], *lines[3:]],
        "line 4, .*: position 2 was expected",
    ),
    "a seal is gone": (
        lambda lines: lines[:5] + lines[9:],
        "line 6, seal 3: seal 2 is missing",
    ),
    "two seals change places": (
        lambda lines: lines[:1] + lines[5:9] + lines[1:5] + lines[9:],
        "line 2, seal 2: seal 1 is missing",
    ),
    "the end is gone": (lambda lines: lines[:-1], "after line 13: the end is missing"),
    "more after the end": (lambda lines: [*lines, lines[3]], "line 15: nothing may follow the end"),
    "cut": (lambda lines: [*lines[:-1], lines[-1][:-1]], "line 14: the line has no end"),
    "white space": (
        lambda lines: [*lines[:2], lines[2].replace(b'":', b'": ', 1), *lines[3:]],
        "line 3: not in its canonical form",
    ),
    "another signature": (
        lambda lines: _edited(lines, 5, lambda one: one["seal"].update(signature="ab" * 64)),
        "line 6, seal 2: the signature is not that of the statement",
    ),
    "another workspace": (
        lambda lines: _edited(lines, 0, lambda one: one["header"].update(workspace=str(uuid.UUID(int=1)))),
        "line 2, seal 1: the seal is of another workspace",
    ),
    "made at another time": (
        lambda lines: _edited(
            lines, 0, lambda one: one["header"].update(made_at="2026-01-01T00:00:00.000000+00:00")
        ),
        "the last line: the lines before it are not those that were signed",
    ),
}


def test_each_change_is_located(ids: list[int]) -> None:
    lines, key = everything(), first_key()
    for name, (change, said) in CHANGES.items():
        with pytest.raises(Broken) as found:
            checked(change(lines), key)
        assert re.search(said, str(found.value)), (name, str(found.value))


def test_no_byte_can_be_changed_removed_added_or_swapped(ids: list[int]) -> None:
    chosen = export_selection(
        workspace_id=WORKSPACE, actor=MINA, filters=Filters(run_id=RUN), words="one run"
    )
    bundles, key = [b"".join(everything()), b"".join(chosen.lines)], first_key()

    @settings(max_examples=250, database=None)
    @given(st.data())
    def holds_not(data: st.DataObject) -> None:
        raw = data.draw(st.sampled_from(bundles))
        place = data.draw(st.integers(0, len(raw) - 1))
        other = data.draw(st.integers(0, len(raw) - 1))
        byte = bytes([data.draw(st.integers(0, 255))])
        made = {
            "change": raw[:place] + byte + raw[place + 1 :],
            "bit": raw[:place] + bytes([raw[place] ^ (1 << other % 8)]) + raw[place + 1 :],
            "remove": raw[:place] + raw[place + 1 :],
            "add": raw[:place] + byte + raw[place:],
            "cut": raw[:place],
            "swap": _swap(raw, place, other),
        }[data.draw(st.sampled_from(["change", "bit", "remove", "add", "cut", "swap"]))]
        if made != raw:
            with pytest.raises(Broken):
                checked(list(io.BytesIO(made)), key)

    holds_not()


def _swap(raw: bytes, one: int, other: int) -> bytes:
    made = bytearray(raw)
    made[one], made[other] = made[other], made[one]
    return bytes(made)


def test_the_file_runs_alone_and_its_status_says_what_it_found(ids: list[int], tmp_path: Path) -> None:
    """Copied elsewhere, without any of our packages in sight."""
    alone = tmp_path / "verify_audit.py"
    alone.write_bytes(VERIFIER.read_bytes())
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    lines = everything()
    good.write_bytes(b"".join(lines))
    bad.write_bytes(b"".join(lines[:3] + lines[4:]))

    def run(bundle: Path) -> tuple[int, str]:
        command = [sys.executable, "-I", str(alone), str(bundle), "--key", first_key()]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        return done.returncode, done.stdout

    status, said = run(good)
    assert status == 0 and said.startswith("OK. All 9 events"), said
    status, said = run(bad)
    assert status == 1 and said.startswith("BROKEN: line 4, seal 1, position 3,"), said
    assert run(tmp_path / "none.jsonl")[0] == 2


def test_on_a_terminal_the_file_says_how_far_it_is(
    ids: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    bundle = tmp_path / "bundle.jsonl"
    bundle.write_bytes(b"".join(everything()))
    for seen, wanted in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", seen)
        assert verify_audit.main([str(bundle), "--key", first_key()]) == 0
        assert seen.getvalue().endswith(f"{'#' * 40} 100%\n") is wanted
        assert bool(seen.getvalue()) is wanted


def test_an_export_of_a_changed_database_does_not_hold(ids: list[int]) -> None:
    key = first_key()
    with tampering():
        EventPayload.objects.filter(pk=ids[0]).update(body="{}")
        with pytest.raises(Broken, match=f"position 1, event {ids[0]}: the leaf"):
            checked(everything(), key)
