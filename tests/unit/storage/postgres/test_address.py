"""URLs: who is spoken to in clear, who under TLS, and what is refused."""

import ssl

import pytest

from storage.postgres.address import AddressError, is_postgres, parse_address


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg"])
def test_every_usual_scheme_is_one_of_postgres(scheme: str) -> None:
    address = parse_address(f"{scheme}://ann:pw@127.0.0.1/data")
    assert (
        address.url.render_as_string(hide_password=False) == "postgresql+asyncpg://ann:pw@127.0.0.1:5432/data"
    )
    assert is_postgres(f"{scheme}://x/y")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "127.8.9.1"])
def test_this_machine_is_spoken_to_in_clear(host: str) -> None:
    assert parse_address(f"postgresql://{host}/data").tls is None


@pytest.mark.parametrize("query", ["", "?sslmode=verify-full", "?sslmode=require"])
def test_other_hosts_are_verified_by_authority_and_name(query: str) -> None:
    tls = parse_address(f"postgresql://db.example.com/data{query}").tls
    assert tls is not None
    assert tls.verify_mode is ssl.CERT_REQUIRED
    assert tls.check_hostname


def test_the_name_can_be_left_unverified_by_name_only() -> None:
    tls = parse_address("postgresql://db.example.com/data?sslmode=verify-ca").tls
    assert tls is not None
    assert tls.verify_mode is ssl.CERT_REQUIRED
    assert not tls.check_hostname


def test_clear_text_is_asked_for_in_so_many_words() -> None:
    assert parse_address("postgresql://db.example.com/data?sslmode=disable").tls is None


def test_what_is_ours_does_not_reach_the_driver() -> None:
    address = parse_address("postgresql://db.example.com/data?sslmode=disable&application_name=x")
    assert dict(address.url.query) == {}
    assert address.application_name == "x"


def test_a_socket_of_this_machine_is_a_folder() -> None:
    address = parse_address("postgresql:///data?host=/run/postgresql")
    assert dict(address.url.query) == {"host": "/run/postgresql"}
    assert address.tls is None


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:secret@h/d",
        "postgresql://u:secret@h",
        "postgresql://u:secret@h:port/d",
        "postgresql://u:secret@h/d?sslmode=prefer",
        "postgresql://u:secret@h/d?sslmode=allow",
        "postgresql://u:secret@h/d?sslmode=disable&sslmode=require",
        "postgresql://u:secret@h/d?sslrootcert=/no/such/file",
        "postgresql://u:secret@h/d?sslcert=/no/such/file",
        "postgresql://u:secret@h/d?connect_timeout=3",
        "secret",
    ],
)
def test_what_cannot_be_used_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)
    assert "/no/such" not in str(caught.value)


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(parse_address("postgresql://u:secret@127.0.0.1/d"))
