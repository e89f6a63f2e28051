"""What is asked of traces, read from messages."""

from datetime import UTC, datetime

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from assemblers.records import Subject, UserRef
from assemblers.trace.absence import MissedExcerpt, MissedFact, MissedKey, MissedText
from gateway.convert.trace_requests import missed_of, selector_of
from gateway.errors import InvalidArgument
from muniment.v1 import trace_pb2, types_pb2
from storage.ports import TraceSelector

Key = trace_pb2.ExplainAbsenceRequest.FactKeyRef
ANN = UserRef("acme", "ann@example.com")


def test_nothing_set_selects_everything():
    assert selector_of(trace_pb2.ListTracesRequest(tenant_id="acme")) == TraceSelector()


def test_every_field_narrows_and_a_policy_is_named_in_its_one_spelling():
    request = trace_pb2.ListTracesRequest(
        tenant_id="acme", user_id="ann", session_id="s", turn_id="t", policy="tenants/acme/policies/a@b"
    )
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    request.start_time.FromDatetime(start)
    request.end_time.FromDatetime(end)
    assert selector_of(request) == TraceSelector("ann", "s", "t", "tenants/acme/policies/a%40b", start, end)


def test_a_start_alone_and_an_end_alone_are_fine():
    request = trace_pb2.ListTracesRequest(tenant_id="acme", end_time=Timestamp(seconds=5))
    assert selector_of(request).created_until == datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"session_id": "s"}, "session_id: is known only within its user_id: set user_id too"),
        ({"user_id": "u", "turn_id": "t"}, "turn_id: is known only within its session_id"),
        ({"start_time": {"seconds": 9}, "end_time": {"seconds": 8}}, "end_time: is not after start_time"),
        ({"policy": "desk"}, "policy: is not a name of this kind: write tenants/"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(fields: dict[str, object], message: str):
    with pytest.raises(InvalidArgument, match=message):
        selector_of(trace_pb2.ListTracesRequest(tenant_id="acme", **fields))  # type: ignore[arg-type]


def test_what_is_missed_comes_with_its_owner_where_it_has_a_name():
    request = trace_pb2.ExplainAbsenceRequest
    user = "tenants/acme/users/ann%40example.com"
    assert missed_of(request(fact=f"{user}/facts/3")) == (MissedFact(3), ANN)
    assert missed_of(request(excerpt=f"{user}/excerpts/4")) == (MissedExcerpt(4), ANN)
    assert missed_of(request(fact_key=Key(key="plan"))) == (MissedKey("plan", Subject()), None)
    about = types_pb2.Subject(account=types_pb2.Subject.Account(id="a1"))
    account = request(fact_key=Key(key="plan", subject=about))
    assert missed_of(account) == (MissedKey("plan", Subject("account", "a1")), None)
    assert missed_of(request(text="late")) == (MissedText("late"), None)


@pytest.mark.parametrize("field", ["fact", "excerpt"])
def test_a_name_of_another_form_is_refused_with_its_field(field: str):
    with pytest.raises(InvalidArgument, match=f"{field}: is not a name of this kind"):
        missed_of(trace_pb2.ExplainAbsenceRequest(**{field: "tenants/acme/facts/3"}))  # type: ignore[arg-type]
