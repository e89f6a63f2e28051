"""A look-up binds its tenant within itself, whatever the plan, and leaves nothing behind."""

import asyncpg
import pytest

from storage.postgres.connections import Connections
from storage.postgres.database import PostgresDatabase
from storage.postgres.statements import statement_of
from storage.sql.engine import Connection, Scope

TURNS = "SELECT turn_no, turn_id FROM turns WHERE tenant_id = ? AND user_id = ? ORDER BY turn_no DESC"
ADD = """INSERT INTO turns
    (tenant_id, user_id, session_id, turn_no, turn_id, role, speaker, occur_time, expire_time, content)
    VALUES (?, ?, 's', ?, ?, 'USER', '', 0, NULL, ?)"""


async def fill(database: PostgresDatabase, tenant_id: str, turns: int = 9) -> None:
    def body(connection: Connection) -> None:
        for number in range(turns):
            connection.execute(ADD, (tenant_id, "ann", number, f"{tenant_id}-{number}", b"text"))

    await database.write(Scope(tenant_id, None), body)


async def test_each_tenant_finds_its_own_in_order_with_plans_of_both_kinds(
    connections: Connections, database: PostgresDatabase
) -> None:
    for tenant_id in ("acme", "umbrella"):
        await fill(database, tenant_id)
    text = statement_of(TURNS).look_up
    for mode in ("force_custom_plan", "force_generic_plan", "auto"):

        async def look(driver: asyncpg.Connection, mode: str = mode) -> None:
            await driver.execute(f"SET plan_cache_mode = {mode}")
            for tenant_id in ("acme", "umbrella") * 4:
                rows = await driver.fetch(text, tenant_id, "ann", tenant_id)
                assert [tuple(row) for row in rows] == [
                    (number, f"{tenant_id}-{number}") for number in reversed(range(9))
                ]
                assert await driver.fetch(text, tenant_id, "nobody", tenant_id) == []
            await driver.execute("RESET plan_cache_mode")

        await connections.use(5, look)


@pytest.mark.parametrize("asked", ["acme", "umbrella", "", "nobody"])
async def test_a_look_up_bound_to_one_tenant_finds_nothing_of_another(
    database: PostgresDatabase, asked: str
) -> None:
    await fill(database, "acme")
    for _ in range(8):
        found = await database.rows(asked, TURNS, ("acme", "ann"))
        assert len(found) == (9 if asked == "acme" else 0)
        everything = await database.rows(asked, "SELECT tenant_id FROM turns", ())
        assert len(everything) == (9 if asked == "acme" else 0)


async def test_nothing_of_a_tenant_outlives_the_look_up(
    connections: Connections, database: PostgresDatabase
) -> None:
    await fill(database, "acme")
    assert len(await database.rows("acme", TURNS, ("acme", "ann"))) == 9

    async def look(driver: asyncpg.Connection) -> None:
        assert await driver.fetchval("SELECT count(*) FROM turns") == 0
        assert await driver.fetchval("SELECT current_setting('muniment.tenant', true)") in (None, "")

    for _ in range(8):
        await connections.use(5, look)


async def test_the_tenant_is_bound_above_everything_that_reads(connections: Connections) -> None:
    """What the order of evaluation rests on."""

    async def plan(driver: asyncpg.Connection) -> None:
        for statement in (
            TURNS,
            f"{TURNS} LIMIT 3",
            "SELECT tenant_id FROM turns",
            "SELECT max(no) FROM facts",
        ):
            text = statement_of(statement).look_up
            for number, value in ((3, "acme"), (2, "ann"), (1, "acme")):
                text = text.replace(f"${number}", f"'{value}'")
            lines = [row[0] for row in await driver.fetch(f"EXPLAIN (COSTS OFF) {text}")]
            assert lines[:2] == ["Result", "  One-Time Filter: ((InitPlan 1).col1 IS NOT NULL)"]

    await connections.use(5, plan)


async def test_an_aggregate_is_bound_as_well(database: PostgresDatabase) -> None:
    await fill(database, "acme")
    for tenant_id, count in (("acme", 9), ("umbrella", 0)) * 4:
        assert await database.row(tenant_id, "SELECT count(*), max(turn_no) FROM turns", ()) == (
            count,
            8 if count else None,
        )


async def test_a_snapshot_sees_one_state_of_one_tenant(database: PostgresDatabase) -> None:
    await fill(database, "acme", 700)
    async with database.snapshot("acme") as snapshot:
        before = await snapshot.row("SELECT count(*) FROM turns", ())
        await database.write(
            Scope("acme", None), lambda connection: connection.execute("DELETE FROM turns").rowcount
        )
        rows = await snapshot.rows(TURNS, ("acme", "ann"), lambda number, turn_id: (number, turn_id))
        assert before == (700,)
        assert rows[:2] == [(699, "acme-699"), (698, "acme-698")]
    assert await database.row("acme", "SELECT count(*) FROM turns", ()) == (0,)
    async with database.snapshot("umbrella") as snapshot:
        assert await snapshot.row(TURNS, ("acme", "ann")) is None
