"""Who is calling: the principal and what it may touch."""

from dataclasses import dataclass
from enum import StrEnum

from gateway.errors import PermissionDenied, Reason


class AccessRole(StrEnum):
    """What a principal may do."""

    AGENT = "AGENT"
    PLATFORM = "PLATFORM"
    AUDITOR = "AUDITOR"
    PRIVACY = "PRIVACY"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller. `tenant_id` None: not bound to one, so the tenant is the one that the request names."""

    name: str
    roles: frozenset[AccessRole]
    tenant_id: str | None = None

    def admit(self, tenant_id: str) -> None:
        """Refuse a request for another tenant than the credential's."""
        if self.tenant_id is not None and self.tenant_id != tenant_id:
            raise PermissionDenied(
                Reason.TENANT_MISMATCH,
                "the tenant in the request is not the credential's: use the tenant of your key",
            )


LOCAL = Principal("local", frozenset(AccessRole))
"""The principal of a server on loopback that has no credentials configured."""
