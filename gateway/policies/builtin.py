"""The policies that every gateway has: small YAML files to read and to copy."""

from functools import cache
from importlib.resources import files

from assemblers.policy.model import PolicyRevision
from gateway.policies.reading import Draft, PolicyReader

BUILTIN_IDS = ("conversation", "memory")
DEFAULT_ID = "conversation"
"""What a tenant gets that has activated nothing: it keeps nothing durable but the trace."""


@cache
def builtin_yaml(policy_id: str) -> bytes:
    """The YAML of a built-in policy."""
    return (files("gateway.policies") / "builtin" / f"{policy_id}.yaml").read_bytes()


def read_builtins(reader: PolicyReader) -> dict[str, Draft]:
    """All built-in policies by id. A faulty one is a fault of the release, so it raises."""
    drafts = {policy_id: reader.from_yaml(builtin_yaml(policy_id)) for policy_id in BUILTIN_IDS}
    for policy_id, draft in drafts.items():
        if not draft.valid:
            raise ValueError(f"built-in policy {policy_id}: {draft.diagnostics}")
    return drafts


def builtin_documents(reader: PolicyReader) -> dict[str, tuple[PolicyRevision, bytes]]:
    """Revision and canonical form of each built-in policy, by id."""
    return {name: (draft.revision(""), draft.document) for name, draft in read_builtins(reader).items()}
