"""Look-ups for writes and for operators: what belongs to a tenant, after asking whether it changed elsewhere.

An assembly asks for its user's epochs anyway and needs none of this.
"""

from assemblers.policy.model import PolicyRevision
from assemblers.records import PrefixRevision, UserRef
from gateway.tokenizers import ModelProfile
from gateway.usecases.freshness import Freshness
from gateway.usecases.requests import RequestedModel
from gateway.usecases.resolution import ModelCatalog, PolicyCatalog
from storage.ports import Page, PageRequest, PrefixStore, Receipt

FOLLOW_SECONDS = 0.25
"""What SQL may take to say whether something changed; a write that needs SQL finds out by itself that it is out."""


class Follower:
    """Learns of changes of a tenant's policies, prefixes and usage by other processes."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness

    async def follow(self, tenant_id: str) -> None:
        """Forget what is out of date. Where nobody can say, what is known stays."""
        # No user has the empty id: this asks for the tenant alone.
        await self._freshness.standing(UserRef(tenant_id, ""), within=FOLLOW_SECONDS)


class FollowedPolicies:
    """The port `PolicyCatalog`, up to date."""

    def __init__(self, catalog: PolicyCatalog, follower: Follower) -> None:
        self._catalog, self._follower = catalog, follower

    async def resolve(self, tenant_id: str, policy: str) -> PolicyRevision:
        """The revision that a reference stands for now."""
        await self._follower.follow(tenant_id)
        return await self._catalog.resolve(tenant_id, policy)


class FollowedModels:
    """The port `ModelCatalog`, up to date."""

    def __init__(self, catalog: ModelCatalog, follower: Follower) -> None:
        self._catalog, self._follower = catalog, follower

    async def resolve(self, tenant_id: str, model: RequestedModel) -> ModelProfile:
        """The profile with what was learnt up to now."""
        await self._follower.follow(tenant_id)
        return await self._catalog.resolve(tenant_id, model)


class FollowedPrefixes:
    """The port `PrefixStore`, up to date."""

    def __init__(self, store: PrefixStore, follower: Follower) -> None:
        self._store, self._follower = store, follower

    async def find(self, tenant_id: str, prefix_id: str, digest: str) -> PrefixRevision | None:
        """The revision, or the newest for digest ""."""
        if not digest:
            await self._follower.follow(tenant_id)
        return await self._store.find(tenant_id, prefix_id, digest)

    async def register(self, revision: PrefixRevision, receipt: Receipt[PrefixRevision]) -> PrefixRevision:
        """Store a revision."""
        return await self._store.register(revision, receipt)

    async def revisions(self, tenant_id: str, prefix_id: str, page: PageRequest) -> Page[PrefixRevision]:
        """Newest first."""
        return await self._store.revisions(tenant_id, prefix_id, page)

    def forget_tenant(self, tenant_id: str) -> None:
        """Let everything of the tenant be read anew."""
        self._store.forget_tenant(tenant_id)
