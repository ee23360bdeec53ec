"""An external agent in plain Python: it asks, waits, does exactly what was allowed, and says how it ended.

REVIEWHUB_URL=http://127.0.0.1:8000 REVIEWHUB_KEY=rh_… python -m reviewhub_agents.demos.external
"""

import os

from reviewhub_agents import wire
from reviewhub_agents.client import Client


def main() -> None:
    with Client(os.environ["REVIEWHUB_URL"], key=os.environ["REVIEWHUB_KEY"]) as hub:
        run = hub.start_run(wire.RunStart(title="Refund for a crushed parcel"))
        refund = wire.ToolCallIn(
            tool="payments.refund_order",
            arguments={"order_id": "8812", "amount": "1240.00"},
            effect=wire.Effect.ONCE,
            reason="The photo shows a crushed corner.",
        )
        pause = hub.pause(run.id, wire.PauseBody(tool_calls=[refund]))
        print(f"Waiting for {pause.tool_calls[0].request.url if pause.tool_calls[0].request else 'nobody'}")
        call = hub.wait(pause.id).tool_calls[0]
        if call.state is wire.CallState.ALLOWED:
            granted = hub.consume(call.id, wire.ConsumeBody(digest=call.digest))
            print(f"Refunding {granted.arguments['amount']} to order {granted.arguments['order_id']}, once.")
            hub.outcome(
                call.id, wire.OutcomeBody(status=wire.OutcomeStatus.SUCCEEDED, result={"refunded": True})
            )
        print(call.model_text)
        hub.finish(run.branches[0].id, wire.FinishBody())


if __name__ == "__main__":
    main()
