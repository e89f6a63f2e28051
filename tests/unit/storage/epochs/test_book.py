"""The epoch book asks the shared cache first and SQL where that does not do; what neither says stays unknown."""

import asyncio

from assemblers.records import UserRef
from storage.conformance.samples import USER
from storage.epochs import EpochBook, KnownEpochs
from storage.ports.confirmations import Confirmation, EpochSource
from storage.ports.epochs import Epochs
from tests.epoch_model import ModelEpochs
from tests.unit.storage.epochs.parts import Clock, Sql, settled


def source(confirmation: Confirmation | None) -> EpochSource | None:
    return None if confirmation is None else confirmation.source


async def confirmed_by_sql(book: EpochBook) -> None:
    assert source(await book.confirm(USER)) is EpochSource.SQL
    await settled()


async def test_sql_confirms_first_and_the_shared_cache_after_that(book: EpochBook, sql: Sql) -> None:
    await confirmed_by_sql(book)
    confirmation = await book.confirm(USER)
    assert confirmation is not None
    assert (confirmation.epochs, confirmation.source) == (Epochs(3, 2, 1), EpochSource.SHARED)
    assert sql.asked == 1


async def test_sql_confirms_anew_after_a_second(book: EpochBook, shared: ModelEpochs) -> None:
    await confirmed_by_sql(book)
    shared.now += 1000
    await confirmed_by_sql(book)
    assert source(await book.confirm(USER)) is EpochSource.SHARED


async def test_another_gateway_s_write_is_seen_at_once(
    book: EpochBook, shared: ModelEpochs, sql: Sql
) -> None:
    await confirmed_by_sql(book)
    sql.epochs = Epochs(4, 2, 1)
    await shared.announce_user(USER, 4, None)
    confirmation = await book.confirm(USER)
    assert confirmation is not None
    assert confirmation.epochs == Epochs(4, 2, 1)


async def test_a_token_ahead_of_the_shared_cache_is_looked_up_in_sql(book: EpochBook, sql: Sql) -> None:
    await confirmed_by_sql(book)
    sql.epochs = Epochs(4, 2, 1)
    confirmation = await book.confirm(USER, at_least=Epochs(4, 0, 0))
    assert confirmation is not None
    assert confirmation.source is EpochSource.SQL
    assert confirmation.covers(Epochs(4, 0, 0))


async def test_a_token_ahead_of_sql_is_not_covered(book: EpochBook) -> None:
    confirmation = await book.confirm(USER, at_least=Epochs(9, 0, 0))
    assert confirmation is not None
    assert confirmation.source is EpochSource.SQL
    assert not confirmation.covers(Epochs(9, 0, 0))


async def test_without_the_shared_cache_sql_confirms_each_time(
    book: EpochBook, shared: ModelEpochs, sql: Sql
) -> None:
    shared.is_down = True
    for _ in range(3):
        await confirmed_by_sql(book)
    assert sql.asked == 3


async def test_without_sql_the_shared_cache_alone_is_stale_and_says_how_old(
    book: EpochBook, shared: ModelEpochs, sql: Sql
) -> None:
    await confirmed_by_sql(book)
    sql.is_down = True
    shared.now += 30_000
    confirmation = await book.confirm(USER)
    assert confirmation is not None
    assert (confirmation.source, confirmation.is_stale) == (EpochSource.SHARED_ALONE, True)
    assert confirmation.age_seconds == 30


async def test_what_the_shared_cache_says_alone_is_not_remembered(
    book: EpochBook, shared: ModelEpochs, sql: Sql, clock: Clock
) -> None:
    await confirmed_by_sql(book)
    sql.is_down = True
    shared.now += 30_000
    clock.seconds += 30
    await book.confirm(USER)
    shared.is_down = True
    assert await book.confirm(USER) is None


async def test_without_both_the_last_second_counts_and_then_nothing(
    book: EpochBook, shared: ModelEpochs, sql: Sql, clock: Clock
) -> None:
    await confirmed_by_sql(book)
    shared.is_down = sql.is_down = True
    clock.seconds += 0.999
    assert source(await book.confirm(USER)) is EpochSource.MEMORY
    clock.seconds += 0.001
    assert await book.confirm(USER) is None
    assert book.known(USER) is None


async def test_a_confirmation_is_as_old_as_sql_s_not_as_the_shared_cache_s_answer(
    book: EpochBook, shared: ModelEpochs, clock: Clock
) -> None:
    await confirmed_by_sql(book)
    shared.now += 900
    clock.seconds += 0.9
    confirmation = await book.confirm(USER)
    assert confirmation is not None
    assert confirmation.source is EpochSource.SHARED
    clock.seconds += 0.101
    assert book.known(USER) is None


async def test_sql_that_is_too_late_is_not_waited_for(book: EpochBook, sql: Sql) -> None:
    sql.held = asyncio.Event()
    assert await book.confirm(USER, within=0.01) is None


async def test_an_unknown_user_leaves_nothing_behind(book: EpochBook, shared: ModelEpochs, sql: Sql) -> None:
    """P13."""
    sql.epochs = Epochs(0, 0, 1)
    await confirmed_by_sql(book)
    assert shared.entries == {}
    await book.confirm(USER, keep_unknown=True)
    await settled()
    assert source(await book.confirm(USER)) is EpochSource.SHARED


async def test_a_write_of_this_process_outdoes_what_the_shared_cache_says(
    book: EpochBook, shared: ModelEpochs, sql: Sql, known: KnownEpochs
) -> None:
    """Its announcement was lost: elsewhere that may be stale for a second, here never."""
    await confirmed_by_sql(book)
    sql.epochs = Epochs(4, 2, 1)
    known.raise_user(USER, 4, None)
    confirmation = await book.confirm(USER)
    assert confirmation is not None
    assert confirmation.epochs == Epochs(4, 2, 1)
    known.raise_tenant(USER.tenant_id, 5)
    sql.is_down = shared.is_down = True
    assert await book.confirm(USER) is None


async def test_a_read_of_sql_from_before_a_write_is_not_remembered_after_it(
    book: EpochBook, shared: ModelEpochs, sql: Sql, known: KnownEpochs
) -> None:
    shared.is_down = True
    sql.held = asyncio.Event()
    before = asyncio.create_task(book.confirm(USER))
    await settled()
    sql.epochs = Epochs(4, 2, 1)
    known.raise_user(USER, 4, None)
    sql.held.set()
    await before
    assert book.known(USER) is None


async def test_users_are_told_apart(book: EpochBook, shared: ModelEpochs, sql: Sql) -> None:
    await confirmed_by_sql(book)
    shared.is_down = sql.is_down = True
    assert await book.confirm(UserRef("acme", "ann ")) is None


async def test_closing_gives_up_what_is_under_way(book: EpochBook, shared: ModelEpochs) -> None:
    await book.confirm(USER)
    await book.close()
    assert shared.entries == {}
