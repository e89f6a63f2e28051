"""An append looks things up by their own keys, also in a part of the ledger that was never analyzed."""

import re

import pytest

from storage.sql.migrations.first.append import ANSWER, CLAIMED, KEPT_TURN, SAME_TRACE
from tests.servers import PostgresDatabase

_GIVEN = re.compile(r"\bd\.\w+|\btenant\b|\bsince\b")


def explained(look_up: str) -> str:
    """The look-up with a parameter for each of the function's variables."""
    names = list(dict.fromkeys(_GIVEN.findall(look_up)))
    numbered = _GIVEN.sub(lambda name: f"${names.index(name[0]) + 1}", look_up)
    return f"EXPLAIN (GENERIC_PLAN) {numbered}"


@pytest.mark.parametrize("vacuumed", [False, True])
@pytest.mark.parametrize(
    ("look_up", "keys"),
    [
        (SAME_TRACE, ("tenant_id", "trace_id", "create_time")),
        (ANSWER, ("tenant_id", "user_id", "session_id", "turn_id", "create_time")),
        (CLAIMED, ("tenant_id", "method", "request_id")),
        (KEPT_TURN, ("tenant_id", "user_id", "session_id", "turn_id")),
    ],
)
def test_all_keys_of_a_look_up_are_conditions_of_its_index(
    postgres: PostgresDatabase, look_up: str, keys: tuple[str, ...], vacuumed: bool
) -> None:
    if vacuumed:
        postgres.execute("VACUUM ANALYZE")
    lines = postgres.execute(f"SET enable_seqscan = off; {explained(look_up)}").splitlines()
    conditions = [line for line in lines if "Index Cond" in line]
    assert conditions
    assert all(key in condition for condition in conditions for key in keys)
    assert not [line for line in lines if "Seq Scan" in line]
