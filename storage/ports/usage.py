"""What providers billed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from storage.ports.receipts import Receipt


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the provider billed for a trace, beside what was estimated. Tokens; `estimated_raw` before the factor."""

    tenant_id: str
    trace_id: str
    calibration_key: str
    estimated_raw: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    output_tokens: int
    report_time: datetime


class UsageStore(Protocol):
    """Reported usage."""

    async def report(self, usage: UsageReport, receipt: Receipt[UsageReport]) -> UsageReport: ...
    async def observations(self, tenant_id: str, calibration_key: str) -> tuple[tuple[int, int], ...]:
        """The latest (estimated_raw, input_tokens) pairs, at most 1,000, newest last. The same object until one is
        added, as far as it is kept in memory."""
        ...

    def forget_tenant(self, tenant_id: str) -> None:
        """The tenant's usage changed in another process: let everything of it be read anew."""
        ...
