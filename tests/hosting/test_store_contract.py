"""What the engine may rely on, from every store alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from reviewhub_agents import canonical
from reviewhub_agents.runtime import (
    Fenced,
    GraphError,
    PlanChanged,
    PlanStep,
    ReplayDiverged,
    rebuild,
    run,
)
from reviewhub_agents.runtime.errors import ApprovalNeeded, AskedAgain
from reviewhub_agents.runtime.messages import planned
from reviewhub_agents.runtime.state import StateText
from reviewhub_agents.runtime.store import (
    Call,
    ChildEnd,
    Declaration,
    Intent,
    Kept,
    Next,
    Plan,
    Proposal,
    Snapshot,
    Stop,
    Store,
    WrittenAs,
)

from reviewhub.toolcalls.models import ToolCall
from tests.cast import Cast
from tests.hosting.conftest import Hosted
from tests.hosting.keepers import INPUT, InDatabase, InMemory, Keeper, OverHttp
from tests.runtime.agent import World, make

STATE = '{"amount":"10.00","big":123456789012345678901234567890,"rate":1.50}'


@pytest.fixture(params=["memory", "database", "http"])
def keeper(request: pytest.FixtureRequest, cast: Cast, hosted: Hosted) -> Keeper:
    if request.param == "memory":
        return InMemory()
    return InDatabase(hosted) if request.param == "database" else OverHttp(cast, hosted)


def saved(store: Store) -> Snapshot:
    return store.save(node="work", step=0, state=STATE)


def asked(tool: str = "pay", text: str = "10.00", key: str = "a") -> list[Proposal]:
    effect: Any = {"pay": "once", "read": "read", "mail": "idempotent"}[tool]
    return [
        Proposal(key=f"{key}.0", tool=tool, arguments=f'{{"text":"{text}"}}', effect=effect, reason="because")
    ]


def paused(keeper: Keeper, tool: str = "pay") -> tuple[Snapshot, Stop]:
    snapshot = saved(keeper.store)
    return snapshot, keeper.store.pause(key="a", snapshot=snapshot, proposals=asked(tool))


def decided(keeper: Keeper, type_: str = "approve", **said: Any) -> tuple[Store, Call]:
    """The store that goes on, and the call as it was decided."""
    snapshot, _ = paused(keeper)
    keeper.decide(type_, **said)
    store = keeper.over()
    return store, store.pause(key="a", snapshot=snapshot, proposals=asked()).calls[0]


def test_a_new_branch_has_its_input_and_nothing_else(keeper: Keeper) -> None:
    loaded = keeper.store.load()
    assert loaded.snapshot is None
    assert INPUT["amount"] in loaded.input


def test_what_was_saved_is_loaded_to_the_letter(keeper: Keeper) -> None:
    first = saved(keeper.store)
    second = keeper.store.save(node="end", step=1, state=STATE)
    assert first.id != second.id
    assert keeper.store.load().snapshot == second
    assert second.state == STATE


def test_what_changed_is_saved_to_the_letter(keeper: Keeper) -> None:
    """Each state by its fields, as the engine tells them: one changed, one grew, one went away and one stayed."""
    first = {"gone": "x", "n": "1", "stays": {"a": ["b"]}, "turns": ["a"]}
    states = [
        first,
        {"n": 2, "stays": first["stays"], "turns": ["a", "é\n"]},
        {"n": 2, "stays": {}, "turns": []},
    ]
    for step, state in enumerate(states):
        fields = {name: canonical.dumps(value) for name, value in state.items()}
        text = StateText(canonical.joined(fields), fields=fields, seconds=0.0, read=None)
        made = keeper.store.save(node="work", step=step, state=text)
        assert keeper.store.load().snapshot == made
        assert made.state == canonical.dumps(state)
    assert keeper.over().load().snapshot == made


def test_a_call_that_waits_gives_the_branch_up(keeper: Keeper) -> None:
    _, stop = paused(keeper)
    assert [(call.key, call.tool, call.state, call.effect) for call in stop.calls] == [
        ("a.0", "pay", "waiting", "once")
    ]
    with pytest.raises(Fenced):
        saved(keeper.store)
    with pytest.raises(Fenced):
        keeper.store.keep("x", Kept(digest="d", value="1"))
    with pytest.raises(Fenced):
        keeper.store.heartbeat()


def test_the_same_key_finds_the_same_pause_also_in_another_process(keeper: Keeper) -> None:
    snapshot, stop = paused(keeper, "read")
    again = keeper.store.pause(key="a", snapshot=snapshot, proposals=asked("read"))
    assert again == stop
    assert keeper.over().pause(key="a", snapshot=snapshot, proposals=asked("read")) == stop


@pytest.mark.parametrize("other", [asked("read", text="else"), asked("mail")])
def test_the_same_key_for_something_else_is_reported(keeper: Keeper, other: list[Proposal]) -> None:
    snapshot, _ = paused(keeper, "read")
    with pytest.raises(ReplayDiverged):
        keeper.store.pause(key="a", snapshot=snapshot, proposals=other)


def test_an_approved_call_runs_once_and_keeps_its_result(keeper: Keeper) -> None:
    store, call = decided(keeper)
    assert call.state == "allowed"
    assert call.decision is not None
    assert (call.decision.type, call.decision.by_kind) == ("approve", "person")
    permit = store.consume(call, facts={})
    assert (permit.arguments, permit.attempt) == ('{"text":"10.00"}', 1)
    assert permit.idempotency_key
    store.progress(call, partial='{"half":true}')
    store.outcome(call, attempt=1, status="succeeded", result='{"paid":1.50}')
    after = store.pause(
        key="a", snapshot=store.load().snapshot or pytest.fail("no head"), proposals=asked()
    ).calls[0]
    assert (after.state, after.attempt, after.result) == ("succeeded", 1, '{"paid":1.50}')
    with pytest.raises((Fenced, AskedAgain)):
        store.consume(after, facts={})


def test_a_call_may_begin_in_the_commit_of_its_pause_and_the_next_one_in_that_of_its_end(
    keeper: Keeper,
) -> None:
    store, snapshot = keeper.store, saved(keeper.store)
    two = [*asked("read", key="a"), replace(asked("mail")[0], key="a.1")]
    stop = store.pause(key="a", snapshot=snapshot, proposals=two, begin=True)
    first, second = stop.calls
    permit = stop.permit or store.consume(first, facts={})
    assert (permit.attempt, permit.arguments) == (1, first_text := '{"text":"10.00"}')
    then = Next(call=second, facts={})
    begun = store.outcome(first, attempt=1, status="succeeded", result="1", then=then)
    begun = begun or store.consume(second, facts={})
    assert (begun.attempt, begun.arguments) == (1, first_text)
    found = keeper.over().pause(key="a", snapshot=snapshot, proposals=two, begin=True)
    # Nothing begins twice: the second process finds how they stand, and no permit.
    assert [(call.state, call.attempt) for call in found.calls] == [("succeeded", 1), ("started", 1)]
    assert found.permit is None


def test_what_waits_for_people_does_not_begin(keeper: Keeper) -> None:
    stop = keeper.store.pause(key="a", snapshot=saved(keeper.store), proposals=asked("pay"), begin=True)
    assert (stop.permit, stop.calls[0].state) == (None, "waiting")


def test_nobody_runs_a_once_call_that_another_process_started(keeper: Keeper) -> None:
    store, call = decided(keeper)
    store.consume(call, facts={})
    with pytest.raises((Fenced, AskedAgain)):
        keeper.over().consume(call, facts={})


def test_edited_arguments_are_handed_out(keeper: Keeper) -> None:
    store, call = decided(keeper, "edit", changes=[{"op": "set", "path": "/text", "value": "7.50"}])
    assert call.decision is not None
    assert call.decision.type == "edit"
    assert store.consume(call, facts={}).arguments == '{"text":"7.50"}'


@pytest.mark.parametrize(
    ("type_", "said", "state", "value"),
    [
        ("reject", {"message": "Not now."}, "denied", None),
        ("respond", {"value": None}, "skipped", "null"),
        ("respond", {"value": {"n": 0}}, "skipped", '{"n":0}'),
    ],
)
def test_other_answers(keeper: Keeper, type_: str, said: Any, state: str, value: str | None) -> None:
    store, call = decided(keeper, type_, **said)
    assert call.state == state
    assert call.decision is not None
    assert (call.decision.type, call.decision.value) == (type_, value)
    assert call.decision.message == said.get("message", "")
    with pytest.raises((Fenced, AskedAgain)):
        store.consume(call, facts={})


def test_an_unknown_outcome_gives_the_branch_up_until_a_person_has_said(keeper: Keeper) -> None:
    store, call = decided(keeper)
    store.consume(call, facts={})
    store.outcome(call, attempt=1, status="unknown", error="line cut")
    with pytest.raises(Fenced):
        saved(store)
    keeper.decide("happened", value={"paid": 2})
    store = keeper.over()
    snapshot = store.load().snapshot or pytest.fail("no head")
    after = store.pause(key="a", snapshot=snapshot, proposals=asked()).calls[0]
    assert (after.state, after.result) == ("succeeded", '{"paid":2}')


def test_a_read_may_be_started_again(keeper: Keeper) -> None:
    snapshot, stop = paused(keeper, "read")
    store = keeper.store
    assert stop.calls[0].state == "allowed"
    assert store.consume(stop.calls[0], facts={}).attempt == 1
    store = keeper.over()
    call = store.pause(key="a", snapshot=snapshot, proposals=asked("read")).calls[0]
    assert (call.state, store.consume(call, facts={}).attempt) == ("started", 2)
    store.outcome(call, attempt=2, status="failed", error="gone")
    call = store.pause(key="a", snapshot=snapshot, proposals=asked("read")).calls[0]
    assert (call.state, call.error) == ("failed", "gone")
    with pytest.raises(Fenced):
        store.outcome(call, attempt=1, status="succeeded", result="1")


def test_the_first_record_stays(keeper: Keeper) -> None:
    store = keeper.store
    assert store.kept("1/step/x/1") is None
    store.keep("1/step/x/1", Kept(digest="d", value='{"n":1.50}'))
    store.keep("1/step/x/1", Kept(digest="e", value="2"))
    assert store.kept("1/step/x/1") == Kept(digest="d", value='{"n":1.50}')
    assert keeper.over().kept("1/step/x/1") == Kept(digest="d", value='{"n":1.50}')


def test_a_new_snapshot_is_saved_with_the_pause(keeper: Keeper) -> None:
    first = saved(keeper.store)
    new = Snapshot(id="", node="work", step=1, state=STATE)
    stop = keeper.store.pause(key="1/act/pause/1", snapshot=new, proposals=asked(key="1/act/pause/1"))
    assert stop.checkpoint not in {"", first.id}
    store = keeper.store
    assert store.load().snapshot == replace(new, id=stop.checkpoint)
    keeper.decide("approve")
    store = keeper.over()
    head = store.load().snapshot or pytest.fail("no head")
    # Another process stands on what was saved along, and finds the same pause.
    again = store.pause(key="1/act/pause/1", snapshot=head, proposals=asked(key="1/act/pause/1"))
    assert (again.id, again.checkpoint) == (stop.id, head.id)
    assert store.save(node="end", step=2, state=STATE).id != head.id


def test_a_read_stands_on_whatever_is_saved(keeper: Keeper) -> None:
    first = saved(keeper.store)
    stop = keeper.store.pause(key="a", snapshot=first, proposals=asked("read"))
    later = keeper.store.save(node="work", step=1, state=STATE)
    assert keeper.store.pause(key="a", snapshot=later, proposals=asked("read")) == stop


def test_the_ledger_has_what_was_recorded_since_a_step(keeper: Keeper) -> None:
    store = keeper.store
    snapshot = saved(store)
    for step in (0, 1, 2):
        store.keep(f"{step}/act/x/1", Kept(digest="d", value=f"{step}"))
        place = f"{step}/act/pause/1"
        store.pause(key=place, snapshot=snapshot, proposals=asked("read", key=place))
    store.keep("other", Kept(digest="d", value="9"))
    everything = store.ledger(0)
    assert sorted(everything.records) == ["0/act/x/1", "1/act/x/1", "2/act/x/1"]
    assert sorted(everything.calls) == [f"{n}/act/pause/1.0" for n in range(3)]
    late = keeper.over().ledger(2)
    assert late.records == {"2/act/x/1": Kept(digest="d", value="2")}
    assert late.calls["2/act/pause/1.0"].state == "allowed"
    assert late.places() == {"2/act/x/1", "2/act/pause/1"}


def test_the_ledger_does_not_depend_on_when_a_worker_thinks_it_wrote(cast: Cast, hosted: Hosted) -> None:
    """A worker whose clock was an hour ahead asked in the step before."""
    keeper = InDatabase(hosted)
    snapshot = saved(keeper.store)
    for step in (0, 1):
        place = f"{step}/act/pause/1"
        keeper.store.pause(key=place, snapshot=snapshot, proposals=asked("read", key=place))
    early = ToolCall.objects.filter(call_id__startswith="0/")
    assert early.update(created_at=F("created_at") + timedelta(hours=1)) == 1
    assert list(keeper.over().ledger(1).calls) == ["1/act/pause/1.0"]


def test_the_nearest_snapshot_before_a_step(keeper: Keeper) -> None:
    store = keeper.store
    assert store.nearest(5) is None
    by_step = {step: store.save(node="work", step=step, state=STATE) for step in (0, 4, 5, 9)}
    assert [(store.nearest(step) or by_step[0]).step for step in (0, 3, 4, 8, 99)] == [0, 0, 4, 5, 9]
    assert store.nearest(6) == by_step[5]


def test_who_sleeps_holds_nothing_and_is_woken(keeper: Keeper) -> None:
    saved(keeper.store)
    assert keeper.store.sleep(until="2020-01-01T00:00:00+00:00")
    keeper.store.heartbeat()  # that time had come, and nothing changed
    assert not keeper.store.sleep(until=(datetime.now(UTC) + timedelta(minutes=30)).isoformat())
    with pytest.raises(Fenced):
        keeper.store.heartbeat()
    store = keeper.over()
    assert store.save(node="end", step=1, state=STATE).step == 1
    store.finish(result="1")
    assert keeper.ended() == "succeeded"


def test_what_an_attempt_got_is_there_for_the_next(keeper: Keeper) -> None:
    snapshot, stop = paused(keeper, "read")
    keeper.store.consume(stop.calls[0], facts={})
    keeper.store.progress(stop.calls[0], partial='{"rows":40}')
    call = keeper.over().pause(key="a", snapshot=snapshot, proposals=asked("read")).calls[0]
    assert call.partial == '{"rows":40}'


LOOK = PlanStep(id="look", title="Look", steps=(PlanStep(id="photo", title="The photo"),))
PAY = PlanStep(id="pay", title="Pay")


def statuses(plan: Plan | None) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    todo = list(plan.steps) if plan else []
    while todo:
        step = todo.pop()
        found[step.id] = step.status
        todo += step.steps
    return found


def test_a_plan_is_written_in_versions_and_marked(keeper: Keeper) -> None:
    store = keeper.store
    assert store.plan() is None
    with pytest.raises(PlanChanged):
        store.mark_step(step="look", status="done", note="")
    first = Intent(steps=[LOOK, PAY], assumptions={"late": "It is too late"})
    assert store.write_plan(key="1/pay/plan.write/1", intent=first, base=0) == 1
    store.mark_step(step="photo", status="done", note="sharp")
    store.mark_step(step="photo", status="done", note="sharp")
    store.mark_step(step="look", status="running", note="")
    plan = store.plan()
    assert plan is not None
    assert (plan.version, dict(plan.assumptions)) == (1, {"late": "It is too late"})
    assert statuses(plan) == {"look": "running", "photo": "done", "pay": "pending"}
    second = Intent(steps=[PAY, LOOK], contradicted="late", because="It is not")
    assert store.write_plan(key="1/pay/plan.write/2", intent=second, base=None) == 2
    assert statuses(store.plan()) == {"look": "running", "photo": "done", "pay": "pending"}
    assert [step.id for step in (store.plan() or pytest.fail("no plan")).steps] == ["pay", "look"]


def test_the_same_key_finds_the_same_version_also_in_another_process(keeper: Keeper) -> None:
    first = Intent(steps=[LOOK])
    assert keeper.store.write_plan(key="a", intent=first, base=0) == 1
    assert keeper.store.write_plan(key="b", intent=Intent(steps=[PAY], failures=2), base=1) == 2
    again = keeper.over()
    assert again.write_plan(key="a", intent=first, base=0) == 1
    with pytest.raises(ReplayDiverged):
        again.write_plan(key="a", intent=Intent(steps=[PAY]), base=0)
    assert (again.plan() or pytest.fail("no plan")).version == 2


def test_a_plan_that_has_changed_is_reported(keeper: Keeper) -> None:
    store = keeper.store
    store.write_plan(key="a", intent=Intent(steps=[LOOK]), base=None)
    store.write_plan(key="b", intent=Intent(steps=[PAY], because="shorter"), base=1)
    with pytest.raises(PlanChanged):
        store.write_plan(key="c", intent=Intent(steps=[LOOK], because="longer"), base=1)
    with pytest.raises(PlanChanged):
        store.mark_step(step="look", status="done", note="")
    store.mark_step(step="pay", status="done", note="")
    with pytest.raises(GraphError):
        store.mark_step(step="pay", status="running", note="")


def test_who_gave_the_branch_up_plans_nothing_more(keeper: Keeper) -> None:
    keeper.store.write_plan(key="a", intent=Intent(steps=[LOOK]), base=None)
    paused(keeper)
    with pytest.raises(Fenced):
        keeper.store.write_plan(key="b", intent=Intent(steps=[PAY], because="x"), base=None)
    with pytest.raises(Fenced):
        keeper.store.mark_step(step="look", status="done", note="")


def test_after_the_end_nothing_is_written(keeper: Keeper) -> None:
    saved(keeper.store)
    keeper.store.finish(result='{"done":1}')
    assert keeper.ended() == "succeeded"
    with pytest.raises(Fenced):
        saved(keeper.store)


def test_a_failed_branch_has_ended(keeper: Keeper) -> None:
    keeper.store.fail(error="broken")
    assert keeper.ended() == "failed"


def test_who_lost_the_branch_writes_nothing_more(keeper: Keeper) -> None:
    snapshot = saved(keeper.store)
    late, store = keeper.store, keeper.over()
    if late is store:
        pytest.skip("one process only")
    with pytest.raises(Fenced):
        late.save(node="work", step=1, state=STATE)
    with pytest.raises(Fenced):
        late.pause(key="b", snapshot=snapshot, proposals=asked("read", key="b"))
    with pytest.raises(Fenced):
        late.keep("x", Kept(digest="d", value="1"))
    with pytest.raises(Fenced):
        late.finish(result="1")
    with pytest.raises(Fenced):
        late.heartbeat()
    assert store.load().snapshot == snapshot


def test_a_snapshot_knows_what_it_was_saved_as(keeper: Keeper) -> None:
    assert saved(keeper.store).written_as is None
    first = WrittenAs(name="payer", version=1)
    keeper.store.declare(Declaration(written_as=first, schema='{"type":"object"}'))
    later = keeper.store.save(node="work", step=1, state=STATE)
    assert later.written_as == first
    assert keeper.store.load().snapshot == later
    keeper.store.declare(Declaration(written_as=first, schema='{"type":"object"}'))
    with pytest.raises(GraphError):
        keeper.store.declare(Declaration(written_as=first, schema='{"type":"array"}'))


@pytest.mark.parametrize("checkpoints", ["unit", "events"])
def test_the_engine_goes_through_and_every_state_can_be_rebuilt(keeper: Keeper, checkpoints: str) -> None:
    world = World()
    graph = make(world, checkpoints=checkpoints)
    assert run(graph, keeper.store) == "paused"
    keeper.decide("approve")
    store = keeper.over()
    assert run(graph, store) == "finished"
    assert world.done == [("read", "8812"), ("pay", "10.00"), ("mail", "paid")]
    assert keeper.ended() == "succeeded"
    assert [rebuild(graph, store, step).steps for step in (0, 1, 2)] == [[], ["look"], ["look", "refund"]]
    assert (len(world.done), world.models) == (3, 1)


def test_acts_are_asked_for_and_their_approval_used_once(keeper: Keeper) -> None:
    keeper.gate("rh.plan", "rh.step/work")
    assert keeper.store.enter(node="look", step=0) is None
    entry = keeper.store.enter(node="work", step=0)
    assert entry == '{"inside_plan":false,"node":"work","step":0}'
    intent, at = Intent(steps=(LOOK, PAY), assumptions={"late": "It is late"}), saved(keeper.store)
    with pytest.raises(ApprovalNeeded) as needed:
        keeper.store.write_plan(key="a", intent=intent, base=None)
    assert planned(needed.value.arguments) == (0, intent)
    ask = act(needed.value)
    keeper.store.pause(key="p", snapshot=at, proposals=[ask])
    keeper.decide("approve")
    store = keeper.over()
    (call,) = store.pause(key="p", snapshot=at, proposals=[ask]).calls
    permit = store.consume(call, facts={})
    assert permit.arguments == needed.value.arguments
    with pytest.raises(ReplayDiverged):  # what was approved is another plan
        store.write_plan(key="c", intent=replace(intent, because="else"), base=0, call=call.id)
    assert store.write_plan(key="b", intent=intent, base=0, call=call.id) == 1
    assert store.write_plan(key="b", intent=intent, base=0, call=call.id) == 1
    store.outcome(call, attempt=permit.attempt, status="succeeded", result='{"version":1}')
    with pytest.raises(ApprovalNeeded) as needed:
        store.finish(result='{"paid":1.50}')
    assert needed.value.tool == "rh.finish"
    ask = act(needed.value)
    store.pause(key="e", snapshot=at, proposals=[ask])
    keeper.decide("approve")
    store = keeper.over()
    (call,) = store.pause(key="e", snapshot=at, proposals=[ask]).calls
    permit = store.consume(call, facts={})
    with pytest.raises(ReplayDiverged):  # what was approved is another end
        store.finish(result='{"paid":15.00}', call=call.id)
    store.finish(result='{"paid":1.50}', call=call.id)
    store.outcome(call, attempt=permit.attempt, status="succeeded", result="null")
    assert keeper.ended() == "succeeded"


def act(needed: ApprovalNeeded) -> Proposal:
    return Proposal(key=f"{needed.tool}.0", tool=needed.tool, arguments=needed.arguments, effect="idempotent")


def child(keeper: Keeper, key: str = "1/gather/child:reader/1", page: str = "a") -> str:
    keeper.store.start_child(key=key, graph="reader", given=f'{{"page":"{page}"}}', title="A page")
    return key


def test_a_child_is_started_once_under_its_key(keeper: Keeper) -> None:
    saved(keeper.store)
    key = child(keeper)
    assert child(keeper) == key
    with pytest.raises(ReplayDiverged):
        child(keeper, page="b")
    keeper.end_child(key, {"text": "read"})
    assert [end.child for end in keeper.store.wait_for(None) or ()] == [key]


def test_a_branch_that_waits_for_children_is_given_up_until_they_have_ended(keeper: Keeper) -> None:
    saved(keeper.store)
    keys = [child(keeper, f"1/gather/child:reader/{number}") for number in (1, 2)]
    keeper.end_child(keys[0], None)
    assert keeper.store.wait_for(keys[:1]) == [ChildEnd(child=keys[0], outcome="done", result="null")]
    assert keeper.store.wait_for(keys) is None
    with pytest.raises(Fenced):
        saved(keeper.store)
    keeper.end_child(keys[1], {"n": 1})
    ends = keeper.over().wait_for(keys[::-1])
    assert [(end.child, end.outcome, end.result) for end in ends or ()] == [
        (keys[1], "done", '{"n":1}'),
        (keys[0], "done", "null"),
    ]


def test_nobody_waits_for_a_child_that_was_never_started(keeper: Keeper) -> None:
    saved(keeper.store)
    assert keeper.store.wait_for(None) == []
    with pytest.raises(GraphError):
        keeper.store.wait_for(["1/gather/child:reader/9"])
