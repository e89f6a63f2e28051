"""A gateway on a fresh folder, and what takes in text: every place of a prompt that stored words can reach."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muniment.v1 import policy_service_pb2
from tests.integration.in_process import Gateway, gateway_at
from tests.integration.requests import TENANT
from tests.integration.talk import Person
from tests.security.carriers import POLICY


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with gateway_at(tmp_path) as opened:
        await opened.use_desk()
        await opened.use(
            policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=TENANT, yaml=POLICY.encode())
        )
        yield opened


@pytest.fixture
def ada(gateway: Gateway) -> Person:
    return Person(gateway)
