"""PolicyService: register, validate, read, activate, roll back."""

import asyncio

from assemblers.records import UserRef
from gateway.convert.policies import diagnostic_to, head_to, revision_to
from gateway.errors import InvalidArgument, PolicyInvalid
from gateway.names import parse_policy_name, parse_policy_revision_name, policy_name
from gateway.paging import Pager
from gateway.policies.reading import Draft, PolicyReader
from gateway.server.call import Call
from gateway.servicers.tokens import WriteTokens
from gateway.usecases.policies import PolicyAdmin
from muniment.v1 import policy_service_pb2
from storage.ports import PolicyHead, StoredPolicy

SourceRequest = policy_service_pb2.RegisterPolicyRevisionRequest | policy_service_pb2.ValidatePolicyRequest


class PolicyServicer:
    """The servicer."""

    def __init__(self, admin: PolicyAdmin, reader: PolicyReader, tokens: WriteTokens) -> None:
        self._admin, self._reader, self._tokens = admin, reader, tokens

    async def RegisterPolicyRevision(
        self, request: policy_service_pb2.RegisterPolicyRevisionRequest, call: Call
    ) -> policy_service_pb2.RegisterPolicyRevisionResponse:
        """Store a policy under the hash of its content, or say all that is wrong with it."""
        draft = await self._read(request)
        if draft.policy is None:
            raise PolicyInvalid(draft.diagnostics)
        revision = draft.revision(call.tenant_id)
        stored = StoredPolicy(
            call.tenant_id, draft.policy.policy_id, revision.digest, draft.document, _author(call), call.now
        )

        def answer(registered: StoredPolicy) -> policy_service_pb2.RegisterPolicyRevisionResponse:
            return policy_service_pb2.RegisterPolicyRevisionResponse(
                revision=revision_to(registered), diagnostics=[diagnostic_to(d) for d in draft.diagnostics]
            )

        self._admin.check_id(stored.policy_id)
        if request.validate_only:
            preview = answer(stored)
            preview.revision.ClearField("create_time")
            return preview
        work = self._admin.register(stored, call.receipt(answer))
        kind = policy_service_pb2.RegisterPolicyRevisionResponse
        return await self._tokens.stamped(UserRef(call.tenant_id, ""), kind, work, answer)

    async def ValidatePolicy(
        self, request: policy_service_pb2.ValidatePolicyRequest, call: Call
    ) -> policy_service_pb2.ValidatePolicyResponse:
        """All that is wrong with a policy; nothing is stored."""
        draft = await self._read(request)
        name = ""
        if draft.policy is not None:
            name = policy_name(call.tenant_id, draft.policy.policy_id, draft.revision(call.tenant_id).digest)
        return policy_service_pb2.ValidatePolicyResponse(
            valid=draft.valid, name=name, diagnostics=[diagnostic_to(d) for d in draft.diagnostics]
        )

    async def GetPolicy(
        self, request: policy_service_pb2.GetPolicyRequest, call: Call
    ) -> policy_service_pb2.GetPolicyResponse:
        """A policy's head with one revision."""
        found = await self._admin.get(parse_policy_revision_name("name", request.name))
        return policy_service_pb2.GetPolicyResponse(
            head=head_to(found.head), revision=revision_to(found.revision)
        )

    async def ListPolicies(
        self, request: policy_service_pb2.ListPoliciesRequest, call: Call
    ) -> policy_service_pb2.ListPoliciesResponse:
        """The tenant's policies."""
        pager = Pager("ListPolicies", request.tenant_id.encode())
        page = await self._admin.heads(
            request.tenant_id, pager.request(request.page_token, request.page_size)
        )
        return policy_service_pb2.ListPoliciesResponse(
            policies=[head_to(head) for head in page.items], next_page_token=pager.token(page.next_cursor)
        )

    async def ListPolicyRevisions(
        self, request: policy_service_pb2.ListPolicyRevisionsRequest, call: Call
    ) -> policy_service_pb2.ListPolicyRevisionsResponse:
        """A policy's revisions, newest first."""
        name = parse_policy_name("policy", request.policy)
        pager = Pager("ListPolicyRevisions", request.policy.encode())
        page = await self._admin.revisions(name, pager.request(request.page_token, request.page_size))
        return policy_service_pb2.ListPolicyRevisionsResponse(
            revisions=[revision_to(r) for r in page.items], next_page_token=pager.token(page.next_cursor)
        )

    async def ActivatePolicyRevision(
        self, request: policy_service_pb2.ActivatePolicyRevisionRequest, call: Call
    ) -> policy_service_pb2.ActivatePolicyRevisionResponse:
        """Make a revision the active one."""

        def answer(head: PolicyHead) -> policy_service_pb2.ActivatePolicyRevisionResponse:
            return policy_service_pb2.ActivatePolicyRevisionResponse(head=head_to(head))

        as_default = request.tenant_default if request.HasField("tenant_default") else None
        name = parse_policy_revision_name("name", request.name)
        work = self._admin.activate(name, as_default, request.etag, call.now, call.receipt(answer))
        kind = policy_service_pb2.ActivatePolicyRevisionResponse
        return await self._tokens.stamped(UserRef(call.tenant_id, ""), kind, work, answer)

    async def RollbackPolicy(
        self, request: policy_service_pb2.RollbackPolicyRequest, call: Call
    ) -> policy_service_pb2.RollbackPolicyResponse:
        """Make the revision before the active one active again."""

        def answer(head: PolicyHead) -> policy_service_pb2.RollbackPolicyResponse:
            return policy_service_pb2.RollbackPolicyResponse(head=head_to(head))

        name = parse_policy_name("name", request.name)
        work = self._admin.roll_back(name, request.etag, call.now, call.receipt(answer))
        kind = policy_service_pb2.RollbackPolicyResponse
        return await self._tokens.stamped(UserRef(call.tenant_id, ""), kind, work, answer)

    async def _read(self, request: SourceRequest) -> Draft:
        """Off the event loop: a policy of 256 KiB takes a while to parse."""
        match request.WhichOneof("source"):
            case "yaml":
                return await asyncio.to_thread(self._reader.from_yaml, request.yaml)
            case "policy":
                return await asyncio.to_thread(self._reader.from_message, request.policy)
            case _:
                raise InvalidArgument.of("source", "is required: give `policy` or `yaml`")


def _author(call: Call) -> str:
    return call.principal.name if call.principal is not None else ""
