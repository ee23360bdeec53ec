"""The gate for plain Python functions: what is decorated runs only as approved, and once.

    @requires_review(client=client, tool="payments.refund", effect="once")
    def refund(order_id: str, amount: Decimal) -> str: ...

A call of `refund` stops until policy or a person has decided. Then it runs with exactly the granted arguments,
edited ones too, and its outcome is recorded: what it returned, or that it raised. It is never run twice. When it may
not run, `Denied` is raised (`Answered` when a reviewer answered in its place).

Works for `def` with a `Client` and for `async def` with an `AsyncClient`. The arguments must be JSON values (Decimal
is fine); anything else is refused with its path before anybody is asked. Calls made inside `with review_run(client):`
belong to one run, one after the other; any other call gets a run of its own.
"""

from reviewhub_agents.errors import Answered, Denied

from .conversation import Granted
from .decorator import granted, requires_review
from .run import review_run

__all__ = ["Answered", "Denied", "Granted", "granted", "requires_review", "review_run"]
