"""On Postgres: the function that appends traces of one tenant in one round trip."""

from typing import Final

from alembic import op

_DAY: Final = 24 * 3600 * 1_000_000

# The arrays have an element for each draft; `kept_ids` is null where no turn is kept. The caller never sends two drafts
# of one session, one trace id or one request id together, so that no draft depends on another beside it.
#
# The row of the tenant's head is the lock: whoever holds it is the only one that appends for this tenant. Each
# statement behind it sees what the one before committed, since a volatile function takes a new snapshot for each.
_ARGUMENTS: Final = """tenant text, trace_ids text[], user_ids text[], session_ids text[], turn_ids text[],
    policies text[], create_times bigint[], bodies bytea[], records bytea[], contents bytea[], request_ids text[],
    kept_ids text[], roles text[], speakers text[], occur_times bigint[], expire_times bigint[],
    turn_contents bytea[], known boolean[]"""

# What is looked up for each draft `d`. Only the parts since a day before the oldest draft are looked at, or each append
# would open all months. Orders and limits are for the planner: in a part that was never analyzed all indexes that begin
# with the tenant look alike, and only the one that ends in the time has the order asked for. The others would be walked
# through, for all that the tenant had that day. (For the same reason a request id is asked for as a range.) A limit
# keeps a look-up from becoming a join, which would do the same. And a part that was vacuumed while it was empty is
# taken for empty until it is analyzed: the function never reads one from end to end.
SAME_TRACE: Final = """SELECT t.* FROM traces t
        WHERE t.tenant_id = tenant AND t.trace_id = d.trace_id AND t.create_time > since
        ORDER BY t.create_time LIMIT 1"""
ANSWER: Final = f"""SELECT true AS found FROM traces t
        WHERE t.tenant_id = tenant AND t.user_id = d.user_id AND t.session_id = d.session_id AND t.turn_id = d.turn_id
        AND t.create_time > since AND t.create_time > d.created - {_DAY}
        ORDER BY t.create_time LIMIT 1"""
CLAIMED: Final = """SELECT r.body_sha256, r.expire_time FROM receipts r WHERE d.request_id <> ''
        AND r.tenant_id = tenant AND r.method = 'AssembleContext'
        AND r.request_id >= d.request_id AND r.request_id <= d.request_id ORDER BY r.request_id LIMIT 1"""
KEPT_TURN: Final = """SELECT u.* FROM turns u
        WHERE u.tenant_id = tenant AND u.user_id = d.user_id AND u.session_id = d.session_id AND u.turn_id = d.kept_id
        AND (u.expire_time IS NULL OR u.expire_time > d.created) LIMIT 1"""

# The order of the cases is the order in which the stores look: a trace that is there already as it was given is done,
# for a caller that did not learn what became of it. 'compare' hands back a turn that is there, sealed as it is: the
# caller opens it, and comes again with `known` where it says the same.
_JUDGE: Final = f"""SELECT array_agg(CASE
        WHEN same.record = d.record AND same.user_id = d.user_id AND same.session_id = d.session_id
            AND same.turn_id = d.turn_id THEN 'done'
        WHEN claim.body_sha256 <> d.body AND claim.expire_time > d.created THEN 'request_id'
        WHEN answer.found THEN 'turn_id'
        WHEN turn.turn_id IS NOT NULL AND NOT d.known THEN 'compare'
        WHEN same.sequence IS NOT NULL THEN 'trace_id'
        WHEN turn.turn_id IS NOT NULL OR d.kept_id IS NULL THEN 'add'
        ELSE 'add_turn' END ORDER BY d.number),
        array_agg(same.sequence ORDER BY d.number), array_agg(same.previous_hash ORDER BY d.number),
        array_agg(same.record_hash ORDER BY d.number), array_agg(turn.role ORDER BY d.number),
        array_agg(turn.speaker ORDER BY d.number), array_agg(turn.content ORDER BY d.number)
    INTO outcomes, sequences, previous_hashes, record_hashes, found_roles, found_speakers, found_contents
    FROM unnest(trace_ids, user_ids, session_ids, turn_ids, create_times, bodies, records, request_ids, kept_ids,
        known) WITH ORDINALITY AS d(trace_id, user_id, session_id, turn_id, created, body, record, request_id,
        kept_id, known, number)
    LEFT JOIN LATERAL ({SAME_TRACE}) same ON true
    LEFT JOIN LATERAL ({CLAIMED}) claim ON true
    LEFT JOIN LATERAL ({ANSWER}) answer ON true
    LEFT JOIN LATERAL ({KEPT_TURN}) turn ON true;"""

_SEAL: Final = """FOR number IN 1..cardinality(trace_ids) LOOP
        CONTINUE WHEN outcomes[number] NOT IN ('add', 'add_turn');
        previous_hashes[number] := head_hash;
        head_hash := sha256(head_hash || records[number]);
        head := head + 1;
        sequences[number] := head;
        record_hashes[number] := head_hash;
        added := added || number;
    END LOOP;"""

_ADD_TRACES: Final = """INSERT INTO traces (tenant_id, sequence, trace_id, user_id, session_id, turn_id, policy,
        create_time, body_sha256, previous_hash, record_hash, record, content)
    SELECT tenant, sequences[n], trace_ids[n], user_ids[n], session_ids[n], turn_ids[n], policies[n], create_times[n],
        bodies[n], previous_hashes[n], record_hashes[n], records[n], contents[n] FROM unnest(added) AS n;"""

