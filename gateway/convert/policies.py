"""policy_service.proto: heads, revisions and diagnostics as messages."""

from gateway.convert.instants import instant_to
from gateway.names import policy_name
from gateway.policies.canonical import parse_canonical
from gateway.policies.diagnostics import Diagnostic
from muniment.v1 import errors_pb2, policy_pb2, policy_service_pb2
from storage.ports import PolicyHead, StoredPolicy


def revision_to(stored: StoredPolicy) -> policy_service_pb2.PolicyRevision:
    """A stored revision. One that this release cannot read has no policy."""
    try:
        policy = parse_canonical(stored.document)
    except ValueError:
        policy = policy_pb2.Policy()
    return policy_service_pb2.PolicyRevision(
        name=policy_name(stored.tenant_id, stored.policy_id, stored.digest),
        sha256=stored.digest,
        policy=policy,
        author=stored.author,
        # A built-in policy belongs to no tenant, and to the release and not to a day.
        create_time=instant_to(stored.create_time) if stored.tenant_id else None,
    )


def head_to(head: PolicyHead) -> policy_service_pb2.PolicyHead:
    """A policy's head."""

    def revision(digest: str) -> str:
        return policy_name(head.tenant_id, head.policy_id, digest) if digest else ""

    return policy_service_pb2.PolicyHead(
        name=policy_name(head.tenant_id, head.policy_id),
        active_revision=revision(head.active),
        previous_revision=revision(head.previous),
        tenant_default=head.is_default,
        etag=head.etag,
        update_time=instant_to(head.update_time) if head.tenant_id else None,
    )


def diagnostic_to(diagnostic: Diagnostic) -> errors_pb2.Diagnostic:
    """A diagnostic."""
    return errors_pb2.Diagnostic(
        severity=errors_pb2.Diagnostic.Severity.Value(f"SEVERITY_{diagnostic.severity}"),
        rule_id=diagnostic.rule_id,
        field=diagnostic.field,
        message=diagnostic.message,
        suggestion=diagnostic.suggestion,
        line=diagnostic.line,
        column=diagnostic.column,
    )
