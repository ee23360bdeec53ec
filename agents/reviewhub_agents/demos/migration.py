"""A hosted agent that changes a database: it reads the schema, proposes SQL, tries it on a copy, asks, and runs it.

The database is a scratch one of its own (SQLite, in the folder of the demos). What people see before they decide is
what the trial on the copy did; what runs is exactly what was approved, in one transaction that also remembers its key.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field

from reviewhub_agents.demos import migration_model, scratch
from reviewhub_agents.demos.model import chosen
from reviewhub_agents.runtime import END, Context, Graph, ToolError, ToolRun
from reviewhub_agents.runtime.models import Message

TRIES = 3
SAYS = (
    "You write SQLite migrations. Answer with a JSON array of SQL statements and nothing else. Keep every row; "
    "no PRAGMA, no ATTACH, no transactions. When a trial failed you are told why: answer with better statements."
)
Statement = Annotated[str, Field(min_length=1, max_length=4000)]


class ReadSchema(BaseModel):
    """Nothing to say."""


class Migrate(BaseModel):
    """The statements, in order, and the fingerprint of the schema that they were written for."""

    statements: Annotated[list[Statement], Field(min_length=1, max_length=50)]
    schema_hash: str


class Change(BaseModel):
    """What the agent knows: the wish, the schema, the conversation, the statements and what the trial did."""

    wish: str = "Split the customers' name into first and last name."
    schema_hash: str = ""
    messages: list[Message] = []
    statements: list[str] = []
    trial: dict[str, Any] = {}
    failures: int = 0
    result: str = ""


migration = Graph(
    "migration",
    Change,
    version=1,
    description="Proposes SQL for a scratch database, tries it on a copy, and runs it when people agree.",
    model=chosen(migration_model.answer, tools=tuple, says=SAYS),
    result=lambda last: last.result,
)


@migration.step(to=["propose"])
def look(state: Change, ctx: Context[Change]) -> None:
    """Reads the schema."""
    found = ctx.tool("db.schema", {}).value
    state.schema_hash = found["hash"]
    state.messages = [{"role": "user", "content": f"{state.wish}\n\n" + "\n".join(found["tables"])}]


@migration.step(to=["attempt", END])
def propose(state: Change, ctx: Context[Change]) -> str:
    """Asks the model for statements."""
    said = ctx.model(state.messages)
    state.messages.append(said)
    try:
        state.statements = Migrate.model_validate(
            {"statements": json.loads(said["content"]), "schema_hash": ""}
        ).statements
    except ValueError:
        state.result = f"No statements: {said['content']}"
        return END
    return "attempt"


@migration.step(to=["apply", "propose", END])
def attempt(state: Change, ctx: Context[Change]) -> str:
    """Runs the statements on a copy; what fails there is proposed again, a few times."""
    tried = ctx.tool("db.try", {"statements": state.statements, "schema_hash": state.schema_hash})
    if tried.ok:
        state.trial = tried.value
        return "apply"
    state.failures += 1
    state.messages.append({"role": "user", "content": f"The trial failed: {tried.error}"})
    if state.failures < TRIES:
        return "propose"
    state.result = f"Given up after {state.failures} trials: {tried.error}"
    return END


@migration.step(to=[END])
def apply(state: Change, ctx: Context[Change]) -> None:
    """Asks people, and runs what they allow."""
    kept = state.trial["rows_before"] == state.trial["rows_after"]
    check = {
        "name": "Every row is kept",
        "status": "passed" if kept else "failed",
        "detail": f"{state.trial['rows_before']} before, {state.trial['rows_after']} after, on a copy",
    }
    done = ctx.tool(
        "db.migrate",
        {"statements": state.statements, "schema_hash": state.schema_hash},
        reason=state.wish,
        checks=[check],
        facts={"schema": state.schema_hash},
    )
    state.result = (
        f"Migrated: {done.value['tables']}" if done.outcome == "done" else f"Not migrated: {done.outcome}"
    )


@migration.tool("db.schema", effect="read", time_limit=30, tries=3)
def read_schema(args: ReadSchema, run: ToolRun) -> dict[str, Any]:
    """Reads the tables of the scratch database."""
    return {"tables": scratch.tables(), "hash": scratch.schema_hash()}


@migration.tool("db.try", effect="read", time_limit=60, tries=2)
def try_out(args: Migrate, run: ToolRun) -> dict[str, Any]:
    """Runs statements on a copy in memory and says what they did."""
    try:
        return scratch.tried(args.statements)
    except scratch.BadStatement as error:
        raise ToolError(str(error)) from error


@migration.tool(
    "db.migrate",
    effect="idempotent",
    time_limit=60,
    tries=2,
    sentence="Run {statements} on the scratch database",
)
def migrate(args: Migrate, run: ToolRun) -> dict[str, Any]:
    """Runs statements on the scratch database, all or none, once per key however often it is tried."""
    try:
        new = scratch.migrated(args.statements, schema_hash=args.schema_hash, key=run.idempotency_key)
    except scratch.BadStatement as error:
        raise ToolError(str(error)) from error
    return {"new": new, "tables": len(scratch.tables())}
