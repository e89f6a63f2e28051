"""Prefix revisions."""

from typing import Protocol

from assemblers.records import PrefixRevision
from storage.ports.pages import Page, PageRequest
from storage.ports.receipts import Receipt


class PrefixStore(Protocol):
    """Prefix revisions."""

    async def find(self, tenant_id: str, prefix_id: str, digest: str) -> PrefixRevision | None:
        """The revision, or the newest for digest ""."""
        ...

    async def register(
        self, revision: PrefixRevision, receipt: Receipt[PrefixRevision]
    ) -> PrefixRevision: ...
    async def revisions(self, tenant_id: str, prefix_id: str, page: PageRequest) -> Page[PrefixRevision]:
        """Newest first."""
        ...

    def forget_tenant(self, tenant_id: str) -> None:
        """The tenant's prefixes changed in another process: let everything of it be read anew."""
        ...
