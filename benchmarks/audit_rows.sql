-- Fills an empty, migrated database with events whose leaves are right: :events of one workspace, spread over a year.
-- The guards and the indexes have to be away meanwhile. Called by audit.py, which puts the numbers in.
INSERT INTO audit_event (id, workspace_id, kind, at, xid, leaf, actor_kind, actor_id, tool, run_id, pause_id,
    request_id, agent_id, subject_id)
SELECT :first + n, :'workspace'::uuid, kind, at, 0, '\x00', actor_kind, actor_id, tool, run_id, NULL, request_id,
    agent_id, subject_id
FROM (
    SELECT n,
        (ARRAY['call.allowed', 'call.started', 'call.ended', 'pause.opened', 'request.opened', 'request.voted',
            'request.decided', 'run.started', 'run.ended', 'request.claimed'])[1 + (n % 10)::int] AS kind,
        timestamptz '2026-01-01 00:00:00+00' + n * (interval '1 year' / :events) AS at,
        CASE WHEN n % 10 IN (5, 6, 9) THEN 'person' WHEN n % 1009 = 0 THEN 'timeout' ELSE 'agent' END AS actor_kind,
        CASE WHEN n % 10 IN (5, 6, 9)
            THEN ('00000000-0000-7000-8000-' || lpad(to_hex(n / 10 * 7919 % 200), 12, '0'))::uuid
            ELSE ('00000000-0000-7000-9000-' || lpad(to_hex(n / 20 * 104729 % 50), 12, '0'))::uuid END AS actor_id,
        CASE WHEN n % 10 < 7 AND n % 10 <> 3 THEN 'tool.' || (n / 10 * 31 % 300) ELSE '' END AS tool,
        ('00000000-0000-7000-a000-' || lpad(to_hex((:first + n) / 20), 12, '0'))::uuid AS run_id,
        CASE WHEN n % 10 IN (4, 5, 6, 9)
            THEN ('00000000-0000-7000-b000-' || lpad(to_hex((:first + n) / 10), 12, '0'))::uuid END AS request_id,
        ('00000000-0000-7000-9000-' || lpad(to_hex(n / 20 * 104729 % 50), 12, '0'))::uuid AS agent_id,
        CASE WHEN n % 10 IN (0, 1, 2, 4, 6)
            THEN ('00000000-0000-7000-c000-' || lpad(to_hex((:first + n) / 10), 12, '0'))::uuid END AS subject_id
    FROM generate_series(1::bigint, :events) n
) made;

INSERT INTO audit_eventpayload (event_id, salt, actor_name, sentence, body, arguments, erased_at, erased_by)
SELECT id, substr(sha256(convert_to(id::text, 'UTF8')), 1, 16), name, said,
    '{"actor":{"http_request":"","id":"' || actor_id || '","ip":"","kind":"' || actor_kind || '","name":"' || name
    || '","source":"api"},"data":{"digest":"sha256:' || encode(sha256(convert_to(id::text, 'UTF8')), 'hex')
    || '","tool":"' || tool || '"},"refs":{"agent_id":"' || agent_id || '"'
    || CASE WHEN request_id IS NULL THEN '' ELSE ',"request_id":"' || request_id || '"' END
    || ',"run_id":"' || run_id || '"},"sentence":"' || said || '"}',
    arguments, NULL, NULL
FROM (
    SELECT *, CASE actor_kind WHEN 'person' THEN 'Person ' || right(actor_id::text, 3) ELSE 'Agent '
            || right(actor_id::text, 3) END AS name,
        (ARRAY['Refund ', 'Pay out ', 'Send the letter about ', 'Look up ', 'Change the address of '])[1 + (id % 5)::int]
            || (id * 7919 % 100000) || '.00 to order ' || (id / 20) || ' of '
            || (ARRAY['Miller', 'Ochoa', 'Nakamura', 'Okafor', 'Svensson', 'Haddad', 'Kowalski'])[1 + (id / 20 % 7)::int]
            || CASE WHEN id % 99991 = 0 THEN ' because the parcel was crushed' ELSE '' END AS said,
        CASE WHEN id % 10 IN (0, 4, 6) THEN '{"amount":"' || (id * 7919 % 100000) || '.00","order":"' || (id / 20)
            || '","reason":"' || substr(md5(id::text), 1, 12) || '"}' ELSE '' END AS arguments
    FROM audit_event WHERE workspace_id = :'workspace'::uuid
) made;

-- The calls, one to ten events, by the words that they are found by.
INSERT INTO runs_words (workspace_id, run_id, call_id, words)
SELECT :'workspace'::uuid, ('00000000-0000-7000-a000-' || lpad(to_hex(n / 2), 12, '0'))::uuid,
    ('00000000-0000-7000-c000-' || lpad(to_hex(n), 12, '0'))::uuid,
    'tool ' || (n * 31 % 300) || ' agent refund ' || (n::bigint * 10 * 7919 % 100000) || ' 00 to order ' || (n / 2) || ' '
        || substr(md5(n::text), 1, 12)
FROM generate_series(:first / 10, (:first + :events)::bigint / 10 - 1) n;

UPDATE audit_event e SET leaf = sha256(convert_to(E'reviewhub event 1\n', 'UTF8') || uuid_send(e.workspace_id)
    || int2send(length(e.kind)::int2) || convert_to(e.kind, 'UTF8') || int8send((extract(epoch FROM e.at) * 1000000)::bigint)
    || sha256(convert_to(E'reviewhub payload 1\n', 'UTF8') || p.salt || convert_to(p.body, 'UTF8')))
FROM audit_eventpayload p WHERE p.event_id = e.id AND e.workspace_id = :'workspace'::uuid AND :leaves;
