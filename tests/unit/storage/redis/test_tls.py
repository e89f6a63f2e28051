"""TLS to Redis: the certificate and the name are verified, and what cannot be verified refuses the start."""

import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from storage.redis import RedisRefused, connect_redis
from tests.unit.storage.redis.parts import FakeServer


@dataclass(frozen=True)
class Authority:
    """A certificate that signs itself, for an address; `file` holds it, `key` its key."""

    file: Path
    key: Path


def make_authority(folder: Path, name: str, address: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Authority(folder / f"{name}.pem", folder / f"{name}.key")
    made.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made


def serving(authority: Authority) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.file, authority.key)
    return context


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return make_authority(tmp_path, "ours", "127.0.0.1")


@pytest.fixture
async def tls_server(ours: Authority) -> AsyncIterator[FakeServer]:
    fake = FakeServer()
    await fake.start(serving(ours))
    yield fake
    await fake.stop()


async def test_a_server_whose_authority_is_given_is_trusted(tls_server: FakeServer, ours: Authority) -> None:
    client = await connect_redis(f"rediss://127.0.0.1:{tls_server.port}?ssl_ca_certs={ours.file}", limit=1)
    assert await client.execute(b"k", b"ECHO", b"x") == b"x"
    await client.close()


async def test_a_server_of_an_unknown_authority_is_refused(tls_server: FakeServer, tmp_path: Path) -> None:
    other = make_authority(tmp_path, "other", "127.0.0.1")
    for url in (
        f"rediss://127.0.0.1:{tls_server.port}",
        f"rediss://127.0.0.1:{tls_server.port}?ssl_ca_certs={other.file}",
    ):
        with pytest.raises(RedisRefused, match="ssl_ca_certs"):
            await connect_redis(url, limit=1)
    assert tls_server.commands == []


async def test_a_server_of_another_name_is_refused(tmp_path: Path) -> None:
    elsewhere = make_authority(tmp_path, "elsewhere", "10.0.0.1")
    fake = FakeServer()
    await fake.start(serving(elsewhere))
    with pytest.raises(RedisRefused, match="certificate"):
        await connect_redis(f"rediss://127.0.0.1:{fake.port}?ssl_ca_certs={elsewhere.file}", limit=1)
    await fake.stop()
