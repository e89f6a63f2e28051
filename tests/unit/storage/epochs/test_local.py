"""Where one process alone writes, epochs are read once and then known."""

import asyncio

from storage.conformance.samples import OTHER, USER
from storage.epochs import LocalEpochs
from storage.ports.confirmations import Confirmation, EpochSource
from storage.ports.epochs import Epochs
from tests.unit.storage.epochs.parts import Sql, settled


async def epochs(local: LocalEpochs) -> Epochs | None:
    confirmation = await local.confirm(USER)
    return None if confirmation is None else confirmation.epochs


async def test_a_user_s_epochs_are_read_once(sql: Sql) -> None:
    local = LocalEpochs(sql)
    assert local.known(USER) is None
    for _ in range(3):
        assert await local.confirm(USER) == Confirmation(Epochs(3, 2, 1), EpochSource.SQL, 0.0)
    assert sql.asked == 1
    assert local.known(OTHER) is None


async def test_changes_are_known_without_reading(sql: Sql) -> None:
    local = LocalEpochs(sql)
    await local.confirm(USER)
    await local.user_changed(USER, 4, None)
    await local.user_changed(USER, None, 9)
    await local.tenant_changed("acme", 5)
    assert await epochs(local) == Epochs(4, 9, 5)
    assert sql.asked == 1


async def test_a_change_during_the_first_read_is_not_missed(sql: Sql) -> None:
    local = LocalEpochs(sql)
    sql.held = asyncio.Event()
    reading = asyncio.create_task(local.confirm(USER))
    await settled()
    await local.user_changed(USER, 4, None)
    sql.held.set()
    confirmation = await reading
    assert confirmation is not None
    assert confirmation.epochs == Epochs(4, 2, 1)


async def test_what_cannot_be_read_is_unknown(sql: Sql) -> None:
    local = LocalEpochs(sql)
    sql.is_down = True
    assert await local.confirm(USER) is None


async def test_a_user_who_was_forgotten_is_read_again(sql: Sql) -> None:
    local = LocalEpochs(sql, capacity=1)
    await local.confirm(USER)
    await local.confirm(OTHER)
    sql.epochs = Epochs(5, 2, 1)
    assert await epochs(local) == Epochs(5, 2, 1)
