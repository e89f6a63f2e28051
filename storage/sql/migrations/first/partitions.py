"""On Postgres: the parts of the tables that grow, and the function that makes those of the coming months."""

from typing import Final

from alembic import op

from storage.sql.migrations.first.protection import SCHEMA

TENANT_PARTS: Final = 8
TRACE_PARTS: Final = 4
_BY_TENANT: Final = ("excerpts", "postings", "excerpt_vectors", "turns")

# `traces_p0_202611` holds a month of a quarter of the tenants. A month of which rows lie in the default part already
# stays there: splitting it would lock the ledger for as long as it takes to move them. The lock of a part is waited for
# shortly, since appends queue behind who waits; the next call makes up for it.
_MAKE_PARTITIONS: Final = f"""CREATE FUNCTION muniment_make_partitions(months integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {SCHEMA}, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    begins timestamp;
    part text;
    name text;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('muniment_make_partitions', 0));
    FOR step IN 0..least(greatest(months, 0), 120) LOOP
        begins := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => step);
        FOR number IN 0..{TRACE_PARTS - 1} LOOP
            part := format('traces_p%s', number);
            name := format('%s_%s', part, to_char(begins, 'YYYYMM'));
            CONTINUE WHEN to_regclass(format('{SCHEMA}.%I', name)) IS NOT NULL;
            BEGIN
                EXECUTE format('CREATE TABLE {SCHEMA}.%I (LIKE {SCHEMA}.%I INCLUDING ALL)', name, part);
                EXECUTE format('ALTER TABLE {SCHEMA}.%I ATTACH PARTITION {SCHEMA}.%I FOR VALUES FROM (%s) TO (%s)',
                    part, name, (extract(epoch FROM begins) * 1000000)::bigint,
                    (extract(epoch FROM begins + interval '1 month') * 1000000)::bigint);
                made := made + 1;
            EXCEPTION WHEN check_violation THEN
                NULL;
            END;
        END LOOP;
    END LOOP;
    RETURN made;
END $$"""


def create_parts() -> None:
    """All parts but the months. Nobody is granted anything on a part: rows are reached through the table only."""
    for table in _BY_TENANT:
        for number in range(TENANT_PARTS):
            op.execute(f"CREATE TABLE {table}_p{number} PARTITION OF {table} {_values(TENANT_PARTS, number)}")
    for number in range(TRACE_PARTS):
        part = f"traces_p{number}"
        op.execute(
            f"CREATE TABLE {part} PARTITION OF traces {_values(TRACE_PARTS, number)} PARTITION BY RANGE (create_time)"
        )
        op.execute(f"CREATE TABLE {part}_default PARTITION OF {part} DEFAULT")


def create_function(role: str) -> None:
    """What makes the coming months; the gateways may call it, and own nothing by it."""
    op.execute(_MAKE_PARTITIONS)
    op.execute("REVOKE ALL ON FUNCTION muniment_make_partitions(integer) FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION muniment_make_partitions(integer) TO {role}")


def drop_function() -> None:
    """The parts go with their tables."""
    op.execute("DROP FUNCTION muniment_make_partitions(integer)")


def _values(parts: int, number: int) -> str:
    return f"FOR VALUES WITH (MODULUS {parts}, REMAINDER {number})"
