"""TraceService: show, list, why, why not, where else, replay."""

from gateway.convert.context import formats_of
from gateway.convert.trace_requests import missed_of, selector_of
from gateway.convert.traces import absences_to, appearance_to, explanation_to, replayed_to, shown_to, trace_to
from gateway.convert.types import user_of
from gateway.names import parse_trace_name
from gateway.server.call import Call
from gateway.servicers.paging import pager_for
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.traces import TraceReader
from muniment.v1 import trace_pb2


class TraceServicer:
    """The servicer."""

    def __init__(self, reader: TraceReader, replayer: Replayer) -> None:
        self._reader, self._replayer = reader, replayer

    async def GetTrace(self, request: trace_pb2.GetTraceRequest, call: Call) -> trace_pb2.GetTraceResponse:
        """A trace with its candidates."""
        name = parse_trace_name("name", request.name)
        shown = await self._reader.get(name.tenant_id, name.trace_id)
        return trace_pb2.GetTraceResponse(trace=shown_to(shown))

    async def ListTraces(
        self, request: trace_pb2.ListTracesRequest, call: Call
    ) -> trace_pb2.ListTracesResponse:
        """Traces without their candidates."""
        pager = pager_for(request)
        page = pager.request(request.page_token, request.page_size)
        found = await self._reader.list(request.tenant_id, selector_of(request), page)
        return trace_pb2.ListTracesResponse(
            traces=[trace_to(trace) for trace in found.items],
            next_page_token=pager.token(found.next_cursor),
        )

    async def ExplainItem(
        self, request: trace_pb2.ExplainItemRequest, call: Call
    ) -> trace_pb2.ExplainItemResponse:
        """Why an item is in a prompt."""
        name = parse_trace_name("trace", request.trace)
        explained = await self._reader.explain_item(name.tenant_id, name.trace_id, request.item_id, call.now)
        return explanation_to(explained)

    async def ExplainAbsence(
        self, request: trace_pb2.ExplainAbsenceRequest, call: Call
    ) -> trace_pb2.ExplainAbsenceResponse:
        """Why something is not in a prompt."""
        name = parse_trace_name("trace", request.trace)
        missed, owner = missed_of(request)
        return absences_to(await self._reader.explain_absence(name.tenant_id, name.trace_id, missed, owner))

    async def ListAppearances(
        self, request: trace_pb2.ListAppearancesRequest, call: Call
    ) -> trace_pb2.ListAppearancesResponse:
        """Where an item was."""
        pager = pager_for(request)
        page = pager.request(request.page_token, request.page_size)
        found = await self._reader.appearances(user_of(request.user), request.item_id, page)
        return trace_pb2.ListAppearancesResponse(
            appearances=[appearance_to(item) for item in found.items],
            next_page_token=pager.token(found.next_cursor),
        )

    async def ReplayTrace(
        self, request: trace_pb2.ReplayTraceRequest, call: Call
    ) -> trace_pb2.ReplayTraceResponse:
        """The prompt again."""
        name = parse_trace_name("name", request.name)
        replayed = await self._replayer.replay(name.tenant_id, name.trace_id, formats_of(request.formats))
        return replayed_to(replayed)
