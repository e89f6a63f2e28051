"""PrefixService: register, read and list prefix revisions."""

from assemblers.records import PrefixRevision, UserRef
from gateway.convert.prefixes import draft_of, revision_to
from gateway.names import parse_prefix_name, parse_prefix_revision_name
from gateway.server.call import Call
from gateway.servicers.paging import pager_for
from gateway.servicers.tokens import WriteTokens
from gateway.usecases.prefixes import Prefixes, check
from muniment.v1 import prefix_pb2


class PrefixServicer:
    """The servicer."""

    def __init__(self, prefixes: Prefixes, tokens: WriteTokens) -> None:
        self._prefixes, self._tokens = prefixes, tokens

    async def RegisterPrefixRevision(
        self, request: prefix_pb2.RegisterPrefixRevisionRequest, call: Call
    ) -> prefix_pb2.RegisterPrefixRevisionResponse:
        """Store a prefix under the hash of its content."""
        draft = draft_of(request)

        def answer(revision: PrefixRevision) -> prefix_pb2.RegisterPrefixRevisionResponse:
            return prefix_pb2.RegisterPrefixRevisionResponse(
                revision=revision_to(revision, stored=not request.validate_only)
            )

        if request.validate_only:
            return answer(check(draft, call.now))
        work = self._prefixes.register(draft, call.now, call.receipt(answer))
        tenant = UserRef(call.tenant_id, "")
        return await self._tokens.stamped(tenant, prefix_pb2.RegisterPrefixRevisionResponse, work, answer)

    async def GetPrefixRevision(
        self, request: prefix_pb2.GetPrefixRevisionRequest, call: Call
    ) -> prefix_pb2.GetPrefixRevisionResponse:
        """One revision."""
        name = parse_prefix_revision_name("name", request.name)
        revision = await self._prefixes.get(name.tenant_id, name.prefix_id, name.digest)
        return prefix_pb2.GetPrefixRevisionResponse(revision=revision_to(revision))

    async def ListPrefixRevisions(
        self, request: prefix_pb2.ListPrefixRevisionsRequest, call: Call
    ) -> prefix_pb2.ListPrefixRevisionsResponse:
        """A page of revisions."""
        pager = pager_for(request)
        name = parse_prefix_name("prefix", request.prefix)
        asked = pager.request(request.page_token, request.page_size)
        page = await self._prefixes.list(name.tenant_id, name.prefix_id, asked)
        return prefix_pb2.ListPrefixRevisionsResponse(
            revisions=[revision_to(revision) for revision in page.items],
            next_page_token=pager.token(page.next_cursor),
        )
