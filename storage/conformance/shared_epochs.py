"""The shared cache of epochs: what it says after reads, fills and announcements in whatever order."""

from collections.abc import Awaitable, Callable

from assemblers.records import UserRef
from storage.conformance.samples import OTHER, USER
from storage.epochs import Mark, SharedEpochs, SharedState
from storage.ports.epochs import Epochs

Pass = Callable[[float], Awaitable[None]]


async def filled(shared: SharedEpochs, epochs: Epochs, user: UserRef = USER) -> SharedState:
    """What is read after SQL confirmed the epochs."""
    mark = (await shared.read(user)).mark
    await shared.fill(user, epochs, mark, keep_unknown=False)
    return await shared.read(user)


class SharedEpochsSuite:
    """Runs on a fixture `shared`, an empty cache, and on `pass_time`, which lets that many seconds pass for it."""

    async def test_nothing_is_known_of_an_unknown_user(self, shared: SharedEpochs) -> None:
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (None, False)

    async def test_what_was_filled_is_fresh_and_young(self, shared: SharedEpochs) -> None:
        state = await filled(shared, Epochs(3, 2, 1))
        assert (state.epochs, state.is_fresh) == (Epochs(3, 2, 1), True)
        assert 0 <= state.age_seconds < 1

    async def test_a_confirmation_lasts_a_second_and_its_epochs_longer(
        self, shared: SharedEpochs, pass_time: Pass
    ) -> None:
        await filled(shared, Epochs(3, 2, 1))
        await pass_time(1.05)
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (Epochs(3, 2, 1), False)
        assert state.age_seconds >= 1

    async def test_a_fill_that_comes_a_second_late_is_refused(
        self, shared: SharedEpochs, pass_time: Pass
    ) -> None:
        mark = (await shared.read(USER)).mark
        await pass_time(1.05)
        await shared.fill(USER, Epochs(3, 2, 1), mark, keep_unknown=False)
        assert (await shared.read(USER)).epochs is None

    async def test_a_mark_of_the_future_is_refused(self, shared: SharedEpochs) -> None:
        mark = (await shared.read(USER)).mark
        later = Mark(mark.user_ms + 60_000, mark.tenant_ms + 60_000)
        await shared.fill(USER, Epochs(3, 2, 1), later, keep_unknown=False)
        assert (await shared.read(USER)).epochs is None

    async def test_an_announcement_takes_the_confirmation_away(self, shared: SharedEpochs) -> None:
        await filled(shared, Epochs(3, 2, 1))
        await shared.announce_user(USER, 4, None)
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (Epochs(4, 2, 1), False)
        assert (await filled(shared, Epochs(4, 2, 1))).is_fresh

    async def test_each_part_is_announced_by_itself(self, shared: SharedEpochs) -> None:
        await filled(shared, Epochs(3, 2, 1))
        await shared.announce_user(USER, None, 7)
        assert (await shared.read(USER)).epochs == Epochs(3, 7, 1)
        await shared.announce_tenant(USER.tenant_id, 9)
        assert (await shared.read(USER)).epochs == Epochs(3, 7, 9)

    async def test_a_tenant_s_announcement_concerns_all_its_users(self, shared: SharedEpochs) -> None:
        await filled(shared, Epochs(3, 2, 1))
        await filled(shared, Epochs(5, 5, 1), OTHER)
        await shared.announce_tenant(USER.tenant_id, 2)
        for user in (USER, OTHER):
            assert not (await shared.read(user)).is_fresh

    async def test_what_is_known_already_takes_nothing_away(self, shared: SharedEpochs) -> None:
        await filled(shared, Epochs(3, 2, 1))
        for facts, archive in ((3, 2), (1, None), (None, 2), (None, None)):
            await shared.announce_user(USER, facts, archive)
        await shared.announce_tenant(USER.tenant_id, 1)
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (Epochs(3, 2, 1), True)

    async def test_a_fill_from_before_a_commit_does_not_undo_its_announcement(
        self, shared: SharedEpochs
    ) -> None:
        await filled(shared, Epochs(3, 2, 1))
        mark = (await shared.read(USER)).mark
        await shared.announce_user(USER, 4, None)
        await shared.fill(USER, Epochs(3, 2, 1), mark, keep_unknown=False)
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (Epochs(4, 2, 1), False)

    async def test_an_announcement_holds_where_nothing_was_known(self, shared: SharedEpochs) -> None:
        mark = (await shared.read(USER)).mark
        await shared.announce_user(USER, 4, None)
        await shared.fill(USER, Epochs(3, 2, 1), mark, keep_unknown=False)
        assert not (await shared.read(USER)).is_fresh

    async def test_what_was_only_announced_is_no_state_of_a_user(self, shared: SharedEpochs) -> None:
        await shared.announce_user(USER, 4, None)
        await shared.announce_tenant(USER.tenant_id, 1)
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (None, False)

    async def test_of_two_fills_the_higher_stays(self, shared: SharedEpochs) -> None:
        mark = (await shared.read(USER)).mark
        await shared.fill(USER, Epochs(4, 2, 1), mark, keep_unknown=False)
        await shared.fill(USER, Epochs(3, 2, 1), mark, keep_unknown=False)
        assert (await shared.read(USER)).epochs == Epochs(4, 2, 1)

    async def test_an_unknown_user_is_noted_only_for_a_writer(self, shared: SharedEpochs) -> None:
        """P13."""
        mark = (await shared.read(USER)).mark
        await shared.fill(USER, Epochs(0, 0, 5), mark, keep_unknown=False)
        assert (await shared.read(USER)).epochs is None
        await shared.fill(USER, Epochs(0, 0, 5), mark, keep_unknown=True)
        state = await shared.read(USER)
        assert (state.epochs, state.is_fresh) == (Epochs(0, 0, 5), True)

    async def test_users_with_ids_that_look_alike_share_nothing(self, shared: SharedEpochs) -> None:
        alike = [
            UserRef(*ids) for ids in (("a:b", "c"), ("a", "b:c"), ("A", "b:c"), ("a", "b:c "), ("{a}", "b"))
        ]
        for number, user in enumerate(alike, start=1):
            await filled(shared, Epochs(number, number, 1), user)
        states = [await shared.read(user) for user in alike]
        assert [state.epochs.facts for state in states if state.epochs] == [1, 2, 3, 4, 5]
