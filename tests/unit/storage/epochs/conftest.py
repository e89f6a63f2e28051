"""A gateway's epoch book on models of what it asks."""

import pytest

from storage.epochs import EpochBook, KnownEpochs
from tests.epoch_model import ModelEpochs
from tests.unit.storage.epochs.parts import Clock, Sql


@pytest.fixture
def sql() -> Sql:
    return Sql()


@pytest.fixture
def shared() -> ModelEpochs:
    return ModelEpochs()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def known(clock: Clock) -> KnownEpochs:
    return KnownEpochs(clock)


@pytest.fixture
def book(shared: ModelEpochs, sql: Sql, known: KnownEpochs, clock: Clock) -> EpochBook:
    return EpochBook(shared, sql, known, clock)
