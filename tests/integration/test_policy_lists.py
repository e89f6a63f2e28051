"""Built-in policies in the lists, times that do not exist, and what a stale etag is told."""

from pathlib import Path

from muniment.v1 import policy_service_pb2
from tests.integration.in_process import Gateway, gateway_at
from tests.integration.requests import TENANT

BUILTINS = ["policies/conversation", "policies/memory"]


async def register(gateway: Gateway, *ids: str) -> list[str]:
    names = []
    for policy_id in ids:
        yaml = f"policy_id: {policy_id}\nsections: [{{question: {{}}}}]\n".encode()
        request = policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=TENANT, yaml=yaml)
        names.append((await gateway.call("RegisterPolicyRevision", request)).revision.name)
    return names


async def pages(gateway: Gateway, size: int) -> list[list[str]]:
    """The names by page, of as many pages as there are."""
    found: list[list[str]] = []
    request = policy_service_pb2.ListPoliciesRequest(tenant_id=TENANT, page_size=size)
    while True:
        answer = await gateway.call("ListPolicies", request)
        found.append([head.name for head in answer.policies])
        if not answer.next_page_token:
            return found
        request.page_token = answer.next_page_token


async def test_built_in_policies_stand_behind_the_tenants_own(tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        assert await pages(gateway, 50) == [BUILTINS]
        await register(gateway, "zebra", "ant")
        own = [f"tenants/{TENANT}/policies/{name}" for name in ("ant", "zebra")]
        assert await pages(gateway, 50) == [own + BUILTINS]


async def test_pages_of_any_size_list_each_policy_once(tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        await register(gateway, "a", "b", "c")
        (whole,) = await pages(gateway, 50)
        assert len(whole) == 5
        for size in range(1, 7):
            parts = await pages(gateway, size)
            assert [name for part in parts for name in part] == whole
            assert all(len(part) <= size for part in parts)


async def test_a_built_in_policy_has_no_time_of_its_own(tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        answer = await gateway.call("GetPolicy", policy_service_pb2.GetPolicyRequest(name="policies/memory"))
    assert not answer.head.HasField("update_time")
    assert not answer.revision.HasField("create_time")


async def test_a_policy_that_was_only_validated_has_a_name_and_no_time(tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        request = policy_service_pb2.RegisterPolicyRevisionRequest(
            tenant_id=TENANT, yaml=b"policy_id: desk\nsections: [{question: {}}]\n", validate_only=True
        )
        preview = (await gateway.call("RegisterPolicyRevision", request)).revision
        assert not preview.HasField("create_time")
        assert (await register(gateway, "desk")) == [preview.name]


async def test_a_stale_etag_is_told_the_present_one(tmp_path: Path):
    async with gateway_at(tmp_path) as gateway:
        (name,) = await register(gateway, "desk")
        request = policy_service_pb2.ActivatePolicyRevisionRequest(name=name)
        present = (await gateway.call("ActivatePolicyRevision", request)).head.etag
        request.etag = "W/stale"
        refused = await gateway.refusal("ActivatePolicyRevision", request)
    assert (refused.code, refused.reason) == ("ABORTED", "ETAG_MISMATCH")
    assert dict(refused.info.metadata) == {"field": "etag", "etag": present}
