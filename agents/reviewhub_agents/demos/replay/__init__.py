"""Replays recorded conversations as an external agent: what would people have had to sign off?

    python -m reviewhub_agents.demos.replay runs.jsonl.gz --url http://127.0.0.1:8000

Each conversation (OpenAI message format, one JSON object a line) becomes a run. Tools whose names say that they only
read are recorded as observations, all others pause; when such a call is allowed it is consumed, its result comes from
the recording, and the outcome is recorded. A call that is refused, answered or edited ends that replay: what the
recorded agent did next does not follow from it.

It can be killed at any moment and started again: runs are found by their external id, pauses and observations by keys
made of run and position. What a replayed write does to the world is one line in an append-only file, `effects.jsonl`.
A call that was started by a process that died is reported as unknown, and the replay waits for what people say.
"""
