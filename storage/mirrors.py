"""Mirrors: look-ups of what belongs to tenants, kept in memory, never staler than the last change that was told."""

from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

from storage.loads import Loads

V = TypeVar("V")

Key = tuple[str, ...]
"""Begins with the tenant."""


class Mirror(Generic[V]):
    """The values used last, at most `capacity`. Tells "known to be nothing" from "not known": a value may be None."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Key, V] = OrderedDict()
        self._of_tenant: dict[str, set[Key]] = {}
        self._loads: Loads[Key, V] = Loads(self._keep)

    async def get(self, key: Key, load: Callable[[], Coroutine[None, None, V]]) -> V:
        """The value, loaded if it is not here; waits for nothing where it is."""
        if key in self._entries:
            self._entries.move_to_end(key)
            return self._entries[key]
        return await self._loads.get(key, load)

    def change(self, key: Key, changed: Callable[[V], V | None]) -> None:
        """A value changed in a way that is known: what is here is replaced, or forgotten for None."""
        self._loads.forget(key)
        if key in self._entries:
            value = changed(self._entries[key])
            if value is None:
                self._drop(key)
            else:
                self._entries[key] = value

    def forget(self, key: Key) -> None:
        """The value changed."""
        self._loads.forget(key)
        if key in self._entries:
            self._drop(key)

    def forget_tenant(self, tenant_id: str) -> None:
        """Something of the tenant's changed, by another process."""
        self._loads.forget_where(lambda key: key[0] == tenant_id)
        for key in self._of_tenant.pop(tenant_id, ()):
            del self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    def _keep(self, key: Key, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        self._of_tenant.setdefault(key[0], set()).add(key)
        if len(self._entries) > self._capacity:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Key) -> None:
        del self._entries[key]
        keys = self._of_tenant[key[0]]
        keys.discard(key)
        if not keys:
            del self._of_tenant[key[0]]
