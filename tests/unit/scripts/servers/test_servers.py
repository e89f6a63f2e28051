"""Servers from wheels can be killed, paused and started again, and end with who started them."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, OutOfMemoryError, ReadOnlyError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from scripts.servers import launching, process_tree
from scripts.servers.errors import ServerError
from scripts.servers.launching import RunAs
from scripts.servers.postgres import Postgres, PostgresOptions
from scripts.servers.postgres_admin import PostgresAdmin
from scripts.servers.temporary import temporary_postgres, temporary_valkey
from scripts.servers.valkey import Valkey, ValkeyOptions

ROOT = Path(__file__).resolve().parents[4]

NEVER = Retry(NoBackoff(), 0)

OWNER = """
import os, signal, sys
from scripts.servers.temporary import temporary_cluster, temporary_postgres
with temporary_postgres() as postgres, temporary_cluster() as cluster:
    postgres.pause()
    nodes = cluster.nodes
    print(postgres.data.parent, nodes[0].folder.parent, postgres.pid, *(n.pid for n in nodes), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with temporary_postgres(PostgresOptions(fsync=True, password="p'w")) as server:
        yield server


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with temporary_valkey(ValkeyOptions(password='a "b" \\c', append_only=True)) as server:
        yield server


def eventually(check: object, seconds: float = 20.0) -> None:
    assert callable(check)
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=0.3)


def test_what_was_committed_is_there_after_a_crash_and_the_port_is_the_same(postgres: Postgres):
    postgres.admin.execute("CREATE TABLE kept (a int); INSERT INTO kept VALUES (1)")
    port = postgres.port
    processes = process_tree.descendants(postgres.pid)
    assert len(processes) > 1
    postgres.kill()
    assert not postgres.running
    eventually(lambda: not any(process_tree.alive(pid) for pid in processes))
    postgres.restart()
    assert postgres.port == port
    assert postgres.admin.execute("SELECT a FROM kept") == "1"


def test_a_password_that_was_asked_for_is_needed(postgres: Postgres):
    stranger = PostgresAdmin(postgres.url().replace("p%27w", "wrong"))
    with pytest.raises(ServerError, match="password authentication failed"):
        stranger.execute("SELECT 1")
    assert not (postgres.data.parent / "password").exists()


def test_a_paused_postgres_takes_connections_and_answers_none_until_it_goes_on(postgres: Postgres):
    postgres.pause()
    try:
        with connected(postgres.port) as connection:
            # The request for TLS, which a server answers with one byte.
            connection.sendall(bytes.fromhex("00000008 04d2162f"))
            with pytest.raises(TimeoutError):
                connection.recv(1)
            postgres.resume()
            connection.settimeout(20)
            assert connection.recv(1) == b"N"
    finally:
        postgres.resume()


def test_stopping_a_paused_server_ends_it_in_order(postgres: Postgres):
    postgres.pause()
    postgres.stop()
    assert "database system is shut down" in postgres.log.read_text()
    assert not (postgres.data / "postmaster.pid").exists()
    postgres.restart()
    assert postgres.running


def test_a_cluster_that_cannot_start_is_told_with_the_end_of_its_log():
    wrong = PostgresOptions(fsync=False, settings={"shared_buffers": "none"})
    with (
        pytest.raises(ServerError, match='invalid value for parameter "shared_buffers"'),
        temporary_postgres(wrong),
    ):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_without_user_namespaces_root_runs_it_as_nobody():
    options = PostgresOptions(fsync=False, password="secret", run_as=RunAs.NOBODY)
    with temporary_postgres(options) as server:
        assert Path(f"/proc/{server.pid}").owner() == "nobody"
        assert server.admin.execute("SELECT 1") == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_package_that_nobody_cannot_read_is_copied(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(launching, "_nobody_can", lambda access, path: access == "-w")
    with temporary_postgres(PostgresOptions(fsync=False, run_as=RunAs.NOBODY)) as server:
        copy = server.data.parent / "package"
        assert Path(f"/proc/{server.pid}/exe").resolve().is_relative_to(copy)
        assert server.admin.execute("CREATE EXTENSION vector; SELECT '[1]'::vector") == "[1]"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_folder_that_nobody_cannot_reach_is_refused_with_the_remedy(tmp_path: Path):
    tmp_path.chmod(0o700)
    with pytest.raises(ServerError, match="choose a folder below /tmp"):
        Postgres.start(tmp_path / "deep", PostgresOptions(run_as=RunAs.NOBODY))


def test_root_takes_namespaces_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(launching, "_namespaces_work", lambda: True)
    monkeypatch.delenv(launching.VARIABLE, raising=False)
    assert launching.choose() is RunAs.NAMESPACE
    monkeypatch.setenv(launching.VARIABLE, "nobody")
    assert launching.choose() is RunAs.NOBODY
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert launching.choose() is RunAs.OURSELVES


def test_a_valkey_is_there_again_after_a_crash_with_what_it_wrote_down(valkey: Valkey):
    with closing(valkey.client) as client:
        client.set("kept", "1")
    port = valkey.port
    valkey.kill()
    assert not valkey.running
    valkey.restart()
    assert valkey.port == port
    with closing(valkey.client) as client:
        assert client.get("kept") == "1"


def test_its_password_is_needed_and_stands_in_no_command_line(valkey: Valkey):

    with (
        Redis(port=valkey.port, password="wrong", retry=NEVER) as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.ping()
    with Redis.from_url(valkey.url()) as client:
        assert client.ping()
    assert b'a "b"' not in Path(f"/proc/{valkey.pid}/cmdline").read_bytes()


def test_it_can_be_full_or_read_only(valkey: Valkey):
    with closing(valkey.client) as client:
        valkey.set_read_only(read_only=True)
        with pytest.raises(ReadOnlyError):
            client.set("a", "1")
        valkey.set_read_only(read_only=False)
        valkey.configure("maxmemory", "1")
        with pytest.raises(OutOfMemoryError):
            client.set("a", "1")
        valkey.configure("maxmemory", "0")
        assert client.set("a", "1")


def test_a_paused_valkey_answers_nothing_until_it_goes_on(valkey: Valkey):

    impatient = Redis.from_url(valkey.url(), socket_timeout=0.2, retry=NEVER)
    with closing(impatient) as client:
        assert client.ping()
        valkey.pause()
        with pytest.raises(RedisTimeoutError):
            client.ping()
        valkey.resume()
        assert valkey.running


def test_servers_and_their_folders_go_with_an_owner_that_is_killed():
    done = subprocess.run(
        [sys.executable, "-c", OWNER],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    words = done.stdout.split()
    folders, pids = [Path(word) for word in words[:2]], [int(word) for word in words[2:]]
    assert len(pids) == 4
    eventually(lambda: not any(process_tree.alive(pid) for pid in pids))
    eventually(lambda: not any(folder.exists() for folder in folders))
