"""Logs are JSON lines without content."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from gateway.config import LogLevel
from gateway.logs import configure_logs

CANARY = "canary-2b7c"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield io.StringIO()
    structlog.reset_defaults()
    root.handlers[:], root.level = before, level


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_level_and_instant(stream):
    configure_logs(LogLevel.INFO, stream)
    log = structlog.get_logger()
    log.info("serving", port=7463)
    log.debug("hidden")
    [line] = lines(stream)
    assert (line["event"], line["level"], line["port"]) == ("serving", "info", 7463)
    assert str(line["timestamp"]).endswith("Z")


def test_of_what_libraries_log_only_where_and_what_kind_is_written(stream):
    configure_logs(LogLevel.INFO, stream)
    try:
        raise ValueError(CANARY)
    except ValueError:
        logging.getLogger("grpc").exception("Unexpected %s", CANARY)
    [line] = lines(stream)
    assert (line["event"], line["library"], line["exception"]) == ("library_log", "grpc", "ValueError")
    assert CANARY not in stream.getvalue()


def test_a_higher_level_silences_lower_lines(stream):
    configure_logs(LogLevel.ERROR, stream)
    structlog.get_logger().warning("call_failed")
    assert lines(stream) == []
