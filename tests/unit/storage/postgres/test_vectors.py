"""Vectors come back from Postgres as the stores gave them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.postgres.database import PostgresDatabase
from storage.postgres.vectors import from_wire, to_wire
from storage.sql.engine import Connection, Scope

ADD = "INSERT INTO excerpt_vectors (tenant_id, user_id, embedder, excerpt_no, vector) VALUES (?, ?, ?, ?, ?)"
READ = "SELECT excerpt_no, vector FROM excerpt_vectors WHERE tenant_id = ? AND user_id = ? AND embedder = ? ORDER BY 1"
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(finite, min_size=1, max_size=400))
def test_the_form_on_the_wire_is_read_as_it_was_written(values: list[float]) -> None:
    vector = np.array(values, "<f4").tobytes()
    assert from_wire(to_wire(vector)) == vector


async def test_vectors_of_several_embedders_and_dimensions_lie_side_by_side(
    database: PostgresDatabase,
) -> None:
    chance = np.random.default_rng(7)
    vectors = {
        dimension: chance.normal(size=dimension).astype("<f4").tobytes() for dimension in (2, 384, 1024)
    }

    def body(connection: Connection) -> None:
        for dimension, vector in vectors.items():
            connection.execute(ADD, ("acme", "ann", f"e{dimension}", 1, vector))

    await database.write(Scope("acme", None), body)
    for dimension, vector in vectors.items():
        assert await database.rows("acme", READ, ("acme", "ann", f"e{dimension}")) == [(1, vector)]
