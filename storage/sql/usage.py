"""Reported usage in SQL."""

from dataclasses import dataclass
from typing import Final

from storage.encryption.key_ring import KeyRing
from storage.encryption.user_cipher import tenant_cipher
from storage.errors import AlreadyExists, NotFound
from storage.mirrors import Mirror
from storage.ports import Receipt, UsageReport
from storage.sql.announcing import Announcements
from storage.sql.columns import to_micros
from storage.sql.engine import Connection, Database, tenant_scope
from storage.sql.epochs import advance_tenant
from storage.sql.receipts import once
from storage.sql.writing import Done, unless_known

OBSERVATIONS: Final = 1_000
_KEPT: Final = 1_000
TOLD_AFTER: Final = 16
"""After how many reports of a key other gateways are told: each telling makes them read policies and prefixes of
the tenant anew, and a factor moves little by one report. The first ones, which move it most, are told at once."""

_FIELDS = (
    "calibration_key, estimated_raw, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens"
)
_TRACE = "SELECT 1 FROM traces WHERE tenant_id = ? AND trace_id = ?"
_FIND = f"SELECT no, {_FIELDS} FROM usage_reports WHERE tenant_id = ? AND trace_id = ?"
_INSERT = f"""INSERT INTO usage_reports (tenant_id, trace_id, {_FIELDS}, report_time, no)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?,
    (SELECT coalesce(max(no), 0) + 1 FROM usage_reports WHERE tenant_id = ? AND calibration_key = ?))"""
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


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A report and its number among those of its key."""

    no: int
    usage: UsageReport


class SqlUsage:
    """The port `UsageStore`. The latest observations of a key are read once and then kept up in memory."""

    def __init__(self, database: Database, announcements: Announcements, keys: KeyRing) -> None:
        self._database, self._announcements, self._keys = database, announcements, keys
        self._observations: Mirror[Observations] = Mirror(_KEPT)

    async def report(self, usage: UsageReport, receipt: Receipt[UsageReport]) -> UsageReport:
        """Store what was billed for a trace, once. Raises `NotFound`, or `AlreadyExists` where it said otherwise."""
        key = (usage.tenant_id, usage.calibration_key)
        cipher = await tenant_cipher(self._keys, usage.tenant_id)

        def body(connection: Connection) -> Done[_Numbered]:
            return once(connection, cipher, _numbered(receipt), lambda: _store(connection, usage))

        def committed(done: Done[_Numbered]) -> None:
            self._observations.change(key, lambda known: known.with_report(done.result.no, usage))

        with unless_known(lambda: self._observations.forget(key)):
            write = self._database.write(tenant_scope(usage.tenant_id, "usage"), body, committed)
            return (await self._announcements.of_tenant(usage.tenant_id, write)).usage

    def forget_tenant(self, tenant_id: str) -> None:
        """Usage was reported for the tenant."""
        self._observations.forget_tenant(tenant_id)

    async def observations(self, tenant_id: str, calibration_key: str) -> tuple[tuple[int, int], ...]:
        """The latest pairs, newest last."""
        key = (tenant_id, calibration_key)
        return (await self._observations.get(key, lambda: self._read(key))).pairs

    async def _read(self, key: tuple[str, str]) -> Observations:
        rows = await self._database.rows(key[0], _LATEST, key)
        pairs = tuple((int(raw), int(billed)) for _, raw, billed in reversed(rows))
        return Observations(rows[0][0] if rows else 0, pairs)


def _numbered(receipt: Receipt[UsageReport]) -> Receipt[_Numbered]:
    return Receipt(
        receipt.tenant_id,
        receipt.method,
        receipt.request_id,
        receipt.body_sha256,
        receipt.now,
        lambda stored: receipt.encode(stored.usage),
    )


def _store(connection: Connection, usage: UsageReport) -> Done[_Numbered]:
    """Store a report; an equal one is left as it is."""
    key = (usage.tenant_id, usage.trace_id)
    if connection.execute(_TRACE, key).fetchone() is None:
        raise NotFound("no such trace")
    found = connection.execute(_FIND, key).fetchone()
    if found is not None and tuple(found[1:]) != _fields(usage):
        raise AlreadyExists("trace")
    if found is not None:
        return Done(_Numbered(found[0], usage))
    place = (usage.tenant_id, usage.calibration_key)
    connection.execute(_INSERT, (*key, *_fields(usage), to_micros(usage.report_time), *place))
    ((no, *_),) = connection.execute(_FIND, key).fetchall()
    told = no <= TOLD_AFTER or no % TOLD_AFTER == 0
    return Done(_Numbered(no, usage), advance_tenant(connection, usage.tenant_id) if told else None)


def _fields(usage: UsageReport) -> tuple[str | int, ...]:
    return (
        usage.calibration_key,
        usage.estimated_raw,
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
    )