_CLAIM: Final = f"""INSERT INTO receipts AS r
        (tenant_id, method, request_id, user_id, fact_numbers, body_sha256, response, expire_time)
    SELECT tenant, 'AssembleContext', request_ids[n], user_ids[n], '[]', bodies[n], NULL, create_times[n] + {_DAY}
    FROM unnest(added) AS n WHERE request_ids[n] <> ''
    ON CONFLICT (tenant_id, method, request_id) DO UPDATE SET user_id = excluded.user_id, fact_numbers = '[]',
        body_sha256 = excluded.body_sha256, response = NULL, expire_time = excluded.expire_time
    WHERE r.expire_time <= excluded.expire_time - {_DAY};"""

# Others may record turns of the session at the same time, under the lock of its user and not of the tenant's head.
# Where one of them takes the number, the next one is tried. Where one takes the id, nothing of the batch is done: it is
# judged again. Only an expired turn makes room, and a content is known by its bytes: it is sealed with chance.
_ADD_TURNS: Final = """kept := ARRAY(SELECT n FROM unnest(added) AS n WHERE outcomes[n] = 'add_turn');
    WHILE cardinality(kept) > 0 LOOP
        DELETE FROM turns t USING unnest(kept) AS n WHERE t.tenant_id = tenant AND t.user_id = user_ids[n]
            AND t.session_id = session_ids[n] AND t.turn_id = kept_ids[n] AND t.expire_time <= create_times[n];
        INSERT INTO turns
            (tenant_id, user_id, session_id, turn_no, turn_id, role, speaker, occur_time, expire_time, content)
        SELECT tenant, user_ids[n], session_ids[n], 1 + coalesce((SELECT max(t.turn_no) FROM turns t
            WHERE t.tenant_id = tenant AND t.user_id = user_ids[n] AND t.session_id = session_ids[n]), 0),
            kept_ids[n], roles[n], speakers[n], occur_times[n], expire_times[n], turn_contents[n]
        FROM unnest(kept) AS n ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS written = ROW_COUNT;
        EXIT WHEN written = cardinality(kept);
        IF EXISTS (SELECT FROM unnest(kept) AS n JOIN turns t ON t.tenant_id = tenant AND t.user_id = user_ids[n]
            AND t.session_id = session_ids[n] AND t.turn_id = kept_ids[n] AND t.content <> turn_contents[n])
        THEN
            RAISE EXCEPTION 'a turn was recorded at the same time' USING ERRCODE = 'serialization_failure';
        END IF;
        kept := ARRAY(SELECT n FROM unnest(kept) AS n WHERE NOT EXISTS (SELECT FROM turns t WHERE
            t.tenant_id = tenant AND t.user_id = user_ids[n] AND t.session_id = session_ids[n]
            AND t.turn_id = kept_ids[n]));
    END LOOP;"""

_FUNCTION: Final = f"""CREATE FUNCTION muniment_append({_ARGUMENTS})
RETURNS TABLE (outcome text, sequence bigint, previous_hash bytea, record_hash bytea, role text, speaker text,
    content bytea)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    head bigint;
    head_hash bytea;
    since bigint := (SELECT min(created) FROM unnest(create_times) AS created) - {_DAY};
    outcomes text[];
    sequences bigint[];
    previous_hashes bytea[];
    record_hashes bytea[];
    found_roles text[];
    found_speakers text[];
    found_contents bytea[];
    added integer[] := '{{}}';
    kept integer[];
    written integer;
BEGIN
    PERFORM set_config('muniment.tenant', tenant, true);
    SELECT h.sequence, h.record_hash INTO head, head_hash FROM chain_heads h WHERE h.tenant_id = tenant FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO chain_heads VALUES (tenant, 0, decode(repeat('00', 32), 'hex')) ON CONFLICT DO NOTHING;
        SELECT h.sequence, h.record_hash INTO head, head_hash FROM chain_heads h WHERE h.tenant_id = tenant FOR UPDATE;
    END IF;
    {_JUDGE}
    {_SEAL}
    IF cardinality(added) > 0 THEN
    {_ADD_TRACES}
    {_CLAIM}
    {_ADD_TURNS}
    UPDATE chain_heads h SET sequence = head, record_hash = head_hash WHERE h.tenant_id = tenant;
    END IF;
    RETURN QUERY SELECT * FROM unnest(outcomes, sequences, previous_hashes, record_hashes, found_roles, found_speakers,
        found_contents);
END $$"""

_SIGNATURE: Final = (
    "muniment_append(text, text[], text[], text[], text[], text[], bigint[], bytea[], bytea[], bytea[], text[], "
    "text[], text[], text[], bigint[], bigint[], bytea[], boolean[])"
)


def create_function(role: str) -> None:
    """The function, with the rights of who calls it: row-level security holds within it."""
    op.execute(_FUNCTION)
    op.execute(f"REVOKE ALL ON FUNCTION {_SIGNATURE} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_SIGNATURE} TO {role}")


def drop_function() -> None:
    """Its tables go without it."""
    op.execute(f"DROP FUNCTION {_SIGNATURE}")
