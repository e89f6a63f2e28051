"""Redis and the model on which every order of steps was tried (see tests/property) do the same with the same steps."""

import random
import time
from collections.abc import AsyncIterator

import pytest

from assemblers.records import UserRef
from storage.epochs import Mark, SharedEpochs
from storage.ports.epochs import Epochs
from storage.redis import RedisEpochs, connect_redis
from tests.epoch_model import ModelEpochs

SEQUENCES, STEPS = 60, 14


@pytest.fixture
async def shared(redis_url: str) -> AsyncIterator[SharedEpochs]:
    client = await connect_redis(redis_url, limit=5)
    yield RedisEpochs(client)
    await client.close()


class Both:
    """The same steps on both sides, for one user of a tenant of its own."""

    def __init__(self, shared: SharedEpochs, name: str, chance: random.Random) -> None:
        self.sides: tuple[SharedEpochs, ModelEpochs] = (shared, ModelEpochs())
        self.user, self.chance = UserRef(name, "ann"), chance
        self.marks: list[tuple[Mark, Mark]] = []

    async def step(self) -> None:
        kind = self.chance.randrange(4)
        low = self.chance.randrange(3)
        for place, side in enumerate(self.sides):
            if kind == 0 and self.marks:
                mark = self.marks[-1 - low % len(self.marks)][place]
                await side.fill(self.user, Epochs(low, 1, low), mark, keep_unknown=bool(low))
            elif kind == 1:
                await side.announce_user(self.user, low or None, 2 if low == 1 else None)
            elif kind == 2:
                await side.announce_tenant(self.user.tenant_id, low)
        self.sides[1].now += 1

    async def read(self) -> list[tuple[Epochs | None, bool]]:
        states = [await side.read(self.user) for side in self.sides]
        self.marks.append((states[0].mark, states[1].mark))
        return [(state.epochs, state.is_fresh) for state in states]


async def test_redis_does_what_the_model_does(shared: SharedEpochs) -> None:
    chance = random.Random(7)
    compared = fresh = 0
    for number in range(SEQUENCES):
        both, begun = Both(shared, f"tenant-{number}", chance), time.monotonic()
        for _ in range(STEPS):
            redis, model = await both.read()
            if time.monotonic() - begun > 0.7:
                break  # the machine is so busy that what the model holds for fresh is not any more
            assert redis == model
            compared += 1
            fresh += model[1]
            await both.step()
    assert compared > SEQUENCES
    assert fresh > 20
