"""Limits, deadline, authentication, tenancy and idempotency, each alone."""

import asyncio
from dataclasses import replace

import pytest

from gateway.deadline import Deadline
from gateway.errors import DeadlineExceeded, NotFound, PermissionDenied, ResourceExhausted, Unavailable
from gateway.identity import LOCAL, AccessRole, Principal
from gateway.server.authentication import authentication
from gateway.server.call import Call, Method
from gateway.server.deadlines import deadline, deadline_for
from gateway.server.idempotency import idempotency
from gateway.server.limits import Limits
from gateway.server.tenancy import tenancy
from muniment.v1 import context_pb2, fact_pb2, policy_service_pb2, trace_pb2, types_pb2
from storage.errors import Repeated


async def answer(_: Call) -> bytes:
    return b"answer"


async def test_without_credentials_everybody_is_local_with_all_roles(method, make_call):
    call = make_call()
    assert await authentication(method, answer)(call) == b"answer"
    assert call.principal is LOCAL
    assert call.principal.roles == frozenset(AccessRole)


async def test_a_request_at_the_limit_passes_and_one_byte_more_is_refused(method, make_call):
    handler = Limits(4)(method, answer)
    assert await handler(make_call(b"x" * 1024)) == b"answer"
    with pytest.raises(ResourceExhausted) as refused:
        await handler(make_call(b"x" * 1025))
    assert refused.value.metadata == {"limit": "request_bytes", "max": "1024"}
    assert refused.value.retry_after is None


async def test_calls_over_the_limit_are_refused_at_once_with_a_retry_hint(method, make_call):
    release = asyncio.Event()

    async def wait(_: Call) -> bytes:
        await release.wait()
        return b""

    limits = Limits(2)
    handler = limits(method, wait)
    running = [asyncio.create_task(handler(make_call())) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted) as refused:
        await handler(make_call())
    assert refused.value.reason == "OVERLOADED"
    assert refused.value.retry_after
    release.set()
    await asyncio.gather(*running)
    assert limits.running == 0
    assert await handler(make_call()) == b""


async def test_once_closed_new_calls_are_refused_and_running_ones_are_finished(method, make_call):
    release = asyncio.Event()

    async def wait(_: Call) -> bytes:
        await release.wait()
        return b"finished"

    limits = Limits(4)
    handler = limits(method, wait)
    running = asyncio.create_task(handler(make_call()))
    await asyncio.sleep(0)
    limits.close()
    with pytest.raises(Unavailable) as refused:
        await handler(make_call())
    assert refused.value.reason == "SHUTTING_DOWN"
    assert refused.value.retry_after > 0
    assert (limits.running, limits.arrived) == (1, 2)
    release.set()
    assert await running == b"finished"


async def test_a_failed_call_is_counted_out_again(method, make_call):
    async def fail(_: Call) -> bytes:
        raise ValueError

    limits = Limits(1)
    with pytest.raises(ValueError):
        await limits(method, fail)(make_call())
    assert limits.running == 0


@pytest.mark.parametrize(
    ("remaining", "seconds", "by_transport"),
    [(None, 2.0, False), (0.5, 0.5, True), (10.0, 10.0, True), (10.5, 10.0, False), (9e9, 10.0, False)],
)
def test_no_deadline_means_two_seconds_and_none_is_longer_than_ten(remaining, seconds, by_transport):
    made, ended_by_transport = deadline_for(remaining, lambda: 100.0)
    assert (made.expires_at, made.seconds, ended_by_transport) == (100.0 + seconds, seconds, by_transport)


async def test_a_call_that_comes_too_late_is_not_begun(method, make_call):
    async def never(_: Call) -> bytes:
        raise AssertionError("begun")

    with pytest.raises(DeadlineExceeded):
        await deadline(method, never)(make_call(deadline=Deadline.after(0.0)))


async def test_a_call_that_takes_too_long_is_stopped_by_our_timer(method, make_call):
    async def wait(_: Call) -> bytes:
        await asyncio.sleep(30)
        return b""

    with pytest.raises(TimeoutError):
        await deadline(method, wait)(make_call(deadline=Deadline.after(0.02)))


