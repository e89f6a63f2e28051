"""The in-process session cache is bounded."""

from assemblers.records import SessionRef, Slots
from storage.conformance.samples import NOW
from storage.memory import MemorySessions


async def test_the_session_touched_longest_ago_gives_way() -> None:
    cache = MemorySessions(max_sessions=2)
    one, two, three = (SessionRef("acme", "ann", name) for name in "123")
    await cache.put(one, Slots(), 0, NOW, 60)
    await cache.put(two, Slots(), 0, NOW, 60)
    await cache.put(one, Slots(), 1, NOW, 60)
    await cache.put(three, Slots(), 0, NOW, 60)
    assert [await cache.get(session, NOW) is None for session in (one, two, three)] == [False, True, False]
