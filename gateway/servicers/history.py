"""HistoryService: import and search archives."""

from gateway.convert.history import past_session_of, report_to, result_to, search_of
from gateway.convert.types import user_of
from gateway.server.call import Call
from gateway.servicers.tokens import WriteTokens, seen_of
from gateway.usecases.history import History
from muniment.v1 import history_pb2


class HistoryServicer:
    """The servicer."""

    def __init__(self, history: History, tokens: WriteTokens) -> None:
        self._history, self._tokens = history, tokens

    async def ImportHistory(
        self, request: history_pb2.ImportHistoryRequest, call: Call
    ) -> history_pb2.ImportHistoryResponse:
        """Archive past sessions."""
        user = user_of(request.user)
        sessions = [past_session_of(s, f"sessions[{i}]") for i, s in enumerate(request.sessions)]
        if request.validate_only:
            return report_to(await self._history.validate_import(user, sessions, request.policy, call.now))
        receipt = call.receipt(report_to)
        work = self._history.import_sessions(user, sessions, request.policy, call.now, receipt)
        return await self._tokens.stamped(user, history_pb2.ImportHistoryResponse, work, report_to)

    async def SearchHistory(
        self, request: history_pb2.SearchHistoryRequest, call: Call
    ) -> history_pb2.SearchHistoryResponse:
        """Search an archive."""
        user = user_of(request.user)
        return result_to(
            await self._history.search(user, search_of(request), call.deadline, seen_of(request)), user
        )
