"""Finds the policy revision that a call means, parsed once and kept in memory."""

from assemblers.policy.model import Policy, PolicyRevision
from gateway.errors import FailedPrecondition, Reason
from gateway.names import PolicyName, parse_policy_reference, policy_name
from gateway.policies.builtin import DEFAULT_ID, read_builtins
from gateway.policies.canonical import parse_canonical
from gateway.policies.from_proto import policy_of
from gateway.policies.reading import PolicyReader
from storage.lru import Lru
from storage.ports import PolicyStore, StoredPolicy

PARSED_REVISIONS = 1024
"""Parsed revisions kept in memory; each is a few kilobytes."""


class Policies:
    """The catalog over a store. Built-in policies belong to every tenant and cannot be overridden."""

    def __init__(self, store: PolicyStore, reader: PolicyReader) -> None:
        self._store = store
        self._builtins = {name: draft.revision("") for name, draft in read_builtins(reader).items()}
        self._parsed: Lru[tuple[str, str, str], PolicyRevision] = Lru(PARSED_REVISIONS)

    async def resolve(self, tenant_id: str, policy: str) -> PolicyRevision:
        """The revision for "" (the tenant's default, else the built-in `conversation`), an id, or a resource name."""
        if not policy:
            active = await self._store.active(tenant_id, "")
            return self._revision(active) if active else self._builtins[DEFAULT_ID]
        return await self._named(tenant_id, parse_policy_reference("policy", policy, tenant_id))

    async def _named(self, tenant_id: str, name: PolicyName) -> PolicyRevision:
        if not name.tenant_id or name.policy_id in self._builtins:
            return self._builtin(name)
        if name.tenant_id != tenant_id:
            raise _unusable(name)
        if name.digest:
            stored = await self._store.revision(tenant_id, name.policy_id, name.digest)
        else:
            stored = await self._store.active(tenant_id, name.policy_id)
        if stored is None:
            raise _unusable(name)
        return self._revision(stored)

    def _builtin(self, name: PolicyName) -> PolicyRevision:
        revision = self._builtins.get(name.policy_id)
        if revision is None or (name.digest and name.digest != revision.digest):
            raise _unusable(name)
        return revision

    def _revision(self, stored: StoredPolicy) -> PolicyRevision:
        key = (stored.tenant_id, stored.policy_id, stored.digest)
        revision = self._parsed.get(key)
        if revision is None:
            revision = PolicyRevision(stored.tenant_id, stored.digest, self._parse(stored))
            self._parsed.put(key, revision)
        return revision

    def _parse(self, stored: StoredPolicy) -> Policy:
        try:
            return policy_of(parse_canonical(stored.document))
        except ValueError:
            raise FailedPrecondition(
                Reason.POLICY_UNUSABLE,
                "the policy was registered by a release that this one cannot read: register it again",
                {"policy": f"tenants/{stored.tenant_id}/policies/{stored.policy_id}"},
            ) from None


def _unusable(name: PolicyName) -> FailedPrecondition:
    """The same for an unknown policy, one without an active revision, and another tenant's."""
    return FailedPrecondition(
        Reason.POLICY_UNUSABLE,
        "policy: there is no active policy or revision of that name in this tenant: register it and activate a "
        "revision, or leave the field empty for the tenant's default",
        {"policy": policy_name(name.tenant_id, name.policy_id, name.digest)},
    )
