"""The servers that tests get: each is there, empty, and open to the right roles only."""

import pytest
from redis import Redis
from redis.exceptions import MovedError

from scripts.servers.cluster import Cluster
from scripts.servers.errors import ServerError
from scripts.servers.postgres_admin import PostgresAdmin
from tests.servers import PostgresDatabase


def test_the_application_owns_nothing_and_row_level_security_binds_it(bare_postgres: PostgresDatabase):
    application = PostgresAdmin(bare_postgres.url)
    database = bare_postgres.name
    assert application.execute("SELECT current_user", database) == "muniment_gateway"
    rights = "SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles WHERE rolname = current_user"
    assert application.execute(rights, database) == "f|f|f"
    with pytest.raises(ServerError, match="permission denied for schema public"):
        application.execute("CREATE TABLE mine (a int)", database)


def test_the_owner_makes_tables_and_is_no_superuser(bare_postgres: PostgresDatabase):
    owner = PostgresAdmin(bare_postgres.owner_url)
    owner.execute(
        "CREATE TABLE theirs (v vector(2)); GRANT SELECT ON theirs TO muniment_app", bare_postgres.name
    )
    assert PostgresAdmin(bare_postgres.url).execute("TABLE theirs", bare_postgres.name) == ""
    rights = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
    assert owner.execute(rights, bare_postgres.name) == "f|f"


def test_emptying_takes_rows_of_partitions_and_protected_tables_and_leaves_the_schema_s_revision(
    bare_postgres: PostgresDatabase,
):
    bare_postgres.execute(
        "CREATE TABLE parts (a int) PARTITION BY LIST (a); CREATE TABLE part PARTITION OF parts DEFAULT;"
        "ALTER TABLE parts ENABLE ROW LEVEL SECURITY; ALTER TABLE parts FORCE ROW LEVEL SECURITY;"
        "INSERT INTO parts VALUES (1); CREATE TABLE alembic_version (n int); INSERT INTO alembic_version VALUES (7)"
    )
    bare_postgres.empty()
    assert bare_postgres.execute("SELECT count(*) FROM parts") == "0"
    assert bare_postgres.execute("SELECT n FROM alembic_version") == "7"


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_a_migrated_database_without_rows(postgres: PostgresDatabase, turn: int):
    assert postgres.execute("SELECT count(*) FROM tenants") == "0"
    assert postgres.execute("SELECT count(*) FROM alembic_version") == "1"
    postgres.execute(f"INSERT INTO tenants (tenant_id, epoch) VALUES ('left-{turn}', 1)")
    assert PostgresAdmin(postgres.url).execute("TABLE tenants", postgres.name) == ""


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_an_empty_cache(redis_url: str, turn: int):
    with Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", turn)


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_an_empty_cluster_whose_nodes_have_a_third_of_the_slots_each(
    redis_cluster: Cluster, redis_cluster_url: str, turn: int
):
    assert redis_cluster_url == redis_cluster.nodes[0].url()
    for number, node in enumerate(redis_cluster.nodes):
        with node.client as client:
            assert client.dbsize() == 0
            keys = [f"key-{turn}-{n}" for n in range(30)]
            own = [
                key for key in keys if client.execute_command("CLUSTER KEYSLOT", key) * 3 // 16384 == number
            ]
            assert own
            for key in own:
                client.set(key, turn)
            with pytest.raises(MovedError):
                client.set(next(key for key in keys if key not in own), turn)
