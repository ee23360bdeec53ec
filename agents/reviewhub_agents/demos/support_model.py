"""The support agent's "model": a handful of rules in the place of a language model.

It needs no key and costs nothing, and it says the same every time. It speaks OpenAI's message format, so a real
model can take its place.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from reviewhub_agents.runtime.models import Message

LATE_SHARE = Decimal("0.20")


def answer(messages: list[Message]) -> Message:
    """The next message of the conversation."""
    results = [message for message in messages if message["role"] == "tool"]
    if not results:
        return _look_up(str(messages[-1]["content"]))
    last = results[-1]
    content = json.loads(str(last["content"]))
    if last["name"] == "shop.read_order":
        return _judge(content, str(_said_by("user", messages)))
    order = json.loads(str(results[0]["content"]))["result"]
    if last["name"] == "shop.refund":
        return _write(content, order)
    if last["name"] == "shop.move":
        return _write_about_move(content, order)
    return {"role": "assistant", "content": _summary(results)}


def _look_up(wish: str) -> Message:
    found = re.search(r"\b(\d{4})\b", wish)
    if found is None:
        return {
            "role": "assistant",
            "content": "Which order is this about? I found no number in the message.",
        }
    return _call("shop.read_order", order_id=found[1])


def _judge(content: dict[str, Any], wish: str) -> Message:
    order = content.get("result")
    if not isinstance(order, dict) or "paid" not in order:
        return {
            "role": "assistant",
            "content": f"I could not look the order up: {order or content['message']}",
        }
    paid = Decimal(order["paid"])
    elsewhere = re.search(r"\bto (\d+ [A-Z][^.,;\n]{2,80})", wish)
    if elsewhere and order["arrived"] == "not yet":
        reason = "The customer asks for it, and it has not arrived."
        return _call("shop.move", order_id=order["id"], address=elsewhere[1].strip(), reason=reason)
    wants = re.search(r"\$\s?(\d+(?:\.\d\d)?)", wish)
    if "crushed" in order["arrived"]:
        amount = Decimal(wants[1]) if wants else paid
        reason = f"{order['item']} arrived {order['arrived']}; the customer wants the money back."
    elif "late" in order["arrived"]:
        amount = (paid * LATE_SHARE).quantize(Decimal("0.01"))
        reason = f"{order['item']} arrived {order['arrived']}; a fifth of the price makes up for it."
    else:
        text = f"{order['item']} arrived {order['arrived']} and undamaged: nothing to refund."
        return {"role": "assistant", "content": text}
    return _call("shop.refund", order_id=order["id"], amount=str(amount), reason=reason)


def _write(content: dict[str, Any], order: dict[str, Any]) -> Message:
    if content["outcome"] == "done":
        body = f"we have paid {content['result']['amount']} back to you for order {order['id']}."
        subject = f"Your refund for order {order['id']}"
    elif content["outcome"] == "answered":
        body = str(content["result"])
        subject = f"About order {order['id']}"
    else:
        body = (
            f"we have looked at order {order['id']} again and cannot refund it. {content['message']}".strip()
        )
        subject = f"About order {order['id']}"
    return _call("mail.send", to=order["email"], subject=subject, body=f"Dear {order['customer']},\n\n{body}")


def _write_about_move(content: dict[str, Any], order: dict[str, Any]) -> Message:
    if content["outcome"] == "done":
        body = f"order {order['id']} goes to {content['result']['address']} now."
    else:
        body = f"order {order['id']} goes to {order['address']} as before. {content['message']}".strip()
    subject = f"The address of order {order['id']}"
    return _call("mail.send", to=order["email"], subject=subject, body=f"Dear {order['customer']},\n\n{body}")


def _summary(results: list[Message]) -> str:
    said = [json.loads(str(message["content"])) for message in results]
    paid = next((one["result"]["amount"] for one in said if "payment" in (one.get("result") or {})), None)
    moved = next((one["result"]["address"] for one in said if "before" in (one.get("result") or {})), None)
    what = f"Refunded {paid}" if paid else f"Goes to {moved}" if moved else "Nothing was refunded"
    if not (paid or moved) and any(one["name"] == "shop.move" for one in results):
        what = "The address stays"
    return f"{what}; the customer {'knows' if said[-1]['outcome'] == 'done' else 'was not told'}."


def _said_by(role: str, messages: list[Message]) -> Any:
    return next(message["content"] for message in messages if message["role"] == role)


def _call(tool: str, **arguments: str) -> Message:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{tool}", "type": "function", "function": function}],
    }
