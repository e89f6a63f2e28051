"""Placeholders as Postgres wants them."""

import pytest

from storage.postgres.statements import statement_of


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT ?, ?", "SELECT $1, $2"),
        ("SELECT ?2, ?1, ?2", "SELECT $2, $1, $2"),
        ("SELECT ?3, ?", "SELECT $3, $4"),
        ("SELECT '?', 'it''s ?', \"a?\", ?", "SELECT '?', 'it''s ?', \"a?\", $1"),
    ],
)
def test_placeholders_are_numbered_as_sqlite_numbers_them(written: str, text: str) -> None:
    assert statement_of(written).text == text


def test_the_tenant_of_a_look_up_comes_behind_its_parameters() -> None:
    look_up = statement_of("SELECT a FROM t WHERE b = ?2 AND c = ?1").look_up
    assert "(SELECT a FROM t WHERE b = $2 AND c = $1) AS asked" in look_up
    assert "set_config('muniment.tenant', $3, true)" in look_up


@pytest.mark.parametrize(
    ("written", "gives_rows"),
    [
        ("SELECT 1", True),
        ("\n  with x as (select 1) select * from x", True),
        ("INSERT INTO t VALUES (?)", False),
        ("INSERT INTO t VALUES (?)\n RETURNING a", True),
        ("UPDATE t SET a = ?", False),
        ("DELETE FROM t", False),
    ],
)
def test_what_gives_rows_is_known(written: str, gives_rows: bool) -> None:
    assert statement_of(written).gives_rows is gives_rows
