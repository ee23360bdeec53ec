"""An external agent in plain Python: it asks, waits, does exactly what was allowed, and says how it ended.

REVIEWHUB_URL=http://127.0.0.1:8000 REVIEWHUB_KEY=rh_… python -m reviewhub_agents.demos.external
"""

import os
import sys

from reviewhub_agents import wire
from reviewhub_agents.client import Client
from reviewhub_agents.errors import ReviewHubError

TOOL = "payments.refund_order"
NEEDED = ("REVIEWHUB_URL", "REVIEWHUB_KEY")
TEXT = {"type": "string", "minLength": 1}


def main() -> int:
    """Runs the demo; 0 when it came to its end, also when people refused, else 1 with one line that says why."""
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        print(
            f"{' and '.join(missing)} must be set: the server's address and an agent's key.", file=sys.stderr
        )
        return 1
    try:
        with Client(os.environ["REVIEWHUB_URL"], key=os.environ["REVIEWHUB_KEY"]) as hub:
            register(hub)
            refund(hub)
    except (ReviewHubError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def register(hub: Client) -> None:
    """Says what the tool is. Policy lets only registered tools run unasked; saying the same again changes nothing."""
    schema = {
        "type": "object",
        "properties": {"order_id": TEXT, "amount": TEXT},
        "required": ["order_id", "amount"],
        "additionalProperties": False,
    }
    about = wire.ToolRegister(
        parameters=schema, effect=wire.Effect.ONCE, description="Pays money back for an order."
    )
    hub.register_tool(TOOL, about)


def refund(hub: Client) -> None:
    """One refund: ask, wait, do what was allowed, say how it ended."""
    run = hub.start_run(wire.RunStart(title="Refund for a crushed parcel"))
    proposed = wire.ToolCallIn(
        tool=TOOL,
        arguments={"order_id": "8812", "amount": "1240.00"},
        effect=wire.Effect.ONCE,
        reason="The photo shows a crushed corner.",
    )
    pause = hub.pause(run.id, wire.PauseBody(tool_calls=[proposed]))
    if request := pause.tool_calls[0].request:
        print(f"Waiting for {request.url}", flush=True)
    call = hub.wait(pause.id).tool_calls[0]
    if call.state is wire.CallState.ALLOWED:
        granted = hub.consume(call.id, wire.ConsumeBody(digest=call.digest))
        print(f"Refunding {granted.arguments['amount']} to order {granted.arguments['order_id']}, once.")
        hub.outcome(call.id, wire.OutcomeBody(status=wire.OutcomeStatus.SUCCEEDED, result={"refunded": True}))
    print(call.model_text)
    hub.finish(run.branches[0].id, wire.FinishBody())


if __name__ == "__main__":
    sys.exit(main())
