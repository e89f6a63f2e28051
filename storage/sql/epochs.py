"""Epochs in SQL, and the announcer of a process that is alone."""

from typing import Final

from assemblers.records import UserRef
from storage.ports.epochs import Epochs
from storage.sql.engine import Connection, Database

_READ: Final = """SELECT
    coalesce((SELECT fact_epoch FROM users WHERE tenant_id = ? AND user_id = ?), 0) AS fact_epoch,
    coalesce((SELECT archive_epoch FROM users WHERE tenant_id = ? AND user_id = ?), 0) AS archive_epoch,
    coalesce((SELECT epoch FROM tenants WHERE tenant_id = ?), 0) AS tenant_epoch"""
_ADVANCE: Final = """INSERT INTO tenants (tenant_id, epoch) VALUES (?, 1)
    ON CONFLICT (tenant_id) DO UPDATE SET epoch = tenants.epoch + 1 RETURNING epoch"""


class SqlEpochs:
    """The port `EpochStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, user: UserRef) -> Epochs:
        """The epochs, in one statement."""
        owner = (user.tenant_id, user.user_id)
        row = await self._database.row(user.tenant_id, _READ, (*owner, *owner, user.tenant_id))
        return Epochs() if row is None else Epochs(*row)


class Unannounced:
    """The port `Announcer` where nobody else has to know."""

    async def user_changed(self, user: UserRef, facts: int | None, archive: int | None) -> None:
        """Nothing to do."""

    async def tenant_changed(self, tenant_id: str, epoch: int) -> None:
        """Nothing to do."""


def advance_tenant(connection: Connection, tenant_id: str) -> int:
    """The tenant's policies, prefixes or usage changed: its epoch from now on."""
    # All rows, since a statement that is not read to its end stays open.
    ((epoch,),) = connection.execute(_ADVANCE, (tenant_id,)).fetchall()
    return int(epoch)
