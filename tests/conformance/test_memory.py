"""The in-process session cache passes its suite."""

import pytest

from storage.conformance import SessionCacheSuite
from storage.memory import MemorySessions
from storage.ports import SessionCache


@pytest.fixture
def sessions() -> SessionCache:
    return MemorySessions()


class TestSessions(SessionCacheSuite): ...
