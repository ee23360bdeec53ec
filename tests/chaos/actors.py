"""Processes that do what a worker and a person do, and that can be killed: forked from a server that has Django loaded.

`Actor("work", …)` starts one. What it does is the product's own code; only how it finds something to do (by looking
instead of by Celery) and whom it plays are of the tests.
"""

from __future__ import annotations

import multiprocessing
import os
import secrets
import signal
import time
import uuid
from pathlib import Path
from typing import Any

from celery.signals import worker_shutting_down
from django.conf import settings
from django.db import close_old_connections, connections
from reviewhub_agents import canonical, wire
from reviewhub_agents.demos import support_shop, triage_desk

from reviewhub.accounts.models import Member
from reviewhub.celery import app
from reviewhub.core import faults
from reviewhub.core.actors import Actor as By
from reviewhub.core.errors import Conflict
from reviewhub.gates.tasks import sweep_overtime, sweep_unknown
from reviewhub.hosting import tasks as _hosting_tasks  # noqa: F401  # what it does on SIGTERM
from reviewhub.hosting.drain import this_worker
from reviewhub.hosting.rescue import rescue
from reviewhub.hosting.resume import resume
from reviewhub.resumptions.queries import claimable
from reviewhub.reviews.decide import decide
from reviewhub.reviews.models import ReviewRequest
from reviewhub.reviews.tasks import escalate_due, expire_due, remind_due
from reviewhub.toolcalls.models import ToolCall
from tests.chaos import clocks, recorded

LEASE_SECONDS = 3
GRAPHS = {
    "drowsy": "tests.chaos.drowsy:drowsy",
    "every": "tests.chaos.counting:every",
    "milestones": "tests.chaos.counting:milestones",
    "own": "tests.chaos.counting:own",
    "recorded": "tests.chaos.recorded:recorded",
    "slow": "tests.chaos.slow:slow",
}
"""Agents that only the tests host."""
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["pytest", "tests.chaos.stage", __name__])
# The fork server looks for modules here; it does not take over what pytest put into sys.path.
ROOT = Path(__file__).resolve().parent.parent.parent
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "agents")])


class Actor:
    """One process. `fault` is what REVIEWHUB_FAULT would say."""

    def __init__(self, what: str, *, shop: Path, person: uuid.UUID | None = None, fault: str = "") -> None:
        database = connections["default"].settings_dict
        self.what, self.shop, self.person, self.fault = what, shop, person, fault
        self.process = _server.Process(
            target=_main, args=(what, str(database["NAME"]), str(shop), fault, person), daemon=True
        )
        self.process.start()

    @property
    def dead(self) -> bool:
        """Whether it was killed, or told to stop and ended cleanly. One that failed is an error of the test."""
        code = self.process.exitcode
        ending = 0 if ":term" in self.fault else -signal.SIGKILL
        assert code in {None, ending}, f"{self.what} failed with {code}"
        return code is not None

    def again(self, fault: str = "") -> Actor:
        """Another process in its place."""
        return Actor(self.what, shop=self.shop, person=self.person, fault=fault)

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.join(10)


def _main(what: str, database: str, shop: str, fault: str, person: uuid.UUID | None) -> None:
    os.environ[support_shop.FOLDER] = shop
    os.environ["REVIEWHUB_FAULT"] = fault
    settings.LEASE_SECONDS = LEASE_SECONDS
    settings.RESUME_ATTEMPTS = 1000
    settings.HOSTED_GRAPHS = {**settings.HOSTED_GRAPHS, **GRAPHS}
    app.conf.update(broker_url="memory://", broker_transport_options={})
    connections["default"].settings_dict["NAME"] = database
    clocks.follow(Path(shop))
    signal.signal(signal.SIGTERM, _stop)
    faults.arm_from_environment()
    act = {"work": _work, "decide": _decide, "sweep": _sweep}[what]
    while not this_worker.is_on:
        act(person)
        close_old_connections()
        time.sleep(0.02)


def _stop(number: int, _: object) -> None:
    """What Celery says when its worker gets SIGTERM; it waits for the tasks that run, as the loop does."""
    worker_shutting_down.send(sender="actor", sig=signal.Signals(number).name, how="Warm", exitcode=0)


def _work(_: uuid.UUID | None) -> None:
    for pk in list(claimable().values_list("pk", flat=True)[:5]):
        resume(resumption_id=pk, owner=f"worker {os.getpid()}")
    sweep_unknown()


def _sweep(_: uuid.UUID | None) -> None:
    """What beat starts: whatever is due by now."""
    for due in (expire_due, escalate_due, remind_due, rescue, sweep_overtime):
        due()


def _decide(person: uuid.UUID | None) -> None:
    member = Member.objects.select_related("person").get(pk=person)
    by = By(kind="person", id=member.pk, name=member.person.name, source="page")
    for row in ReviewRequest.objects.filter(state="pending").order_by("number")[:5]:
        tree = _answer(row)
        try:
            decide(
                request_id=row.pk,
                member=member,
                body=wire.DecideBody.from_text(canonical.dumps(tree)),
                body_digest=canonical.body_digest(tree),
                key=secrets.token_hex(8),
                actor=by,
            )
        except Conflict:
            continue  # The tool's own word, or another decider, was quicker.


def _answer(row: ReviewRequest) -> dict[str, Any]:
    """What the person says: by turns all answers there are, and about an unknown outcome what the books say."""
    tree: dict[str, Any] = {"type": "approve", "version": row.version, "digest": row.digest}
    if row.kind == ReviewRequest.Kind.UNKNOWN:
        call = ToolCall.objects.get(pk=row.tool_call_id)
        value = _happened(call)
        return (
            {**tree, "type": "did_not_happen"}
            if value is None
            else {**tree, "type": "happened", "value": value}
        )
    turn = row.run.title
    if turn == "edit":
        change = {"op": "set", "path": "/amount", "value": "1.00"}
        return {**tree, "type": "edit", "changes": [change]}
    if turn == "reject":
        return {**tree, "type": "reject", "message": "Not this time."}
    if turn == "respond":
        return {**tree, "type": "respond", "value": "A new desk top is on its way."}
    return tree


def _happened(call: ToolCall) -> dict[str, Any] | None:
    """What the books say of a call whose outcome nobody knows; None where they do not know it."""
    if call.tool_name.startswith("air."):
        return {"did": "looked up"} if call.idempotency_key in recorded.effects() else None
    credit = call.tool_name == "desk.credit"
    paid = triage_desk.credited() if credit else support_shop.refunds()
    amounts = [amount for _, amount, key in paid if key == call.idempotency_key]
    return {"credit" if credit else "payment": 0, "amount": amounts[0]} if amounts else None
