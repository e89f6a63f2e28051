"""TLS to Postgres: authority and name are verified, and what cannot be verified is not spoken to.

The server of the wheel is built without TLS, so something in front of it speaks it, as a proxy of an operator does.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from storage.errors import StorageUnavailable
from storage.postgres.migrating import status
from storage.sql.revision import REVISION
from tests.servers import PostgresDatabase
from tests.unit.storage.redis.test_tls import Authority, make_authority, serving

SSL_REQUEST = bytes.fromhex("0000000804d2162f")


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    """The one that vouches for the server, by its address."""
    return make_authority(tmp_path, "ours", "127.0.0.1")


@pytest.fixture
async def url(postgres: PostgresDatabase, ours: Authority) -> AsyncIterator[str]:
    """Of the database, behind TLS."""
    context = serving(ours)
    port = urlsplit(postgres.owner_url).port
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(OSError, asyncio.IncompleteReadError):
            await speak(reader, writer, context, port)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield postgres.owner_url.replace(str(port), str(server.sockets[0].getsockname()[1]))
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def speak(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext, port: int | None
) -> None:
    assert await reader.readexactly(len(SSL_REQUEST)) == SSL_REQUEST
    writer.write(b"S")
    await writer.start_tls(context)
    backend_reader, backend_writer = await asyncio.open_connection("127.0.0.1", port)
    await asyncio.gather(pipe(reader, backend_writer), pipe(backend_reader, writer))


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def look(url: str) -> str | None:
    return await asyncio.to_thread(status, url)


@pytest.mark.parametrize("mode", ["", "&sslmode=verify-full", "&sslmode=verify-ca", "&sslmode=require"])
async def test_a_server_whose_authority_is_given_is_trusted(url: str, ours: Authority, mode: str) -> None:
    assert await look(f"{url}?sslrootcert={ours.file}{mode}") == REVISION


@pytest.mark.parametrize("mode", ["verify-full", "verify-ca", "require"])
async def test_a_server_that_nobody_known_vouches_for_is_not(url: str, tmp_path: Path, mode: str) -> None:
    theirs = make_authority(tmp_path, "theirs", "127.0.0.1")
    for authority in (f"&sslrootcert={theirs.file}", ""):
        with pytest.raises(StorageUnavailable, match="sslrootcert"):
            await look(f"{url}?sslmode={mode}{authority}")


async def test_the_name_in_the_certificate_counts_unless_it_is_waived(url: str, ours: Authority) -> None:
    elsewhere = url.replace("127.0.0.1", "localhost")
    with pytest.raises(StorageUnavailable, match="sslrootcert"):
        await look(f"{elsewhere}?sslmode=verify-full&sslrootcert={ours.file}")
    assert await look(f"{elsewhere}?sslmode=verify-ca&sslrootcert={ours.file}") == REVISION


async def test_a_server_without_tls_is_not_spoken_to_in_clear(
    postgres: PostgresDatabase, ours: Authority
) -> None:
    with pytest.raises(StorageUnavailable):
        await look(f"{postgres.owner_url}?sslmode=verify-full&sslrootcert={ours.file}")
