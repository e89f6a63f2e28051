"""SQLAlchemy's dialect for asyncpg, for connections that may be cut off at any moment."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.engine.interfaces import DBAPIConnection

DRIVER: Final = "postgresql+muniment"
"""What URLs name it by."""


class Dialect(PGDialect_asyncpg):
    """New connections are taught nothing here (four queries for JSON, which no column has), and ends are abrupt."""

    supports_statement_cache = True

    def on_connect(self) -> Callable[[Any], None] | None:
        """Nothing to do on a new connection."""
        return None

    def do_close(self, dbapi_connection: DBAPIConnection) -> None:
        """Say goodbye and wait for no answer: the server may stand still."""
        self.do_terminate(dbapi_connection)

    def do_terminate(self, dbapi_connection: DBAPIConnection) -> None:
        """Let go of the connection, whatever is under way on it."""
        connection: Any = dbapi_connection
        connection.driver_connection.terminate()


registry.register(DRIVER.replace("+", "."), __name__, Dialect.__name__)
