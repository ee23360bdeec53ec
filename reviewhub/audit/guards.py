"""Which rows the database itself keeps from being changed or removed, and what may become of them all the same.

One list for both databases; `audit.triggers` makes triggers of it, `audit.roles` what the application's role may do.
Tables of the apps above are named as text: the audit app does not import them.

Some rows may go one day. The guard lets each go only while a removal of its run is under way, which is a row in a
ledger that is guarded itself and that cannot be committed before it is complete (`checkpoints.models.Removal`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ANYTHING: Final = "1 = 1"
"""The `unless` of rows that live on and change: all that is refused is that one goes."""


@dataclass(frozen=True, kw_only=True)
class Guard:
    """One table whose rows are never changed and never removed, or, with `unless` ANYTHING, never removed.

    `keys` are the columns of its primary key and of each unique constraint, with spaces between, and ` WHERE ` with its
    condition for one that has any. On SQLite an INSERT OR
    REPLACE takes away the row that has one of them, and no trigger of a DELETE fires on a connection without the pragma
    recursive_triggers, which anybody's program is. So an INSERT of a key that is there is refused before.

    `unless` is an SQL condition over OLD and NEW, one text for both databases or one for each: an UPDATE for which
    it is true passes. `may_go` is one over OLD, for a DELETE. `as_it_is` is one over NEW: an INSERT for which it is
    not true is refused.
    """

    table: str
    keys: tuple[str, ...]
    unless: str | Mapping[str, str] = ""
    may_go: str = ""
    as_it_is: str = ""

    def passes(self, vendor: str) -> str:
        """`unless` as this database has it."""
        return self.unless if isinstance(self.unless, str) else self.unless[vendor]


# What an event says is emptied by another one that names it, in the same workspace. A hold of its run bars that.
# The list is read as JSON, each database in its own words: a reason may say whatever it likes.
_NAMED: Final = {
    "postgresql": "p.body::jsonb #> '{data,event_ids}' @> to_jsonb(OLD.event_id)",
    "sqlite": "EXISTS (SELECT 1 FROM json_each(p.body, '$.data.event_ids') n WHERE n.value = OLD.event_id)",
}
_ERASURE: Final = {
    vendor: (
        "OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.event_id = OLD.event_id"  # noqa: S608  all of it is here
        " AND length(NEW.salt) = 0 AND NEW.actor_name = '' AND NEW.sentence = '' AND NEW.body = ''"
        " AND NEW.arguments = ''"
        " AND EXISTS (SELECT 1 FROM audit_event e JOIN audit_event by_one ON by_one.workspace_id = e.workspace_id"
        " JOIN audit_eventpayload p ON p.event_id = by_one.id"
        " WHERE e.id = OLD.event_id AND by_one.id = NEW.erased_by AND by_one.kind = 'audit.erased'"
        f" AND {named} AND NOT EXISTS (SELECT 1 FROM checkpoints_hold h WHERE h.run_id = e.run_id))"
    )
    for vendor, named in _NAMED.items()
}

# A blob's bytes go to a blob store, and the row says where; or they come back. They are never in neither.
_MOVED: Final = (
    "NEW.run_id = OLD.run_id AND NEW.hash = OLD.hash"
    " AND ((OLD.data IS NOT NULL AND NEW.data IS NULL AND NEW.location IS NOT NULL AND NEW.size IS NOT NULL)"
    " OR (OLD.data IS NULL AND NEW.data IS NOT NULL AND NEW.location IS NOT NULL"
    " AND NEW.location = OLD.location AND NEW.size = OLD.size))"
)
# Damaged bytes are replaced by those whose hash it is. The database sees to that itself, so they come uncompressed,
# after the byte that says so. SQLite has no SHA-256; Django lends it one, and no UPDATE of another program passes.
_HASHED: Final = {
    "postgresql": "substr(NEW.data, 1, 1) = '\\x00'::bytea AND sha256(substr(NEW.data, 2)) = OLD.hash",
    # IS, since a part of nothing is NULL here, and a guard that does not know lets pass.
    "sqlite": "substr(NEW.data, 1, 1) IS x'00'"
    " AND sha256(CAST(substr(NEW.data, 2) AS TEXT)) IS lower(hex(OLD.hash))",
}
_BLOB_CHANGES: Final = {
    vendor: f"({_MOVED}) OR (NEW.run_id = OLD.run_id AND NEW.hash = OLD.hash AND NEW.data IS NOT NULL"
    " AND OLD.data IS NOT NULL AND coalesce(NEW.location, '') = coalesce(OLD.location, '')"
    f" AND coalesce(NEW.size, -1) = coalesce(OLD.size, -1) AND {hashed})"
    for vendor, hashed in _HASHED.items()
}
# The run's open removal; r.end_id names a row that is not there yet, which no commit lets pass. A hold bars it.
_REMOVAL: Final = (
    "FROM checkpoints_removal r WHERE r.run_id = OLD.run_id"
    " AND NOT EXISTS (SELECT 1 FROM checkpoints_removalend e WHERE e.id = r.end_id)"
    " AND NOT EXISTS (SELECT 1 FROM checkpoints_hold h WHERE h.run_id = OLD.run_id)"
)
_BLOB_GOES: Final = f"EXISTS (SELECT 1 {_REMOVAL})"
_MARK_GOES: Final = _BLOB_GOES.replace(
    "OLD.run_id", "(SELECT v.run_id FROM plans_planversion v WHERE v.id = OLD.version_id)"
)
_TOMBSTONE: Final = (
    "t.id = OLD.id AND t.branch_id = OLD.branch_id"
    " AND t.number = OLD.number AND t.state_hash = OLD.state_hash"
)
_CHECKPOINT_GOES: Final = (
    f"EXISTS (SELECT 1 {_REMOVAL}"  # noqa: S608  all of it is written above
    f" AND EXISTS (SELECT 1 FROM checkpoints_tombstone t WHERE t.removal_id = r.id AND {_TOMBSTONE}))"
)


def _emptied(run: str, empty: dict[str, str], same: str) -> str:
    """An UPDATE that sets exactly these columns to these values, while an erasure of the row's run is under way.

    Args:
        run: an SQL expression over OLD for the id of the run.
        same: the other columns, separated by spaces.
    """
    values = [f"NEW.{name} {'IS' if value == 'NULL' else '='} {value}" for name, value in empty.items()]
    kept = [
        f"(NEW.{name} = OLD.{name} OR (NEW.{name} IS NULL AND OLD.{name} IS NULL))" for name in same.split()
    ]
    removal = _REMOVAL.replace("OLD.run_id", run)
    return " AND ".join([*values, *kept, f"EXISTS (SELECT 1 {removal} AND r.kind = 'erasure')"])


def _renamed(name: str, whose: str, same: str) -> str:
    """An UPDATE that puts an invented name where the name of somebody stands who was erased.

    Args:
        name: the column of the name.
        whose: that of their id.
        same: the other columns, separated by spaces.
    """
    kept = [
        f"(NEW.{one} = OLD.{one} OR (NEW.{one} IS NULL AND OLD.{one} IS NULL))"
        for one in (whose, *same.split())
    ]
    erased = (
        f"EXISTS (SELECT 1 FROM audit_event e WHERE e.kind = 'member.erased' AND e.subject_id = OLD.{whose})"  # noqa: S608
    )
    return " AND ".join([f"NEW.{name} LIKE 'Erased person ________'", *kept, erased])


_CALL: Final = "(SELECT c.run_id FROM toolcalls_toolcall c WHERE c.id = OLD.tool_call_id)"
_VERSION_EMPTIED: Final = _emptied(
    _CALL,
    {"arguments": "'{}'", "changes": "'[]'"},
    "id tool_call_id version digest likeness author_kind author_id author_name created_at",
)
_DECISION_EMPTIED: Final = _emptied(
    _CALL,
    {"message": "''", "note": "''", "value": "NULL"},
    "id workspace_id tool_call_id request_id type version digest by_kind by_id by_name policy_version decided_at",
)
_PLAN_EMPTIED: Final = _emptied(
    "OLD.run_id",
    {
        "content": """'{"assumptions":[],"steps":[]}'""",
        "statuses": "'{}'",
        "assumption": "''",
        "reason": "''",
    },
    "id workspace_id run_id branch_id number base restores why_kind failures author_kind author_name created_at",
)
_MARK_EMPTIED: Final = _emptied(
    "(SELECT p.run_id FROM plans_planversion p WHERE p.id = OLD.version_id)",
    {"step": "''", "note": "''"},
    "version_id number status created_at",
)
_VOTE: Final = (
    "id request_id member_id name verdict version digest reason seats for_teams in_place_of created_at"
)
_VOTE_EMPTIED: Final = _emptied(
    "(SELECT q.run_id FROM reviews_reviewrequest q WHERE q.id = OLD.request_id)",
    {"message": "''", "note": "''"},
    f"{_VOTE} voided_at voided_because",
)
_VOTE_RENAMED: Final = _renamed(
    "name",
    "member_id",
    f"{_VOTE} message note voided_at voided_because".replace(" member_id name ", " "),
)
_VERSION_RENAMED: Final = _renamed(
    "author_name",
    "author_id",
    "id tool_call_id version arguments changes digest likeness author_kind created_at",
)
_DECISION_RENAMED: Final = _renamed(
    "by_name",
    "by_id",
    "id workspace_id tool_call_id request_id type version digest message note value by_kind policy_version decided_at",
)
# A vote that is void stays so, and what it said stays, too.
_VOTE_VOIDED: Final = " AND ".join(
    [
        "OLD.voided_at IS NULL AND NEW.voided_at IS NOT NULL",
        *(f"NEW.{name} = OLD.{name}" for name in f"{_VOTE} message note".split()),
    ]
)

# A grant is used once: what it is for never changes, and one that is not open any more stays what it became.
_GRANTED: Final = "id workspace_id tool_call_id decision_id version digest by_policy created_at"
_GRANT_ENDS: Final = " AND ".join(
    [
        "OLD.state = 'open'",
        *(f"NEW.{name} = OLD.{name}" for name in _GRANTED.split()),
    ]
)

# How many checkpoints a removal says went: as many as it has tombstones of, and of none of these the row is there.
_STONES: Final = (
    "FROM checkpoints_removal r JOIN checkpoints_tombstone t ON t.removal_id = r.id WHERE r.end_id = NEW.id"
)
_COUNTED: Final = (
    f"NEW.checkpoints = (SELECT count(*) {_STONES})"  # noqa: S608  all of it is written above
    f" AND NOT EXISTS (SELECT 1 {_STONES}"
    " AND EXISTS (SELECT 1 FROM checkpoints_checkpoint c WHERE c.id = t.id))"
)

GUARDS: Final = (
    Guard(table="audit_event", keys=("id",)),
    Guard(table="audit_eventpayload", keys=("event_id",), unless=_ERASURE),
    Guard(table="audit_position", keys=("event_id", "workspace_id position")),
    Guard(table="audit_seal", keys=("id", "workspace_id number", "workspace_id last")),
    Guard(table="audit_sealkey", keys=("public", "number")),
    Guard(table="checkpoints_blob", keys=("run_id hash",), unless=_BLOB_CHANGES, may_go=_BLOB_GOES),
    Guard(table="checkpoints_checkpoint", keys=("id", "branch_id number"), may_go=_CHECKPOINT_GOES),
    Guard(table="checkpoints_removal", keys=("id", "end_id")),
    Guard(table="checkpoints_removalend", keys=("id",), as_it_is=_COUNTED),
    Guard(table="checkpoints_stateschema", keys=("id", "agent_id name version")),
    Guard(table="checkpoints_tombstone", keys=("id", "branch_id number")),
    Guard(
        table="plans_planversion",
        keys=("id", "run_id number", "branch_id base"),
        unless=_PLAN_EMPTIED,
        may_go=_BLOB_GOES,
    ),
    Guard(table="plans_stepmark", keys=("version_id number",), unless=_MARK_EMPTIED, may_go=_MARK_GOES),
    Guard(table="policies_knowntool", keys=("id", "version_id agent_id name")),
    Guard(table="policies_policyversion", keys=("id", "workspace_id number")),
    Guard(table="reviews_comment", keys=("id",), unless=ANYTHING),
    Guard(table="reviews_followup", keys=("id", "post_review_id kind WHERE state = 'open'"), unless=ANYTHING),
    Guard(table="reviews_postreview", keys=("id", "tool_call_id"), unless=ANYTHING),
    Guard(table="reviews_question", keys=("id",), unless=ANYTHING),
    Guard(
        table="reviews_reviewrequest",
        keys=("id", "workspace_id number", "tool_call_id WHERE state = 'pending'"),
        unless=ANYTHING,
    ),
    Guard(table="runs_branch", keys=("id", "run_id name"), unless=ANYTHING),
    Guard(table="runs_run", keys=("id", "agent_id external_id WHERE external_id <> ''"), unless=ANYTHING),
    Guard(table="standing_standingapproval", keys=("id", "tool_call_id"), unless=ANYTHING),
    Guard(table="standing_standinguse", keys=("id", "tool_call_id", "standing_id number")),
    Guard(
        table="reviews_review",
        keys=("id", "request_id member_id WHERE voided_at IS NULL"),
        unless=f"({_VOTE_VOIDED}) OR ({_VOTE_EMPTIED}) OR ({_VOTE_RENAMED})",
    ),
    Guard(table="toolcalls_attempt", keys=("id", "tool_call_id number", "tool_call_id key_hash")),
    Guard(
        table="toolcalls_callversion",
        keys=("id", "tool_call_id version"),
        unless=f"({_VERSION_EMPTIED}) OR ({_VERSION_RENAMED})",
    ),
    Guard(
        table="toolcalls_decision",
        keys=("id", "request_id"),
        unless=f"({_DECISION_EMPTIED}) OR ({_DECISION_RENAMED})",
    ),
    Guard(table="toolcalls_grant", keys=("id", "tool_call_id WHERE state = 'open'"), unless=_GRANT_ENDS),
    Guard(table="toolcalls_pause", keys=("id", "branch_id WHERE state = 'waiting'"), unless=ANYTHING),
    Guard(table="toolcalls_toolcall", keys=("id",), unless=ANYTHING),
    Guard(table="tools_tool", keys=("id", "agent_id name"), unless=ANYTHING),
)
