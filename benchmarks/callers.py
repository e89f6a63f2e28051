"""A caller of AssembleContext or of the echo, with requests that are ready but for the turn id."""

from itertools import count

from benchmarks import scene
from benchmarks.process import Connection, Request, Response

_QUESTIONS = 64


class Caller:
    """Asks different questions in one session, one after the other."""

    def __init__(self, connection: Connection, user_id: str, session_id: str) -> None:
        self._connection = connection
        self._requests = scene.questions(user_id, session_id, _QUESTIONS)
        self._numbers = count()

    async def assemble(self) -> Response:
        """AssembleContext for the next question."""
        return await self._connection.assemble(self._next())

    async def echo(self) -> Response:
        """The echo, with the same request."""
        return await self._connection.echo(self._next())

    def _next(self) -> Request:
        number = next(self._numbers)
        request = self._requests[number % _QUESTIONS]
        request.turn.turn_id = f"t{number}"
        return request
