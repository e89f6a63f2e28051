"""Settings and listen addresses are taken or refused with the remedy."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.config import (
    AddressError,
    EmbedderName,
    ListenAddress,
    LogLevel,
    NotLoopbackError,
    Settings,
    TelemetryMode,
)


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
        ("EMBEDDER", "word2vec"),
        ("DATABASE_POOL_SIZE", "1"),
        ("DATABASE_READ_SECONDS", "0"),
        ("REDIS_MILLISECONDS", "4"),
        ("SPOOL_MEBIBYTES", "0"),
    ],
)
def test_wrong_settings_are_refused_by_name(name, value, monkeypatch):
    monkeypatch.setenv(f"MUNIMENT_{name}", value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert name.lower() in str(refused.value)


PRODUCTION = {
    "DATABASE_URL": "postgresql://app:secret-word@db:5432/muniment?sslmode=verify-full",
    "REDIS_URL": "rediss://:secret-word@cache:6379/0",
    "MASTER_KEY_FILE": "/run/secrets/master.key",
}


def set_variables(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"MUNIMENT_{name}", value)


def refusal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    set_variables(monkeypatch, **variables)
    with pytest.raises(ValidationError) as refused:
        Settings()
    return str(refused.value)


def test_servers_come_from_the_environment_and_are_not_shown(monkeypatch):
    set_variables(monkeypatch, **PRODUCTION, EMBEDDER="minilm", REUSE_PORT="true")
    settings = Settings()
    assert settings.database_url is not None
    assert settings.redis_url is not None
    assert settings.database_url.get_secret_value() == PRODUCTION["DATABASE_URL"]
    assert settings.redis_url.get_secret_value() == PRODUCTION["REDIS_URL"]
    assert settings.master_key_file == Path("/run/secrets/master.key")
    assert (settings.embedder, settings.reuse_port) == (EmbedderName.MINILM, True)
    assert "secret-word" not in repr(settings) + str(settings) + str(settings.model_dump())


@pytest.mark.parametrize("scheme", ["redis+cluster", "rediss+cluster"])
def test_a_cluster_may_be_given_by_several_nodes(monkeypatch, scheme):
    url = f"{scheme}://user:secret-word@one:7000,two:7001"
    set_variables(monkeypatch, **(PRODUCTION | {"REDIS_URL": url}))
    given = Settings().redis_url
    assert given is not None
    assert given.get_secret_value() == url


def test_an_empty_variable_is_no_server(monkeypatch):
    set_variables(monkeypatch, DATABASE_URL="", REDIS_URL="")
    assert (Settings().database_url, Settings().redis_url) == (None, None)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://app:secret-word@db/muniment",
        "postgresql://app:secret-word@db",
        "postgresql://app:secret-word@db/",
        "postgresql:///muniment?user=secret-word",
        "postgresql://app:secret-word@db:port/muniment",
        "postgresql://app:secret-word@[::1/muniment",
        "app:secret-word@db/muniment",
    ],
)
def test_a_wrong_database_url_is_refused_with_its_form_and_without_itself(monkeypatch, url):
    told = refusal(monkeypatch, **(PRODUCTION | {"DATABASE_URL": url}))
    assert "postgresql://USER:PASSWORD@HOST:5432/DATABASE" in told
    assert "secret-word" not in told


@pytest.mark.parametrize(
    "url",
    [
        "http://secret-word",
        "redis://",
        "secret-word:6379",
        "redis://h:secret-word",
        "redis://h:1,g:2",
        "redis+cluster://h:1,g:secret-word",
        "redis+cluster://",
    ],
)
def test_a_wrong_redis_url_is_refused_with_its_form_and_without_itself(monkeypatch, url):
    told = refusal(monkeypatch, **(PRODUCTION | {"REDIS_URL": url}))
    assert "redis://HOST:6379/0" in told
    assert "secret-word" not in told


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ("DATABASE_URL", "redis_url: is of no use without database_url"),
        ("REDIS_URL", "redis_url: is needed beside database_url"),
        ("MASTER_KEY_FILE", "master_key_file: is needed beside database_url"),
    ],
)
def test_what_belongs_together_is_asked_for(monkeypatch, left_out, words):
    told = refusal(monkeypatch, **{name: value for name, value in PRODUCTION.items() if name != left_out})
    assert words in told
    assert "secret-word" not in told


@pytest.mark.parametrize("path", ["/muniment", "/muniment?host=/run/postgresql"])
def test_a_database_behind_a_socket_has_its_folder_among_the_parameters(monkeypatch, path):
    host = "" if "host=" in path else "db"
    set_variables(monkeypatch, **(PRODUCTION | {"DATABASE_URL": f"postgres://{host}{path}"}))
    assert Settings().database_url is not None
