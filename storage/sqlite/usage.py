"""Reported usage on SQLite."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from storage.errors import AlreadyExists, NotFound
from storage.mirrors import Mirror
from storage.ports import Receipt, UsageReport
from storage.sql.columns import to_micros
from storage.sqlite.database import Database
from storage.sqlite.receipts import once

OBSERVATIONS: Final = 1_000
_KEPT: Final = 1_000

_FIELDS = (
    "calibration_key, estimated_raw, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens"
)
_TRACE = "SELECT 1 FROM traces WHERE tenant_id = ? AND trace_id = ?"
_FIND = f"SELECT no, {_FIELDS} FROM usage_reports WHERE tenant_id = ? AND trace_id = ?"
_INSERT = f"""INSERT INTO usage_reports (tenant_id, trace_id, {_FIELDS}, report_time, no)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
    (SELECT coalesce(max(no), 0) + 1 FROM usage_reports WHERE tenant_id = ?1 AND calibration_key = ?3))"""
_LATEST = f"""SELECT no, estimated_raw, input_tokens FROM usage_reports WHERE tenant_id = ? AND calibration_key = ?
    ORDER BY no DESC LIMIT {OBSERVATIONS}"""


@dataclass(frozen=True, slots=True)
class Observations:
    """The latest pairs of a key, newest last, up to the report numbered `no`."""

    no: int
    pairs: tuple[tuple[int, int], ...]

    def with_report(self, no: int, usage: UsageReport) -> "Observations | None":
        """These and one more; one that they hold already changes nothing. None where reports between are missing."""
        if no <= self.no:
            return self
        if no > self.no + 1:
            return None
        return Observations(no, (*self.pairs, (usage.estimated_raw, usage.input_tokens))[-OBSERVATIONS:])


class SqliteUsage:
    """The port `UsageStore`. The latest observations of a key are read once and then kept up in memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._observations: Mirror[Observations] = Mirror(_KEPT)

    async def report(self, usage: UsageReport, receipt: Receipt[UsageReport]) -> UsageReport:
        """Store what was billed for a trace, once. Raises `NotFound`, or `AlreadyExists` where it said otherwise."""
        key = (usage.tenant_id, usage.calibration_key)
        stored_no = 0

        def body(connection: sqlite3.Connection) -> UsageReport:
            def store() -> UsageReport:
                nonlocal stored_no
                stored_no = _store(connection, usage)
                return usage

            return once(connection, receipt, store)

        def committed(_: UsageReport) -> None:
            self._observations.change(key, lambda known: known.with_report(stored_no, usage))

        return await self._database.write(body, committed)

    async def observations(self, tenant_id: str, calibration_key: str) -> tuple[tuple[int, int], ...]:
        """The latest pairs, newest last."""
        key = (tenant_id, calibration_key)
        return (await self._observations.get(key, lambda: self._read(key))).pairs

    async def _read(self, key: tuple[str, str]) -> Observations:
        rows = self._database.rows(_LATEST, key)
        pairs = tuple((int(raw), int(billed)) for _, raw, billed in reversed(rows))
        return Observations(rows[0][0] if rows else 0, pairs)


def _store(connection: sqlite3.Connection, usage: UsageReport) -> int:
    """Store a report and give its number."""
    key = (usage.tenant_id, usage.trace_id)
    if connection.execute(_TRACE, key).fetchone() is None:
        raise NotFound("no such trace")
    fields = (
        usage.calibration_key,
        usage.estimated_raw,
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
    )
    found = connection.execute(_FIND, key).fetchone()
    if found is None:
        connection.execute(_INSERT, (*key, *fields, to_micros(usage.report_time)))
        found = connection.execute(_FIND, key).fetchone()
    elif tuple(found[1:]) != fields:
        raise AlreadyExists("trace")
    return int(found[0])
