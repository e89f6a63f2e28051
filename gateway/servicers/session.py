"""SessionService: record turns, look at a session, set slots, end it."""

from gateway.convert.sessions import batch_of, ending_to, recorded_to, update_of, view_to
from gateway.convert.types import session_of, turn_to
from gateway.server.call import Call
from gateway.servicers.paging import pager_for
from gateway.servicers.tokens import WriteTokens
from gateway.usecases.recording import TurnRecorder
from gateway.usecases.sessions import Ending, Sessions, SessionView
from muniment.v1 import session_pb2


class SessionServicer:
    """The servicer."""

    def __init__(self, recorder: TurnRecorder, sessions: Sessions, tokens: WriteTokens) -> None:
        self._recorder, self._sessions, self._tokens = recorder, sessions, tokens

    async def RecordTurns(
        self, request: session_pb2.RecordTurnsRequest, call: Call
    ) -> session_pb2.RecordTurnsResponse:
        """Store turns before they are acknowledged."""
        batch = batch_of(request, call.now)
        return recorded_to(await self._recorder.record(batch, call.now, call.receipt(recorded_to)))

    async def GetSession(
        self, request: session_pb2.GetSessionRequest, call: Call
    ) -> session_pb2.GetSessionResponse:
        """Slots and a page of turns."""
        pager = pager_for(request)
        asked = pager.request(request.page_token, request.page_size)
        view, page = await self._sessions.get(session_of(request.session), call.now, asked)
        return session_pb2.GetSessionResponse(
            session=view_to(view),
            turns=[turn_to(turn) for turn in page.items],
            next_page_token=pager.token(page.next_cursor),
        )

    async def UpdateSlots(
        self, request: session_pb2.UpdateSlotsRequest, call: Call
    ) -> session_pb2.UpdateSlotsResponse:
        """Set slots by hand."""

        def answer(view: SessionView) -> session_pb2.UpdateSlotsResponse:
            return session_pb2.UpdateSlotsResponse(session=view_to(view))

        view = await self._sessions.update_slots(update_of(request), call.now, call.receipt(answer))
        return answer(view)

    async def EndSession(
        self, request: session_pb2.EndSessionRequest, call: Call
    ) -> session_pb2.EndSessionResponse:
        """Archive where the policy says so, and forget."""
        session = session_of(request.session)

        def answer(ending: Ending) -> session_pb2.EndSessionResponse:
            return ending_to(ending, session)

        work = self._sessions.end(session, request.policy, call.now, call.receipt(answer))
        return await self._tokens.stamped(session.user, session_pb2.EndSessionResponse, work, answer)
