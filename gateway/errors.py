"""The typed errors of the use cases: an outcome, a reason, a message with its remedy. No transport here.

`gateway.server` turns them into `google.rpc.Status`. Messages and metadata go to the client as they are, so
nothing internal (a path, SQL, an address, another exception's text) and no other tenant's content may be in them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol

from assemblers.assembly import Need


class Outcome(StrEnum):
    """How a call can fail, under the names of the gRPC codes."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    ABORTED = "ABORTED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"


class Reason(StrEnum):
    """Why a call failed: the values of `muniment.v1.ErrorReason` without their prefix."""

    INVALID_FIELD = "INVALID_FIELD"
    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    TOO_LARGE = "TOO_LARGE"
    PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID"  # noqa: S105  the name of a reason
    POLICY_INVALID = "POLICY_INVALID"
    PREFIX_DYNAMIC = "PREFIX_DYNAMIC"
    NOT_FOUND = "NOT_FOUND"
    TENANT_MISMATCH = "TENANT_MISMATCH"
    TURN_ID_REUSED = "TURN_ID_REUSED"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    BUDGET_TOO_SMALL = "BUDGET_TOO_SMALL"
    POLICY_UNUSABLE = "POLICY_UNUSABLE"
    ERASED = "ERASED"
    INVALIDATED = "INVALIDATED"
    TOOL_CALL_UNKNOWN = "TOOL_CALL_UNKNOWN"
    TOOL_RESULTS_MISSING = "TOOL_RESULTS_MISSING"
    NO_PREVIOUS_REVISION = "NO_PREVIOUS_REVISION"
    CONSISTENCY_UNKNOWN = "CONSISTENCY_UNKNOWN"
    ETAG_MISMATCH = "ETAG_MISMATCH"
    REVISION_CONFLICT = "REVISION_CONFLICT"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    OVERLOADED = "OVERLOADED"
    STORAGE_FULL = "STORAGE_FULL"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    STORAGE_UNAVAILABLE = "STORAGE_UNAVAILABLE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    TOKENIZER_FAILED = "TOKENIZER_FAILED"
    INTERNAL = "INTERNAL"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One broken rule. `field` is the proto path (`turn.contents[0].text`); `description` names the remedy."""

    field: str
    description: str


class PolicyDiagnostic(Protocol):
    """One thing wrong with a policy. `severity` is ERROR or WARNING; line and column count from 1 (0: unknown)."""

    @property
    def severity(self) -> str: ...
    @property
    def rule_id(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def suggestion(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class GatewayError(Exception):
    """The root: `metadata` has the keys that the reason's comment in errors.proto shows."""

    outcome: ClassVar[Outcome] = Outcome.INTERNAL

    def __init__(self, reason: Reason, message: str, metadata: Mapping[str, str] | None = None) -> None:
        self.reason = reason
        self.message = message
        self.metadata: Mapping[str, str] = metadata or {}
        super().__init__(message)


