"""The use cases of platform teams: register, read, activate and roll back policies."""

from dataclasses import dataclass
from datetime import UTC, datetime

from assemblers.policy.model import PolicyRevision
from gateway.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound, Reason
from gateway.names import PolicyName
from storage.errors import EtagMismatch
from storage.errors import NotFound as NotStored
from storage.ports import Page, PageRequest, PolicyHead, PolicyStore, Receipt, StoredPolicy

_BUILTINS = "*"
"""Begins the cursors of pages that go on with built-in policies: no id of a policy has it."""
_NO_MOMENT = datetime.fromtimestamp(0, UTC)
"""Stands where a built-in policy has no time of its own."""


@dataclass(frozen=True, slots=True)
class PolicyWithHead:
    """A policy's head and the revision that is meant: the named one, else the active one, else the newest."""

    head: PolicyHead
    revision: StoredPolicy


class PolicyAdmin:
    """Registers and activates revisions in a store. Built-in ids are taken."""

    def __init__(self, store: PolicyStore, builtins: dict[str, tuple[PolicyRevision, bytes]]) -> None:
        self._store, self._builtins = store, builtins

    def check_id(self, policy_id: str) -> None:
        """Raises InvalidArgument for the id of a built-in policy."""
        if policy_id in self._builtins:
            raise InvalidArgument.of(
                "policy.policy_id", f"{policy_id!r} is the name of a built-in policy: choose another id"
            )

    async def register(self, revision: StoredPolicy, receipt: Receipt[StoredPolicy]) -> StoredPolicy:
        """Store a checked revision; the same content again is the same revision."""
        self.check_id(revision.policy_id)
        return await self._store.register(revision, receipt)

    async def get(self, name: PolicyName) -> PolicyWithHead:
        """A policy or revision by name. Raises NotFound."""
        builtin = self._builtin(name)
        if builtin is not None:
            return builtin
        head = await self._head(name)
        digest = name.digest or head.active
        revision = await self._store.revision(name.tenant_id, name.policy_id, digest) if digest else None
        if revision is None and not name.digest:
            newest = await self._store.revisions(name.tenant_id, name.policy_id, PageRequest(1))
            revision = next(iter(newest.items), None)
        if revision is None:
            raise NotFound
        return PolicyWithHead(head, revision)

    async def heads(self, tenant_id: str, page: PageRequest) -> Page[PolicyHead]:
        """The tenant's own policies by id, and behind them the built-in ones."""
        first = _builtins_before(page.cursor)
        if first is not None:
            return self._builtin_heads((), page.size, first)
        own = await self._store.heads(tenant_id, page)
        return own if own.next_cursor else self._builtin_heads(own.items, page.size, 0)

    def _builtin_heads(self, own: tuple[PolicyHead, ...], size: int, first: int) -> Page[PolicyHead]:
        """A page that ends with the built-in policies from number `first` on, as far as there is room."""
        names = sorted(self._builtins)
        end = min(len(names), first + size - len(own))
        heads = (self._builtin_head(name) for name in names[first:end])
        return Page((*own, *heads), f"{_BUILTINS}{end}" if end < len(names) else "")

    async def revisions(self, name: PolicyName, page: PageRequest) -> Page[StoredPolicy]:
        """A policy's revisions, newest first. Raises NotFound for an unknown policy."""
        builtin = self._builtin(name)
        if builtin is not None:
            return Page((builtin.revision,), "")
        await self._head(name)
        return await self._store.revisions(name.tenant_id, name.policy_id, page)

    async def activate(
        self,
        name: PolicyName,
        as_default: bool | None,
        etag: str,
        now: datetime,
        receipt: Receipt[PolicyHead],
    ) -> PolicyHead:
        """Make a revision the active one. Raises InvalidArgument, NotFound or Aborted."""
        self._own(name)
        if not name.digest:
            raise InvalidArgument.of(
                "name",
                "names no revision: give tenants/{t}/policies/{p}/revisions/{sha256}, as registering answered",
            )
        try:
            return await self._store.activate(
                name.tenant_id, name.policy_id, name.digest, as_default, etag, now, receipt
            )
        except EtagMismatch as error:
            raise _stale(error) from None

    async def roll_back(
        self, name: PolicyName, etag: str, now: datetime, receipt: Receipt[PolicyHead]
    ) -> PolicyHead:
        """Make the revision before the active one active again. Raises NotFound, FailedPrecondition or Aborted."""
        self._own(name)
        head = await self._head(name)
        if not head.previous:
            raise FailedPrecondition(
                Reason.NO_PREVIOUS_REVISION,
                "no other revision was active before: activate the one that you want",
                {"policy": f"tenants/{name.tenant_id}/policies/{name.policy_id}"},
            )
        try:
            return await self._store.roll_back(name.tenant_id, name.policy_id, etag, now, receipt)
        except EtagMismatch as error:
            raise _stale(error) from None

    def _own(self, name: PolicyName) -> None:
        if not name.tenant_id:
            raise InvalidArgument.of(
                "name",
                "is a built-in policy, which is always active: register a copy under an id of your own",
            )

    async def _head(self, name: PolicyName) -> PolicyHead:
        try:
            return await self._store.head(name.tenant_id, name.policy_id)
        except NotStored:
            raise NotFound from None

    def _builtin(self, name: PolicyName) -> PolicyWithHead | None:
        if name.tenant_id:
            return None
        if name.policy_id not in self._builtins:
            raise NotFound
        revision, document = self._builtins[name.policy_id]
        if name.digest not in ("", revision.digest):
            raise NotFound
        stored = StoredPolicy("", name.policy_id, revision.digest, document, "muniment", _NO_MOMENT)
        return PolicyWithHead(self._builtin_head(name.policy_id), stored)

    def _builtin_head(self, policy_id: str) -> PolicyHead:
        revision, _ = self._builtins[policy_id]
        return PolicyHead(
            "", policy_id, revision.digest, "", is_default=False, etag="", update_time=_NO_MOMENT
        )


def _builtins_before(cursor: str) -> int | None:
    """How many built-in policies were listed before this cursor, None for a cursor of the store."""
    number = cursor.removeprefix(_BUILTINS)
    return int(number) if number != cursor else None


def _stale(error: EtagMismatch) -> Aborted:
    return Aborted(
        Reason.ETAG_MISMATCH,
        "etag: the policy was changed since you read it: read it again and decide anew",
        {"field": "etag", "etag": error.current},
    )
