"""ReportUsage: what a provider billed calibrates the estimates of models without a public tokenizer."""

from dataclasses import dataclass
from datetime import datetime

from assemblers.tokens import UNSCALED
from gateway.errors import AlreadyExists, FieldViolation, InvalidArgument, Reason
from gateway.usecases.models import ModelBook, calibration_key
from gateway.usecases.opened_trace import OpenedTrace
from gateway.usecases.receipts import through
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.requests import RequestedModel
from storage.errors import AlreadyExists as AlreadyStored
from storage.ports import Receipt, UsageReport, UsageStore


@dataclass(frozen=True, slots=True)
class Billed:
    """What a provider billed for a prompt, in its tokens. Cached and written ones are among the input's."""

    input_tokens: int
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class UsageAnswer:
    """What was estimated for the prompt, and the factor from now on, in thousandths."""

    estimated_tokens: int
    factor_permille: int


class UsageReports:
    """The use case. One instance serves all calls."""

    def __init__(self, replayer: Replayer, usage: UsageStore, models: ModelBook) -> None:
        self._replayer, self._usage, self._models = replayer, usage, models

    async def report(
        self, tenant_id: str, trace_id: str, billed: Billed, now: datetime, receipt: Receipt[UsageAnswer]
    ) -> UsageAnswer:
        """Store what was billed for a trace, once.

        Raises InvalidArgument, NotFound, FailedPrecondition where the trace's content was erased, and AlreadyExists
        where other figures were reported for it.
        """
        _check(billed)
        trace = await self._replayer.open(tenant_id, trace_id)
        usage, model = await _usage(trace, billed, now, self._models)
        estimated = trace.record.budget.used
        # What a repeat will be told is made within the transaction, which must wait for nothing.
        pair = (usage.estimated_raw, usage.input_tokens)
        foretold = UsageAnswer(estimated, await self._models.factor(tenant_id, model, pair))
        try:
            await self._usage.report(usage, through(receipt, lambda _: foretold))
        except AlreadyStored:
            raise AlreadyExists(
                Reason.REQUEST_ID_REUSED,
                "trace: other figures were reported for it: report each trace once, with its final usage",
                {"field": "trace"},
            ) from None
        return UsageAnswer(estimated, await self._models.factor(tenant_id, model))


def _check(billed: Billed) -> None:
    shares = {
        "cached_input_tokens": billed.cached_input_tokens,
        "cache_write_tokens": billed.cache_write_tokens,
    }
    wrong = [
        FieldViolation(
            field, f"{tokens} is more than input_tokens, {billed.input_tokens}, which it is a part of"
        )
        for field, tokens in shares.items()
        if tokens > billed.input_tokens
    ]
    if wrong:
        raise InvalidArgument(wrong)


async def _usage(
    trace: OpenedTrace, billed: Billed, now: datetime, models: ModelBook
) -> tuple[UsageReport, RequestedModel]:
    record, asked = trace.record, trace.whole().asked
    tenant_id = trace.session.tenant_id
    model = RequestedModel(asked.provider, asked.model, record.counting.tokenizer)
    # Exact, since no factor is below 1: scaling up and rounding up can be undone.
    raw = record.budget.used * UNSCALED // record.budget.factor_permille
    profile = await models.resolve(tenant_id, model)
    usage = UsageReport(
        tenant_id=tenant_id,
        trace_id=record.trace_id,
        calibration_key=calibration_key(profile),
        estimated_raw=raw,
        input_tokens=billed.input_tokens,
        cached_input_tokens=billed.cached_input_tokens,
        cache_write_tokens=billed.cache_write_tokens,
        output_tokens=billed.output_tokens,
        report_time=now,
    )
    return usage, model
