"""What a Redis URL may say, and that what it may not say is refused with a remedy and without its password."""

import ssl
from pathlib import Path

import pytest

from storage.redis import InvalidRedisUrl
from storage.redis.address import Endpoint, parse_redis_url


def test_a_plain_url() -> None:
    address = parse_redis_url("redis://cache")
    assert address.seeds == (Endpoint("cache", 6379),)
    assert (address.is_cluster, address.username, address.password, address.database) == (
        False,
        None,
        None,
        0,
    )
    assert address.tls is None


def test_credentials_are_unquoted_and_the_path_is_the_database() -> None:
    address = parse_redis_url("redis://gate%40way:p%3Aw%2F@cache:7000/3")
    assert (address.username, address.password, address.database) == ("gate@way", "p:w/", 3)
    assert address.seeds == (Endpoint("cache", 7000),)


def test_a_password_without_a_user() -> None:
    address = parse_redis_url("redis://:secret@cache")
    assert (address.username, address.password) == (None, "secret")
    assert "secret" not in repr(address)


@pytest.mark.parametrize("url", ["redis+cluster://a:1,b:2", "redis://a:1,b:2?cluster=true"])
def test_a_cluster_has_several_seeds(url: str) -> None:
    address = parse_redis_url(url)
    assert address.is_cluster
    assert address.seeds == (Endpoint("a", 1), Endpoint("b", 2))


def test_an_ipv6_address() -> None:
    assert parse_redis_url("redis://[::1]:7000").seeds == (Endpoint("::1", 7000),)


@pytest.mark.parametrize("scheme", ["rediss", "rediss+cluster"])
def test_tls_verifies_certificate_and_host_name(scheme: str) -> None:
    tls = parse_redis_url(f"{scheme}://cache").tls
    assert tls is not None
    assert tls.check_hostname
    assert tls.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://cache", "begin with"),
        ("cache:6379", "begin with"),
        ("redis://", "no host"),
        ("redis://cache:0", "no host"),
        ("redis://cache:99999", "port"),
        ("redis://cache:port", "port"),
        ("redis://a,b", "several hosts"),
        ("redis://cache/first", "database"),
        ("redis+cluster://cache/1", "database 0"),
        ("redis://cache?ssl_cert_reqs=none", "unknown option"),
        ("redis://cache?cluster=yes", "true or false"),
        ("redis://cache?cluster", "malformed"),
        ("redis://cache?ssl_ca_certs=ca.pem", "rediss://"),
        ("rediss://cache?ssl_ca_certs=/nowhere/ca.pem", "cannot be read"),
        ("redis://[::1", "malformed"),
    ],
)
def test_what_cannot_be_used_is_refused(url: str, said: str) -> None:
    with pytest.raises(InvalidRedisUrl, match=said):
        parse_redis_url(url)


def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    with pytest.raises(InvalidRedisUrl, match="cannot be read"):
        parse_redis_url(f"rediss://cache?ssl_ca_certs={file}")


def test_a_refusal_quotes_nothing_of_the_url() -> None:
    with pytest.raises(InvalidRedisUrl) as caught:
        parse_redis_url("redis://user:secret@cache/path?odd=secret")
    assert "secret" not in str(caught.value)
