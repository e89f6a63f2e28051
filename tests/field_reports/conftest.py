"""A gateway on a fresh folder, with a policy that has every section."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.in_process import Gateway, gateway_at
from tests.integration.talk import Person


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path) as opened:
        await opened.use_desk()
        yield opened


@pytest.fixture
def ada(gateway: Gateway) -> Person:
    return Person(gateway)
