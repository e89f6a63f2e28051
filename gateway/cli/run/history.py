"""`history`: what was said in past sessions."""

from datetime import UTC, datetime
from pathlib import Path

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection, Who
from gateway.cli.run.output import calling, emit, fail, progress
from gateway.cli.show.tables import import_line, matches_view
from gateway.client.conversations import LineError
from gateway.client.conversations.player import import_sessions
from gateway.client.conversations.reader import read_archive
from muniment.v1.history_pb2 import SearchHistoryRequest
from muniment.v1.types_pb2 import UserRef


def import_file(connection: Connection, who: Who, file: Path, policy: str, dry_run: bool) -> None:
    """Archive the sessions of a file, all of them."""
    try:
        sessions = read_archive(file, datetime.now(UTC))
    except LineError as error:
        fail(str(error), ExitCode.INVALID)
    user = UserRef(tenant_id=who.tenant, user_id=who.user)
    with calling(connection) as client, progress(connection) as advance:
        counts = import_sessions(client, user, sessions, policy, advance, dry_run)
    emit(connection, counts, import_line(counts))


def search(connection: Connection, who: Who, query: str, policy: str, limit: int) -> None:
    """Search a user's archive as an assembly would."""
    user = UserRef(tenant_id=who.tenant, user_id=who.user)
    request = SearchHistoryRequest(user=user, query=query, policy=policy, max_results=min(limit, 200))
    with calling(connection) as client:
        answer = client.call(client.history.SearchHistory, request)
    emit(connection, answer, matches_view(answer))
