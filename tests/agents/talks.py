"""Recorded conversations, small ones."""

from typing import Any

BOOK = ("book_reservation", '{"user": "a", "price": 1E2}', '{"reservation_id": "R-2041"}')
SEARCH = ("search_direct_flight", '{"origin": "JFK"}', "[]")
CANCEL = ("cancel_reservation", '{"id": "X"}', "Error: not yours")


def conversation(*calls: tuple[str, str, str]) -> dict[str, Any]:
    """One call a message; every call has the same provider id, as real recordings have it."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    for tool, arguments, result in calls:
        function = {"name": tool, "arguments": arguments}
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": "call_1", "name": tool, "content": result})
    return {"task": 0, "trial": 0, "messages": messages}
