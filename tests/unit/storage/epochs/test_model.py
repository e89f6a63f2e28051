"""The model of the shared cache passes the suite of the real ones, so what is shown on it holds for them."""

import pytest

from storage.conformance.shared_epochs import Pass, SharedEpochsSuite
from tests.epoch_model import ModelEpochs


@pytest.fixture
def shared() -> ModelEpochs:
    return ModelEpochs()


@pytest.fixture
def pass_time(shared: ModelEpochs) -> Pass:
    async def wait(seconds: float) -> None:
        shared.now += round(seconds * 1000)

    return wait


class TestModel(SharedEpochsSuite): ...
