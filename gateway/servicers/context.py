"""ContextService: assemble, explain, count, report."""

from gateway.convert.answers import AnswerEncoder, EarlyPrompt, answer_to
from gateway.convert.context import model_of, request_of
from gateway.convert.prompt import EXACTNESS_TO
from gateway.convert.traces import shown_to
from gateway.errors import InvalidArgument
from gateway.names import parse_trace_name
from gateway.server.call import Call
from gateway.usecases.assemble_context import ContextAssembler
from gateway.usecases.models import TokenCounts
from gateway.usecases.opened_trace import open_captured
from gateway.usecases.runtime import Runtime
from gateway.usecases.surroundings import Lookups
from gateway.usecases.traces import ShownTrace
from gateway.usecases.usage import Billed, UsageAnswer, UsageReports
from muniment.v1 import context_pb2


class ContextServicer:
    """The servicer."""

    def __init__(
        self,
        assembler: ContextAssembler,
        counts: TokenCounts,
        reports: UsageReports,
        lookups: Lookups,
        runtime: Runtime,
    ) -> None:
        self._assembler, self._counts, self._reports = assembler, counts, reports
        self._lookups, self._runtime = lookups, runtime
        self._answers = AnswerEncoder()

    async def AssembleContext(
        self, request: context_pb2.AssembleContextRequest, call: Call
    ) -> context_pb2.AssembleContextResponse | bytes:
        """A prompt for a turn, with its trace made durable before it leaves."""
        asked = request_of(request, call.now, self._runtime.new_id)
        if request.validate_only:
            return answer_to(await self._assembler.explain(asked, call.now, call.deadline))
        early = EarlyPrompt(self._answers)
        return early.encode(await self._assembler.assemble(asked, call.now, call.deadline, early.prepare))

    async def ExplainContext(
        self, request: context_pb2.ExplainContextRequest, call: Call
    ) -> context_pb2.ExplainContextResponse:
        """The same without writing, with the trace inline."""
        try:
            asked = request_of(request.request, call.now, self._runtime.new_id)
            answer = await self._assembler.explain(asked, call.now, call.deadline)
        except InvalidArgument as error:
            raise error.under("request") from None
        plain = answer_to(answer)
        assert answer.captured is not None, "explaining captures"
        trace = open_captured(answer.captured, answer.session)
        shown = ShownTrace(trace, await self._lookups.observed(trace))
        return context_pb2.ExplainContextResponse(
            prompt=plain.prompt, policy_revision=plain.policy_revision, slots=plain.slots,
            degradations=plain.degradations, warnings=plain.warnings, trace=shown_to(shown),
        )  # fmt: skip

    async def CountTokens(
        self, request: context_pb2.CountTokensRequest, call: Call
    ) -> context_pb2.CountTokensResponse:
        """Tokens of texts."""
        counted = await self._counts.count(call.tenant_id, model_of(request.model), request.texts)
        tokens = counted.profile.tokens
        return context_pb2.CountTokensResponse(
            token_counts=counted.tokens, exactness=EXACTNESS_TO[tokens.exactness], tokenizer=tokens.counter.id,
            factor_permille=tokens.factor_permille,
        )  # fmt: skip

    async def ReportUsage(
        self, request: context_pb2.ReportUsageRequest, call: Call
    ) -> context_pb2.ReportUsageResponse:
        """What a provider billed for a trace."""
        name = parse_trace_name("trace", request.trace)
        billed = Billed(
            request.input_tokens,
            request.cached_input_tokens,
            request.cache_write_tokens,
            request.output_tokens,
        )
        answer = await self._reports.report(
            name.tenant_id, name.trace_id, billed, call.now, call.receipt(_usage)
        )
        return _usage(answer)


def _usage(answer: UsageAnswer) -> context_pb2.ReportUsageResponse:
    return context_pb2.ReportUsageResponse(
        estimated_input_tokens=answer.estimated_tokens, factor_permille=answer.factor_permille
    )
