"""Typed errors as rich status: the details that fit, small enough for every client, and the catalogue of reasons."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.rpc import code_pb2, error_details_pb2

from assemblers.assembly import Need
from assemblers.records import SectionKind
from gateway.errors import (
    Aborted,
    BudgetTooSmall,
    FailedPrecondition,
    FieldViolation,
    GatewayError,
    InvalidArgument,
    NotFound,
    Outcome,
    PolicyInvalid,
    Reason,
    ResourceExhausted,
    Unavailable,
)
from gateway.server.status import to_status
from muniment.v1 import errors_pb2
from scripts import error_catalogue

_NAMES = [value.name for value in errors_pb2.ErrorReason.DESCRIPTOR.values]


@dataclass
class Diagnostic:
    severity: str
    rule_id: str = "facts.ttl.positive"
    field: str = "facts.ttl"
    message: str = "is negative"
    suggestion: str = "write 30d"
    line: int = 4
    column: int = 7


def details(error: GatewayError) -> list[Any]:
    known = {
        message.DESCRIPTOR.full_name: message
        for message in (
            error_details_pb2.ErrorInfo,
            error_details_pb2.BadRequest,
            error_details_pb2.RetryInfo,
            error_details_pb2.QuotaFailure,
            error_details_pb2.PreconditionFailure,
            errors_pb2.BudgetNeeds,
            errors_pb2.PolicyDiagnostics,
        )
    }
    return [known[d.TypeName()].FromString(d.value) for d in to_status(error).details]


def test_field_violations_are_listed_with_path_and_remedy():
    error = InvalidArgument(
        [FieldViolation("turn.turn_id", "is not an id"), FieldViolation("policy", "is long")]
    )
    info, bad = details(error)
    assert info.metadata == {"field": "turn.turn_id"}
    assert [(v.field, v.description) for v in bad.field_violations] == [
        ("turn.turn_id", "is not an id"),
        ("policy", "is long"),
    ]
    assert to_status(error).message == "turn.turn_id: is not an id (and 1 more: see the BadRequest detail)"


def test_a_retry_hint_is_given_where_waiting_helps_and_only_there():
    _, retry = details(Unavailable(Reason.STORAGE_UNAVAILABLE, "later", retry_after=1.5))
    assert retry.retry_delay.ToTimedelta().total_seconds() == 1.5
    _, quota, retry = details(ResourceExhausted(Reason.OVERLOADED, "full", retry_after=0.5))
    assert quota.violations[0].subject == "overloaded"
    assert retry.retry_delay.ToTimedelta().total_seconds() == 0.5
    _, quota = details(ResourceExhausted(Reason.LIMIT_EXCEEDED, "many", {"limit": "facts", "max": "3"}))
    assert quota.violations[0].subject == "facts"


def test_preconditions_name_type_and_subject():
    _, failure = details(FailedPrecondition(Reason.ERASED, "gone", {"name": "tenants/a/traces/1"}))
    assert (failure.violations[0].type, failure.violations[0].subject) == ("ERASED", "tenants/a/traces/1")


def test_a_budget_that_is_too_small_comes_with_the_needs_of_each_part():
    needs = [Need(SectionKind.PREFIX, 900, "system text"), Need(SectionKind.QUESTION, 90, "question")]
    error = BudgetTooSmall(512, needs)
    info, budget = details(error)
    assert info.metadata == {"limit_tokens": "512", "needed_tokens": "990"}
    assert [(n.tokens, n.what) for n in budget.needs] == [(900, "system text"), (90, "question")]
    assert (budget.limit_tokens, budget.needed_tokens) == (512, 990)
    assert "PREFIX system text 900" in error.message
    assert "budget.max_input_tokens" in error.message


def test_policy_diagnostics_have_line_and_column_and_only_errors_are_field_violations():
    error = PolicyInvalid([Diagnostic("WARNING", line=1), Diagnostic("ERROR")])
    info, diagnostics, bad = details(error)
    assert info.metadata == {"errors": "1", "warnings": "1"}
    assert [(d.line, d.column, d.suggestion) for d in diagnostics.diagnostics] == [
        (1, 7, "write 30d"),
        (4, 7, "write 30d"),
    ]
    assert [v.field for v in bad.field_violations] == ["facts.ttl"]
    assert error.message == "the policy has errors: line 4, column 7: facts.ttl: is negative; write 30d"


def test_not_found_is_the_same_in_every_byte():
    assert to_status(NotFound()).SerializeToString() == to_status(NotFound()).SerializeToString()
    with pytest.raises(TypeError):
        NotFound("t1")  # type: ignore[call-arg]  # that it takes nothing is the point


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgument([FieldViolation(f"facts[{i}].value", "is wrong: " + "é" * 900) for i in range(5000)]),
        PolicyInvalid([Diagnostic("ERROR", message="m" * 100) for _ in range(5000)]),
        BudgetTooSmall(1, [Need(SectionKind.FACTS, 1, "w" * 200) for _ in range(500)]),
        Aborted(Reason.REVISION_CONFLICT, "漢" * 10_000),
        FailedPrecondition(Reason.TOOL_RESULTS_MISSING, "é" * 9000, {"call_ids": "c" * 9000}),
        ResourceExhausted(Reason.LIMIT_EXCEEDED, "é" * 9000, {"limit": "é" * 9000}),
    ],
)
def test_no_status_outgrows_the_trailers_that_clients_accept(error):
    status = to_status(error)
    assert len(status.SerializeToString()) * 4 / 3 + len(status.message.encode()) * 3 < 8192


def test_every_reason_is_one_of_the_contract_and_the_other_way_round():
    names = {name.removeprefix("ERROR_REASON_") for name in _NAMES} - {"UNSPECIFIED"}
    assert {reason.value for reason in Reason} == names


def test_every_outcome_is_a_code():
    assert all(code_pb2.Code.Value(outcome.value) for outcome in Outcome)


def test_the_error_catalogue_is_the_contracts():
    source = Path("proto/muniment/v1/errors.proto").read_text(encoding="utf-8")
    assert Path("docs/errors.md").read_text(encoding="utf-8") == error_catalogue.render(source), (
        "run python -m scripts.error_catalogue"
    )
    assert {entry.name for entry in error_catalogue.entries(source)} == {reason.value for reason in Reason}
