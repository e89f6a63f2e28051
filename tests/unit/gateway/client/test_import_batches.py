"""Archives go to the gateway in calls of bounded size, and are counted as one."""

from typing import cast

from gateway.client import Client
from gateway.client.conversations.player import IMPORT_BYTES, import_sessions
from muniment.v1.history_pb2 import ImportHistoryRequest, ImportHistoryResponse, PastSession
from muniment.v1.types_pb2 import Content, Turn, UserRef


class _History:
    ImportHistory = None


class _Client:
    """Takes imports and counts them, as the gateway would."""

    history = _History()

    def __init__(self) -> None:
        self.requests: list[ImportHistoryRequest] = []

    def call(self, _: object, request: ImportHistoryRequest) -> ImportHistoryResponse:
        self.requests.append(request)
        return ImportHistoryResponse(session_count=len(request.sessions), turn_count=len(request.sessions))


def session(number: int, size: int) -> PastSession:
    return PastSession(session_id=f"s-{number}", turns=[Turn(contents=[Content(text="x" * size)])])


def imported(
    sessions: list[PastSession],
) -> tuple[list[ImportHistoryRequest], ImportHistoryResponse, list[int]]:
    client, progress = _Client(), list[int]()
    user = UserRef(tenant_id="acme", user_id="dana")
    total = import_sessions(
        cast("Client", client), user, tuple(sessions), "", lambda _, done, __: progress.append(done)
    )
    return client.requests, total, progress


def test_nothing_is_sent_where_there_is_nothing():
    assert imported([]) == ([], ImportHistoryResponse(), [])


def test_large_archives_are_sent_in_several_calls_in_their_order():
    sessions = [session(number, IMPORT_BYTES // 3) for number in range(5)]
    requests, total, progress = imported(sessions)
    assert [len(request.sessions) for request in requests] == [2, 2, 1]
    assert [s.session_id for request in requests for s in request.sessions] == [
        s.session_id for s in sessions
    ]
    assert (total.session_count, total.turn_count) == (5, 5)
    assert progress == [2, 4, 5]


def test_no_call_has_more_sessions_than_the_contract_allows():
    requests, _, _ = imported([session(number, 1) for number in range(1500)])
    assert [len(request.sessions) for request in requests] == [1000, 500]


def test_a_session_that_is_large_by_itself_is_sent_alone():
    requests, _, _ = imported([session(0, 1), session(1, IMPORT_BYTES * 2), session(2, 1)])
    assert [len(request.sessions) for request in requests] == [1, 1, 1]
