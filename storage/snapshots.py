"""Snapshots of users' data in memory, bounded by bytes, never staler than the last write that was acknowledged."""

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

from assemblers.records import UserRef
from storage.loads import Loads

S = TypeVar("S")


class SnapshotCache(Generic[S]):
    """The snapshots used last. Belongs to one event loop."""

    def __init__(
        self, load: Callable[[UserRef], Coroutine[None, None, S]], size: Callable[[S], int], max_bytes: int
    ) -> None:
        """`size` estimates the bytes of a snapshot; what alone exceeds `max_bytes` is not kept."""
        self._load, self._size, self._max_bytes = load, size, max_bytes
        self._entries: OrderedDict[UserRef, tuple[S, int]] = OrderedDict()
        self._bytes = 0
        self._loads: Loads[UserRef, S] = Loads(self._keep)

    @property
    def bytes_held(self) -> int:
        """The estimated bytes of what is kept."""
        return self._bytes

    def peek(self, user: UserRef) -> S | None:
        """The snapshot if it is here."""
        entry = self._entries.get(user)
        if entry is None:
            return None
        self._entries.move_to_end(user)
        return entry[0]

    async def get(self, user: UserRef) -> S:
        """The snapshot, loaded if need be; callers at the same time share one load."""
        kept = self.peek(user)
        return kept if kept is not None else await self._loads.get(user, lambda: self._load(user))

    def forget(self, user: UserRef) -> None:
        """The user's data changed."""
        self._loads.forget(user)
        entry = self._entries.pop(user, None)
        if entry is not None:
            self._bytes -= entry[1]

    def _keep(self, user: UserRef, snapshot: S) -> None:
        size = self._size(snapshot)
        if size > self._max_bytes:
            return
        self._entries[user] = snapshot, size
        self._bytes += size
        while self._bytes > self._max_bytes:
            _, (_, freed) = self._entries.popitem(last=False)
            self._bytes -= freed
