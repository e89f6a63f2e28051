"""The typed assembly policy and its checks."""

from assemblers.policy.checks import check
from assemblers.policy.diagnostics import Diagnostic, Severity
from assemblers.policy.model import Policy, PolicyRevision

__all__ = ["Diagnostic", "Policy", "PolicyRevision", "Severity", "check"]
