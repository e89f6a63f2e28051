"""Every order in which gateways read, confirm, commit and announce, with announcements and entries lost on the way.

Time is a model's, in milliseconds. A gateway's confirming is three steps that others may come between: it reads the
shared cache, it reads SQL, and what it read arrives in the cache, if ever. A write commits, and is announced later or
never. SQL is a list of commits.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from assemblers.records import UserRef
from storage.epochs import Mark
from storage.ports.epochs import Epochs
from tests.epoch_model import ModelEpochs

USER = UserRef("acme", "ann")


def done(work: Coroutine[None, None, None]) -> None:
    """Steps of the model never wait."""
    asyncio.run(work)


@dataclass(frozen=True)
class Fill:
    mark: Mark
    epochs: Epochs


class Interleavings(RuleBasedStateMachine):
    reads = Bundle("reads")
    fills = Bundle("fills")
    announcements = Bundle("announcements")

    @initialize()
    def begin(self) -> None:
        self.shared = ModelEpochs()
        self.shared.entries = {}
        self.commits = [(0, Epochs(1, 0, 1))]
        self.announced = Epochs()
        self.lost_entry = 0

    @property
    def truth(self) -> Epochs:
        return self.commits[-1][1]

    @rule(passed=st.one_of(st.integers(1, 50), st.integers(400, 1_200)))
    def time_passes(self, passed: int) -> None:
        self.shared.now += passed

    @rule(target=reads)
    def a_gateway_reads_the_cache(self) -> Mark:
        return self.shared.state(USER).mark

    @rule(target=fills, mark=reads)
    def it_reads_sql(self, mark: Mark) -> Fill:
        return Fill(mark, self.truth)

    @rule(fill=fills)
    def what_it_read_arrives(self, fill: Fill) -> None:
        done(self.shared.fill(USER, fill.epochs, fill.mark, keep_unknown=False))

    @rule(target=announcements, of_tenant=st.booleans())
    def a_write_commits(self, of_tenant: bool) -> Epochs:
        last = self.truth
        new = Epochs(last.facts + (not of_tenant), 0, last.tenant + of_tenant)
        self.commits.append((self.shared.now, new))
        return new

    @rule(epochs=announcements)
    def it_is_announced(self, epochs: Epochs) -> None:
        done(self.shared.announce_user(USER, epochs.facts, None))
        done(self.shared.announce_tenant(USER.tenant_id, epochs.tenant))
        self.announced = max(self.announced, epochs, key=lambda e: e.facts + e.tenant)

    @rule(key=st.sampled_from([USER, USER.tenant_id]))
    def the_cache_loses_an_entry(self, key: UserRef | str) -> None:
        self.shared.entries.pop(key, None)
        self.lost_entry = self.shared.now

    @invariant()
    def what_is_fresh_is_at_most_a_second_old(self) -> None:
        state = self.shared.state(USER)
        if not state.is_fresh or state.epochs is None:
            return
        old = [epochs for when, epochs in self.commits if when <= self.shared.now - 1000]
        for epochs in old[-1:]:
            assert state.epochs.facts >= epochs.facts
            assert state.epochs.tenant >= epochs.tenant

    @invariant()
    def nobody_confirms_less_than_was_announced(self) -> None:
        state = self.shared.state(USER)
        # A fill under way may bring back what an entry that was lost had outdone, for a second.
        if self.shared.now - self.lost_entry < 1000 or not state.is_fresh or state.epochs is None:
            return
        assert state.epochs.facts >= self.announced.facts
        assert state.epochs.tenant >= self.announced.tenant

    @invariant()
    def nobody_confirms_what_never_was(self) -> None:
        epochs = self.shared.state(USER).epochs
        if epochs is not None:
            assert epochs.facts <= self.truth.facts
            assert epochs.tenant <= self.truth.tenant


TestInterleavings = Interleavings.TestCase
