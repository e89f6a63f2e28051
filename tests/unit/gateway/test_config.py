"""Settings and listen addresses are taken or refused with the remedy."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.config import AddressError, ListenAddress, LogLevel, NotLoopbackError, Settings, TelemetryMode


@pytest.mark.parametrize(
    ("text", "host", "port", "target"),
    [
        ("127.0.0.1:7463", "127.0.0.1", 7463, "127.0.0.1:7463"),
        ("[::1]:7463", "::1", 7463, "[::1]:7463"),
        ("localhost:0", "localhost", 0, "localhost:0"),
        ("127.9.9.9:65535", "127.9.9.9", 65535, "127.9.9.9:65535"),
    ],
)
def test_addresses_are_parsed(text, host, port, target):
    address = ListenAddress.parse(text)
    assert (address.host, address.port, address.target) == (host, port, target)
    address.require_loopback()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7463", "write it as 127.0.0.1:7463"),
        (":7463", "write it as 127.0.0.1:7463"),
        ("", "write it as 127.0.0.1:7463"),
        ("::1:7463", r"write it as \[::1\]:7463"),
        ("localhost:", "give a number from 0 to 65535"),
        ("localhost:65536", "give a number from 0 to 65535"),
        ("localhost:-1", "give a number from 0 to 65535"),
        ("localhost:٣", "give a number from 0 to 65535"),
        ("localhost:http", "give a number from 0 to 65535"),
    ],
)
def test_wrong_addresses_are_refused_with_the_remedy(text, words):
    with pytest.raises(AddressError, match=words):
        ListenAddress.parse(text)


@pytest.mark.parametrize(
    "text", ["0.0.0.0:7463", "[::]:7463", "192.0.2.7:1", "[2001:db8::1]:1", "[::ffff:10.0.0.1]:1"]
)
def test_addresses_that_others_can_reach_are_refused_and_told_why(text):
    with pytest.raises(NotLoopbackError, match="neither TLS nor authentication"):
        ListenAddress.parse(text).require_loopback()


def test_an_unknown_host_is_refused():
    with pytest.raises(AddressError, match="is not known here"):
        ListenAddress.parse("no.such.host.invalid:1").require_loopback()


def test_settings_come_from_the_environment_and_arguments_win(monkeypatch):
    monkeypatch.setenv("MUNIMENT_LISTEN", "[::1]:9000")
    monkeypatch.setenv("MUNIMENT_DATA_DIR", "/srv/muniment")
    monkeypatch.setenv("MUNIMENT_LOG_LEVEL", "warning")
    monkeypatch.setenv("MUNIMENT_OTEL", "console")
    settings = Settings()
    assert settings.listen == ListenAddress("::1", 9000)
    assert settings.data_dir == Path("/srv/muniment")
    assert (settings.log_level, settings.otel) == (LogLevel.WARNING, TelemetryMode.CONSOLE)
    assert Settings(listen=ListenAddress("127.0.0.1", 1)).listen.port == 1


def test_the_defaults_are_loopback_and_quiet():
    settings = Settings()
    settings.listen.require_loopback()
    assert (settings.listen.target, settings.otel) == ("127.0.0.1:7463", TelemetryMode.OFF)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LISTEN", "7463"),
        ("LOG_LEVEL", "loud"),
        ("OTEL", "yes"),
        ("MAX_CONCURRENT_CALLS", "0"),
        ("DRAIN_SECONDS", "9.9"),
    ],
)
def test_wrong_settings_are_refused_by_name(name, value, monkeypatch):
    monkeypatch.setenv(f"MUNIMENT_{name}", value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert name.lower() in str(refused.value)