async def test_a_call_that_the_transport_ends_gets_no_timer_of_ours(method, make_call):
    async def wait(_: Call) -> bytes:
        await asyncio.sleep(0.05)
        return b"late"

    call = make_call(deadline=Deadline.after(0.02), ended_by_transport=True)
    assert await deadline(method, wait)(call) == b"late"


SESSION = types_pb2.SessionRef(tenant_id="acme")
USER = types_pb2.UserRef(tenant_id="acme")
TENANT_REQUESTS = [
    (context_pb2.AssembleContextRequest(session=SESSION), True),
    (context_pb2.ExplainContextRequest(request=context_pb2.AssembleContextRequest(session=SESSION)), True),
    (context_pb2.CountTokensRequest(tenant_id="acme"), True),
    (context_pb2.ReportUsageRequest(trace="tenants/acme/traces/00"), False),
    (fact_pb2.InvalidateFactsRequest(user=USER, name="tenants/other/users/u/facts/1"), True),
    (fact_pb2.GetFactRequest(name="tenants/acme/users/u/facts/1"), False),
    (trace_pb2.GetTraceRequest(name="tenants/acme/traces/00"), False),
]


@pytest.mark.parametrize(("request_message", "by_id"), TENANT_REQUESTS)
async def test_the_tenant_is_the_one_that_the_request_names(request_message, by_id, method, make_call):
    typed = replace(method, request_class=type(request_message))
    call = make_call(request=request_message, principal=LOCAL)
    assert await tenancy(typed, answer)(call) == b"answer"
    assert call.tenant_id == "acme"


@pytest.mark.parametrize(("request_message", "by_id"), TENANT_REQUESTS)
async def test_another_tenants_id_is_denied_and_another_tenants_name_is_not_found(
    request_message, by_id, method, make_call
):
    typed = replace(method, request_class=type(request_message))
    bound = Principal("key", frozenset(AccessRole), tenant_id="globex")
    with pytest.raises(PermissionDenied if by_id else NotFound):
        await tenancy(typed, answer)(make_call(request=request_message, principal=bound))


@pytest.mark.parametrize(
    ("name", "tenant"),
    [("policies/memory", ""), ("tenants/a%2Fb/policies/p", "a/b"), ("", ""), ("tenants", "")],
)
async def test_tenants_in_names_are_decoded_and_built_ins_have_none(name, tenant, method, make_call):
    typed = replace(method, request_class=policy_service_pb2.GetPolicyRequest)
    call = make_call(request=policy_service_pb2.GetPolicyRequest(name=name), principal=LOCAL)
    await tenancy(typed, answer)(call)
    assert call.tenant_id == tenant


async def test_a_repeated_write_gets_the_first_answers_bytes(method, make_call):
    async def repeated(_: Call) -> bytes:
        raise Repeated(b"first answer")

    assert await idempotency(method, repeated)(make_call()) == b"first answer"


def test_methods_without_a_request_id_are_not_wrapped(method):
    reading = replace(method, request_class=trace_pb2.GetTraceRequest)
    assert idempotency(reading, answer) is answer


def test_equal_requests_have_equal_digests_whatever_the_order_of_their_maps(method: Method, make_call):
    one = context_pb2.AssembleContextRequest(labels={"a": "1", "b": "2", "c": "3"})
    two = context_pb2.AssembleContextRequest(labels={"c": "3", "b": "2", "a": "1"})
    other = context_pb2.AssembleContextRequest(labels={"a": "1", "b": "2"})
    digests = [make_call(request=request).body_sha256 for request in (one, two, other)]
    assert digests[0] == digests[1] != digests[2]


def test_a_receipt_names_tenant_method_request_and_digest_and_encodes_the_answer(make_call):
    request = context_pb2.ReportUsageRequest(request_id="6f1c2a00-6f1c-4a00-8f1c-6f1c2a006f1c")
    call = make_call(request=request, tenant_id="acme")
    receipt = call.receipt(lambda total: context_pb2.CountTokensResponse(token_counts=[total]))
    assert (receipt.tenant_id, receipt.method) == ("acme", "AssembleContext")
    assert (receipt.request_id, receipt.body_sha256) == (request.request_id, call.body_sha256)
    assert receipt.now == call.now
    assert context_pb2.CountTokensResponse.FromString(receipt.encode(7)).token_counts == [7]
