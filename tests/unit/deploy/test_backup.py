"""Backup and restore by the commands of docs/operations.md, of a database that row-level security protects."""

import os
import subprocess
from pathlib import Path

from scripts.servers import binaries
from scripts.servers.postgres_admin import PostgresAdmin
from scripts.servers.temporary import temporary_postgres
from tests.documents import DOCS, shell_commands
from tests.servers import PostgresDatabase, database

OPERATIONS = DOCS / "operations.md"
RLS_TABLE = """
INSERT INTO tenants (tenant_id, epoch) VALUES ('acme', 7), ('globex', 8);
"""
COUNT = "SELECT string_agg(tenant_id || ':' || epoch, ',' ORDER BY tenant_id) FROM tenants"


def documented(program: str) -> list[str]:
    """The only command of the document that runs a program of Postgres."""
    (found,) = [words for words in shell_commands(OPERATIONS) if words[0] == program]
    return found


def run(program: str, folder: Path, **urls: str) -> subprocess.CompletedProcess[str]:
    """The documented command with its variables filled in."""
    words = documented(program)
    for name, url in urls.items():
        words = [word.replace(f"${name}", url) for word in words]
    words[0] = str(binaries.postgres_folder() / "bin" / program)
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)


def belongs_to(folder: Path, like: Path) -> None:
    """Give a folder to the owner of another: where root runs servers as `nobody`, what root copies is not theirs."""
    owner = like.stat()
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, owner.st_uid, owner.st_gid)


def test_a_dump_by_the_documented_role_holds_all_tenants_and_restores_into_an_empty_database(
    postgres: PostgresDatabase, tmp_path: Path
):
    postgres.execute(RLS_TABLE)
    postgres.execute("CREATE ROLE muniment_backup LOGIN BYPASSRLS IN ROLE pg_read_all_data PASSWORD 'backup'")
    try:
        backup_url = postgres.admin.url_of(postgres.name, "muniment_backup", "backup")
        dumped = run("pg_dump", tmp_path, BACKUP_URL=backup_url)
        assert dumped.returncode == 0, dumped.stderr
    finally:
        postgres.execute("DROP ROLE muniment_backup")
    with database(postgres.admin, "muniment_restored") as restored:
        loaded = run("pg_restore", tmp_path, RESTORED_URL=restored.superuser_url)
        assert loaded.returncode == 0, loaded.stderr
        assert restored.execute(COUNT) == "acme:7,globex:8"
        # The restored tables are the owner's, and bind the application as before.
        assert PostgresAdmin(restored.url).execute(COUNT, restored.name) == ""
        bind = "SET muniment.tenant = 'acme'; "
        assert PostgresAdmin(restored.url).execute(bind + COUNT, restored.name) == "acme:7"


def test_a_dump_by_the_owner_is_refused_and_not_empty(postgres: PostgresDatabase, tmp_path: Path):
    postgres.execute(RLS_TABLE)
    refused = run("pg_dump", tmp_path, BACKUP_URL=postgres.owner_url)
    assert refused.returncode != 0
    assert "row-level security" in refused.stderr


def test_a_base_backup_starts_as_a_server_of_its_own(tmp_path: Path):
    with temporary_postgres() as server:
        server.admin.execute("CREATE TABLE kept (a int); INSERT INTO kept VALUES (1)")
        with temporary_postgres() as other:
            folder = other.data.parent
            other.stop()
            made = run("pg_basebackup", folder, REPLICATION_URL=server.url())
            assert made.returncode == 0, made.stderr
            belongs_to(folder / "base", folder / "data")
            (folder / "data").rename(folder / "unused")
            (folder / "base").rename(folder / "data")
            other.restart()
            assert other.admin.execute("SELECT a FROM kept") == "1"
