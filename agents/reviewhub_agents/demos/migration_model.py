"""The migration agent's "model": SQL for a few wishes, in the place of a language model.

Its first proposal for one of them is wrong on purpose, so that the trial on the copy has something to find.
"""

from __future__ import annotations

import json

from reviewhub_agents.runtime.models import Message

SPLIT: tuple[str, ...] = (
    "ALTER TABLE customers ADD COLUMN first_name TEXT",
    "ALTER TABLE customers ADD COLUMN last_name TEXT",
    "UPDATE customers SET first_name = substr(name, 1, instr(name, ' ') - 1), "
    "last_name = substr(name, instr(name, ' ') + 1)",
)
INDEX: tuple[str, ...] = ("CREATE INDEX orders_by_customer ON orders (customer_id)",)
WRONG_DROP: tuple[str, ...] = ("ALTER TABLE customers DROP COLUMN fax_number",)
DROP: tuple[str, ...] = ("ALTER TABLE customers DROP COLUMN fax",)


def answer(messages: list[Message]) -> Message:
    """The next message: a JSON array of statements, or a sentence that says that it knows none."""
    wish = str(messages[0]["content"]).splitlines()[0].lower()
    failed = any("trial failed" in str(message["content"]) for message in messages)
    if "split" in wish and "name" in wish:
        statements = SPLIT
    elif "index" in wish:
        statements = INDEX
    elif "fax" in wish:
        statements = DROP if failed else WRONG_DROP
    else:
        return {"role": "assistant", "content": "I know no migration for that."}
    return {"role": "assistant", "content": json.dumps(statements)}
