"""No two rows, columns, users or tenants share a place."""

from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import UserRef
from storage.encryption import DataKey, places
from storage.encryption.places import row_place, tenant_key_place, user_key_place
from storage.encryption.sealed_columns import SEALED_TABLES
from storage.encryption.user_cipher import UserCipher
from storage.sql.schema import metadata

ids = st.text(max_size=6)
COLUMNS = [name for table in SEALED_TABLES for _, name in table.columns]
rows = st.tuples(st.sampled_from(COLUMNS), ids, ids, st.lists(ids, max_size=3))


@given(rows, rows)
def test_different_rows_have_different_places(
    one: tuple[str, str, str, list[str]], other: tuple[str, str, str, list[str]]
):
    same = one == other
    first, second = (row_place(c, UserRef(t, u), *identity) for c, t, u, identity in (one, other))
    assert (first == second) is same


@given(ids, ids, ids, st.integers(1, 9))
def test_a_key_and_a_row_never_share_a_place(tenant: str, user: str, part: str, key_no: int):
    owner = UserRef(tenant, user)
    found = {
        places.MASTER_PROOF,
        tenant_key_place(tenant, key_no),
        user_key_place(owner, key_no),
        *(row_place(column, owner, part) for column in COLUMNS),
    }
    assert len(found) == 3 + len(COLUMNS)


def test_every_sealed_column_names_itself_and_exists():
    for table in SEALED_TABLES:
        stored = metadata.tables[table.name].c
        for column, name in table.columns:
            assert name == f"{table.name}.{column}"
        for column in (*table.identity, *table.order, *(column for column, _ in table.columns)):
            assert column in stored


def test_every_column_of_content_is_sealed():
    sealed = {(table.name, column) for table in SEALED_TABLES for column, _ in table.columns}
    content = {
        (table.name, column.name)
        for table in metadata.tables.values()
        for column in table.c
        if column.name in ("content", "terms", "response", "salt")
    }
    assert sealed == content


def test_identities_are_unique_within_a_user():
    """Else two rows would share a place, and could be swapped."""
    for table in SEALED_TABLES:
        stored = metadata.tables[table.name]
        keys = [
            {column.name for column in key.columns} for key in stored.constraints if hasattr(key, "columns")
        ]
        named = {"tenant_id", "user_id", *table.identity}
        assert any(key and key <= named for key in keys), table.name


@given(ids, ids, st.lists(ids, max_size=3))
def test_a_cipher_seals_for_the_place_of_its_row(tenant: str, user: str, identity: list[str]):
    owner, key = UserRef(tenant, user), DataKey({1: bytes(32)}, 1)
    cipher = UserCipher(owner, key)
    for column in COLUMNS:
        place = row_place(column, owner, *identity)
        assert key.open(place, cipher.seal(column, b"said", *identity)) == b"said"
        assert cipher.open(column, key.seal(place, b"said"), *identity) == b"said"