class InvalidArgument(GatewayError):
    """The request is wrong, whatever the state: fields break their rules."""

    outcome = Outcome.INVALID_ARGUMENT

    def __init__(
        self,
        violations: Sequence[FieldViolation],
        reason: Reason = Reason.INVALID_FIELD,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.violations = tuple(violations)
        first = self.violations[0]
        more = len(self.violations) - 1
        rest = f" (and {more} more: see the BadRequest detail)" if more else ""
        super().__init__(
            reason, f"{first.field}: {first.description}{rest}", metadata or {"field": first.field}
        )

    @classmethod
    def of(
        cls, field: str, description: str, reason: Reason = Reason.INVALID_FIELD, **metadata: str
    ) -> "InvalidArgument":
        """One violation; `metadata` is added to the field's name."""
        return cls([FieldViolation(field, description)], reason, {"field": field, **metadata})

    def under(self, prefix: str) -> "InvalidArgument":
        """The same error for a request that holds the one it was found in, in the field `prefix`."""
        moved = [FieldViolation(f"{prefix}.{v.field}", v.description) for v in self.violations]
        field = self.metadata.get("field")
        metadata = {**self.metadata, "field": f"{prefix}.{field}"} if field else self.metadata
        return InvalidArgument(moved, self.reason, metadata)


class MalformedRequest(GatewayError):
    """The bytes are not the message, or a text is not valid Unicode without NUL. Always the same text."""

    outcome = Outcome.INVALID_ARGUMENT
    text: ClassVar[str] = (
        "the request is not a well-formed message of this method: encode it from the published .proto files, "
        "with texts in UTF-8 and without NUL (U+0000)"
    )

    def __init__(self) -> None:
        super().__init__(Reason.MALFORMED_REQUEST, self.text)


class PolicyInvalid(GatewayError):
    """A policy has errors; warnings may be among the diagnostics."""

    outcome = Outcome.INVALID_ARGUMENT

    def __init__(self, diagnostics: Sequence[PolicyDiagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        errors = sum(d.severity == "ERROR" for d in self.diagnostics)
        counts = {"errors": str(errors), "warnings": str(len(self.diagnostics) - errors)}
        first = next((d for d in self.diagnostics if d.severity == "ERROR"), self.diagnostics[0])
        place = f"line {first.line}, column {first.column}: " if first.line else ""
        more = f" (and {errors - 1} more: see the PolicyDiagnostics detail)" if errors > 1 else ""
        advice = f"; {first.suggestion}" if first.suggestion else ""
        text = f"the policy has errors: {place}{first.field}: {first.message}{advice}{more}"
        super().__init__(Reason.POLICY_INVALID, text, counts)


class NotFound(GatewayError):
    """Nothing there, or another's: equal in every byte, whatever was asked for."""

    outcome = Outcome.NOT_FOUND
    text: ClassVar[str] = "there is no such thing for this tenant and user: check the name or the ids"

    def __init__(self) -> None:
        super().__init__(Reason.NOT_FOUND, self.text)


class AlreadyExists(GatewayError):
    """An id was used with other content."""

    outcome = Outcome.ALREADY_EXISTS


class PermissionDenied(GatewayError):
    """The principal may not do this."""

    outcome = Outcome.PERMISSION_DENIED


class FailedPrecondition(GatewayError):
    """The state does not allow it; repeating alone will not help."""

    outcome = Outcome.FAILED_PRECONDITION


class BudgetTooSmall(FailedPrecondition):
    """Prefix, question and floors do not fit the limit. `needs` are in the model's tokens."""

    def __init__(self, limit_tokens: int, needs: Sequence[Need]) -> None:
        self.limit_tokens = limit_tokens
        self.needs = tuple(needs)
        self.needed_tokens = sum(n.tokens for n in self.needs)
        listed = ", ".join(f"{n.section.value} {n.what} {n.tokens}" for n in self.needs)
        super().__init__(
            Reason.BUDGET_TOO_SMALL,
            f"the required parts need {self.needed_tokens} tokens and the limit is {limit_tokens}: raise "
            f"budget.max_input_tokens, shorten the prefix, or lower the floors of the policy ({listed})",
            {"limit_tokens": str(limit_tokens), "needed_tokens": str(self.needed_tokens)},
        )


class Aborted(GatewayError):
    """Somebody else was faster: read again and repeat."""

    outcome = Outcome.ABORTED


class ResourceExhausted(GatewayError):
    """A limit was reached. `retry_after` is in seconds; None where waiting will not help."""

    outcome = Outcome.RESOURCE_EXHAUSTED

    def __init__(
        self,
        reason: Reason,
        message: str,
        metadata: Mapping[str, str] | None = None,
        *,
        retry_after: float | None = None,
    ) -> None:
        self.retry_after = retry_after
        super().__init__(reason, message, metadata)


class Unavailable(GatewayError):
    """Not now: repeating after `retry_after` seconds is safe."""

    outcome = Outcome.UNAVAILABLE

    def __init__(
        self,
        reason: Reason,
        message: str,
        metadata: Mapping[str, str] | None = None,
        *,
        retry_after: float = 1.0,
    ) -> None:
        self.retry_after = retry_after
        super().__init__(reason, message, metadata)


class DeadlineExceeded(GatewayError):
    """The call's time is over. `deadline_seconds` is the time it had from its arrival."""

    outcome = Outcome.DEADLINE_EXCEEDED

    def __init__(self, deadline_seconds: float) -> None:
        milliseconds = str(round(deadline_seconds * 1000))
        super().__init__(
            Reason.DEADLINE_EXCEEDED,
            f"the deadline of {milliseconds} ms passed before the answer was ready: allow more time (at most "
            "10 s); a repeat with the same ids is safe",
            {"deadline_ms": milliseconds},
        )


class Internal(GatewayError):
    """A fault of ours that the use case recognised; `message` is written for the client."""

    outcome = Outcome.INTERNAL
