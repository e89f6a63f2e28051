"""Logs: one JSON object a line on stderr, with names, codes and durations, never with content."""

import logging
import sys
from typing import TextIO

import structlog

from gateway.config import LogLevel


def configure_logs(level: LogLevel = LogLevel.INFO, stream: TextIO | None = None) -> None:
    """Set up our own log and what libraries log, on `stream` (stderr by default)."""
    out = stream or sys.stderr
    number = getattr(logging, level.name)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(sort_keys=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_LibraryHandler()], level=max(number, logging.WARNING), force=True)


class _LibraryHandler(logging.Handler):
    """Writes that a library logged something, where and what kind, without the words: they may quote content."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line for the record."""
        kind = record.exc_info[0].__qualname__ if record.exc_info and record.exc_info[0] else ""
        structlog.get_logger().log(
            record.levelno,
            "library_log",
            library=record.name,
            place=f"{record.module}:{record.lineno}",
            exception=kind,
        )
