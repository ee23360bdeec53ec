"""The command line of the replay."""

from __future__ import annotations

import argparse
import json
import logging
import os
import queue
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from reviewhub_agents import wire
from reviewhub_agents.client import Client
from reviewhub_agents.errors import ReviewHubError

from .ledger import Busy, Ledger
from .play import Player
from .recording import BadRecording, Conversation, fingerprint, read

READS = "get_*,list_*,search_*,find_*,read_*,lookup_*,think,calculate,transfer_to_human_agents"
"""Tools that change nothing, by the names that recordings use. What is not among them acts."""
STATE_DIR = "var/replay"


def main(argv: Sequence[str] | None = None) -> int:
    """Replay a file. Prints one JSON object; returns 0 when every conversation ended, else 1 (2: nothing was done)."""
    options = _options(argv)
    logging.basicConfig(format="%(message)s", stream=sys.stderr)
    logging.getLogger("reviewhub_agents").setLevel(logging.INFO)
    try:
        file = Path(options.file)
        name = options.name or f"{file.name.partition('.')[0]}-{fingerprint(file)}"
        found = read(file, name=name, is_write=_is_write(options.reads, options.writes))
        conversations = list(islice(found, options.limit))
        with (
            Ledger(Path(options.state_dir)) as ledger,
            Client(
                options.url, key=options.key, patience=options.patience, connections=options.workers + 10
            ) as client,
        ):
            player = Player(
                client, ledger, pause_reads=options.pause_reads, tool_seconds=options.tool_seconds
            )
            _register(client, conversations)
            endings = _play_all(player, conversations, options.workers)
            counts = ledger.counts({conversation.external_id for conversation in conversations})
    except (BadRecording, Busy, OSError, ValueError, ReviewHubError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(_summary(conversations, endings, counts), indent=2))
    unfinished = len(conversations) - sum(not ending.startswith("error") for ending in endings.values())
    return 1 if unfinished else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reviewhub_agents.demos.replay", description=__doc__)
    add = parser.add_argument
    add("file", help="JSON lines of conversations in OpenAI message format, plain or gzipped")
    add("--url", default=os.environ.get("REVIEWHUB_URL"), help="the server (default: $REVIEWHUB_URL)")
    add("--key", default=os.environ.get("REVIEWHUB_KEY"), help="an agent's key (default: $REVIEWHUB_KEY)")
    add("--limit", type=int, help="only the first so many conversations")
    add("--workers", type=int, default=8, help="so many conversations side by side (default: 8)")
    add("--state-dir", default=STATE_DIR, help=f"folder of effects.jsonl (default: {STATE_DIR})")
    add("--name", help="another name starts new runs (default: of file and content)")
    add("--reads", default=READS, help=f"patterns of tools that only read; all others act (default: {READS})")
    add("--writes", default="", help="patterns of tools that act although their names look like reads")
    add("--pause-reads", action="store_true", help="reads pause as well, for policy to let them pass")
    add("--patience", type=float, default=900, help="seconds to go on without an answer (default: 900)")
    add("--tool-seconds", type=float, default=0, help="how long a replayed write takes (default: 0)")
    options = parser.parse_args(argv)
    if not options.url or not options.key:
        parser.error("--url and --key, or REVIEWHUB_URL and REVIEWHUB_KEY, are needed")
    if len(options.name or "") > 100:
        parser.error("--name has at most 100 characters")
    if options.workers < 1 or (options.limit is not None and options.limit < 0):
        parser.error("--workers is at least 1, --limit at least 0")
    return options


def _is_write(reads: str, writes: str) -> Callable[[str], bool]:
    """Whether a tool acts: a pattern of writes says so, or no pattern of reads says otherwise."""

    def matches(tool: str, patterns: str) -> bool:
        return any(fnmatchcase(tool, pattern.strip()) for pattern in patterns.split(","))

    return lambda tool: matches(tool, writes) or not matches(tool, reads)


def _register(client: Client, conversations: Sequence[Conversation]) -> None:
    """Describe the tools of the recordings: one that nobody described always needs approval."""
    steps = (step for conversation in conversations for turn in conversation.turns for step in turn.steps)
    for tool, is_write in sorted({(step.tool, step.is_write) for step in steps}):
        effect = wire.Effect.ONCE if is_write else wire.Effect.READ
        client.register_tool(tool, wire.ToolRegister(effect=effect, description="Replayed from a recording."))


def _play_all(player: Player, conversations: Sequence[Conversation], workers: int) -> dict[str, str]:
    """Play all, some side by side. A conversation that meets an error is left as it is for the next start."""
    endings: dict[str, str] = {}
    left: queue.SimpleQueue[Conversation] = queue.SimpleQueue()
    for conversation in conversations:
        left.put(conversation)

    def work() -> None:
        while True:
            try:
                conversation = left.get_nowait()
            except queue.Empty:
                return
            try:
                ending = player.play(conversation)
            except (ReviewHubError, ValueError) as error:
                ending = f"error: {error}"
            endings[conversation.external_id] = ending
            done = f"{len(endings)}/{len(conversations)}"
            print(
                f"{done} {conversation.external_id} ({conversation.name}): {ending}",
                file=sys.stderr,
                flush=True,
            )

    # Daemons: Ctrl-C ends at once, as hard as a kill would, which is safe by design.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(conversations)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return endings


def _summary(
    conversations: Sequence[Conversation], endings: dict[str, str], counts: dict[str, Any]
) -> dict[str, Any]:
    turns = [turn for conversation in conversations for turn in conversation.turns]
    return {
        "runs": len(conversations),
        "ended": dict(Counter(ending.partition(" ")[0].rstrip(":") for ending in endings.values())),
        "recorded_reads": sum(len(turn.some(writes=False)) for turn in turns),
        "recorded_writes": sum(len(turn.some(writes=True)) for turn in turns),
        **counts,
    }


if __name__ == "__main__":
    sys.exit(main())
