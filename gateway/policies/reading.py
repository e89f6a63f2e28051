"""From what an author sent to a policy that can be registered, or to all that is wrong with it, each at its place."""

from dataclasses import dataclass

import protovalidate

from assemblers.policy.checks import check
from assemblers.policy.model import Policy, PolicyRevision
from gateway.policies.canonical import canonical_form, digest_of
from gateway.policies.diagnostics import ERROR, Diagnostic, Place, located
from gateway.policies.from_proto import policy_of
from gateway.policies.yaml_reader import read_yaml
from gateway.remedies import field_violation
from muniment.v1 import policy_pb2


@dataclass(frozen=True, slots=True)
class Draft:
    """A policy as read. `document` is its canonical form; both are only set where no diagnostic is an error."""

    message: policy_pb2.Policy
    diagnostics: tuple[Diagnostic, ...]
    policy: Policy | None = None
    document: bytes = b""

    @property
    def valid(self) -> bool:
        """Whether it can be registered."""
        return self.policy is not None

    def revision(self, tenant_id: str) -> PolicyRevision:
        """The revision that this policy would be. Only for a valid one."""
        if self.policy is None:
            raise ValueError("a policy with errors is no revision")
        return PolicyRevision(tenant_id, digest_of(self.document), self.policy)


class PolicyReader:
    """Reads and checks policies. Holds the compiled rules of the contract."""

    def __init__(self) -> None:
        self._validator = protovalidate.Validator()

    def from_yaml(self, data: bytes) -> Draft:
        """Read YAML; diagnostics have line and column."""
        read = read_yaml(data)
        if not read.places:
            # No YAML at all: that fields are missing from it goes without saying.
            return Draft(read.message, tuple(read.diagnostics))
        return self._checked(read.message, read.diagnostics, read.places)

    def from_message(self, message: policy_pb2.Policy) -> Draft:
        """Read a message."""
        return self._checked(message, [], {})

    def _checked(
        self, message: policy_pb2.Policy, found: list[Diagnostic], places: dict[str, Place]
    ) -> Draft:
        misread = {d.field for d in found}
        found = found + [d for d in self._violations(message, bool(places)) if d.field not in misread]
        if found:
            return Draft(message, located(found, places))
        policy = policy_of(message)
        found = [Diagnostic(d.severity, d.rule_id, d.field, d.message, d.suggestion) for d in check(policy)]
        diagnostics = located(found, places)
        if any(d.severity == ERROR for d in diagnostics):
            return Draft(message, diagnostics)
        return Draft(message, diagnostics, policy, canonical_form(message))

    def _violations(self, message: policy_pb2.Policy, from_yaml: bool) -> list[Diagnostic]:
        violations = [
            field_violation(message.DESCRIPTOR, v, short_names=from_yaml)
            for v in self._validator.collect_violations(message)
        ]
        return [Diagnostic(ERROR, "contract", v.field, v.description) for v in violations]
