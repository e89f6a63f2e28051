"""`policy`: check, register, activate, roll back."""

from pathlib import Path

import typer
import yaml
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run import references
from gateway.cli.run.output import calling, emit
from gateway.cli.show.problems import Source, diagnostic_lines
from gateway.cli.show.tables import policies_table, policy_revisions_table
from muniment.v1.policy_service_pb2 import (
    ActivatePolicyRevisionRequest,
    GetPolicyRequest,
    ListPoliciesRequest,
    ListPolicyRevisionsRequest,
    PolicyHead,
    RegisterPolicyRevisionRequest,
    RollbackPolicyRequest,
    ValidatePolicyRequest,
)


def _source(file: Path, data: bytes) -> Source:
    return Source(str(file), data.decode("utf-8", "replace"))


def validate(connection: Connection, tenant: str, file: Path) -> None:
    """Check a policy; errors end with the code for invalid."""
    data = file.read_bytes()
    with calling(connection) as client:
        request = ValidatePolicyRequest(tenant_id=tenant, yaml=data)
        answer = client.call(client.policies.ValidatePolicy, request)
    verdict = f"valid: it would be {answer.name}" if answer.valid else "it cannot be registered"
    emit(connection, answer, *diagnostic_lines(answer.diagnostics, _source(file, data)), Text(verdict))
    if not answer.valid:
        raise typer.Exit(ExitCode.INVALID)


def register(
    connection: Connection, tenant: str, file: Path, activate: bool, default: bool | None, dry_run: bool
) -> None:
    """Store a revision, and with `activate` put it in force."""
    data = file.read_bytes()
    source = _source(file, data)
    with calling(connection, source) as client:
        request = RegisterPolicyRevisionRequest(tenant_id=tenant, yaml=data, validate_only=dry_run)
        answer = client.call(client.policies.RegisterPolicyRevision, request)
        name = answer.revision.name
        emit(connection, answer, *diagnostic_lines(answer.diagnostics, source), Text(name))
        if activate and not dry_run:
            _activate(connection, ActivatePolicyRevisionRequest(name=name, tenant_default=default))


def activate(connection: Connection, tenant: str, reference: str, default: bool | None) -> None:
    """Put a revision in force."""
    with calling(connection) as client:
        name = references.revision_name(client, reference, tenant)
    _activate(connection, ActivatePolicyRevisionRequest(name=name, tenant_default=default))


def _activate(connection: Connection, request: ActivatePolicyRevisionRequest) -> None:
    with calling(connection) as client:
        answer = client.call(client.policies.ActivatePolicyRevision, request)
    emit(connection, answer, _in_force(answer.head))


def _in_force(head: PolicyHead) -> Text:
    default = "; the tenant's default" if head.tenant_default else ""
    return Text(f"in force: {head.active_revision}{default}")


def rollback(connection: Connection, tenant: str, reference: str) -> None:
    """Put the revision in force that was so before."""
    with calling(connection) as client:
        request = RollbackPolicyRequest(name=references.policy_name(reference, tenant))
        answer = client.call(client.policies.RollbackPolicy, request)
    emit(connection, answer, _in_force(answer.head))


def list_policies(connection: Connection, tenant: str, limit: int) -> None:
    """A tenant's policies, and the built-in ones."""
    with calling(connection) as client:
        request = ListPoliciesRequest(tenant_id=tenant, page_size=limit)
        answer = client.call(client.policies.ListPolicies, request)
    emit(connection, answer, policies_table(answer.policies))


def show(connection: Connection, tenant: str, reference: str) -> None:
    """A policy as YAML, ready to be copied."""
    with calling(connection) as client:
        name = references.policy_name(reference, tenant)
        if "@" in reference:
            name = references.revision_name(client, reference, tenant)
        answer = client.call(client.policies.GetPolicy, GetPolicyRequest(name=name))
    emit(connection, answer, Text(f"# {answer.revision.name}\n{as_yaml(answer.revision.policy)}".rstrip()))


def as_yaml(policy: Message) -> str:
    """A policy in the form that can be registered again."""
    values = MessageToDict(policy, preserving_proto_field_name=True)
    return yaml.safe_dump(_short_enums(values), sort_keys=False, allow_unicode=True, width=110)


_ENUM_PREFIXES = ("VALUE_TYPE_", "FACT_KIND_", "FACT_ORIGIN_", "ROLE_")


def _short_enums(value: object) -> object:
    """Enum values as they are written in YAML, without the prefix that protobuf demands."""
    if isinstance(value, dict):
        return {key: _short_enums(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short_enums(inner) for inner in value]
    prefix = next((p for p in _ENUM_PREFIXES if isinstance(value, str) and value.startswith(p)), "")
    return value.removeprefix(prefix) if isinstance(value, str) else value


def revisions(connection: Connection, tenant: str, reference: str, limit: int) -> None:
    """The revisions of a policy, newest first."""
    with calling(connection) as client:
        request = ListPolicyRevisionsRequest(
            policy=references.policy_name(reference, tenant), page_size=limit
        )
        answer = client.call(client.policies.ListPolicyRevisions, request)
    emit(connection, answer, policy_revisions_table(answer.revisions))
