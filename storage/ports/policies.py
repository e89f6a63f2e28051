"""Policy revisions and which of them is active."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from storage.ports.pages import Page, PageRequest
from storage.ports.receipts import Receipt


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """An immutable policy document: canonical JSON under its SHA-256 (hex)."""

    tenant_id: str
    policy_id: str
    digest: str
    document: bytes
    author: str
    create_time: datetime


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """A policy's mutable head: the active revision ("" if none), the one before it, and whether calls that name no
    policy get it."""

    tenant_id: str
    policy_id: str
    active: str
    previous: str
    is_default: bool
    etag: str
    update_time: datetime


class PolicyStore(Protocol):
    """Policy revisions and their activation."""

    async def active(self, tenant_id: str, policy_id: str) -> StoredPolicy | None:
        """The active revision of a policy, or the tenant's default for policy_id ""; None: nothing active."""
        ...

    async def revision(self, tenant_id: str, policy_id: str, digest: str) -> StoredPolicy | None: ...
    async def register(self, revision: StoredPolicy, receipt: Receipt[StoredPolicy]) -> StoredPolicy:
        """Store a revision; an equal one is returned as it was first stored."""
        ...

    async def head(self, tenant_id: str, policy_id: str) -> PolicyHead: ...
    async def heads(self, tenant_id: str, page: PageRequest) -> Page[PolicyHead]: ...
    async def revisions(self, tenant_id: str, policy_id: str, page: PageRequest) -> Page[StoredPolicy]:
        """Newest first."""
        ...

    async def activate(
        self,
        tenant_id: str,
        policy_id: str,
        digest: str,
        as_default: bool | None,
        etag: str,
        now: datetime,
        receipt: Receipt[PolicyHead],
    ) -> PolicyHead:
        """Make a revision active. `as_default` None: the default if the tenant has none. `etag` "" matches any."""
        ...

    async def roll_back(
        self, tenant_id: str, policy_id: str, etag: str, now: datetime, receipt: Receipt[PolicyHead]
    ) -> PolicyHead:
        """Make the previous revision active again; `NotFound` where there is none."""
        ...

    def forget_tenant(self, tenant_id: str) -> None:
        """The tenant's policies changed in another process: let everything of it be read anew."""
        ...
