"""FactService."""

from assemblers.records import Fact
from gateway.convert.facts import (
    fact_to,
    invalidation_to,
    listing_of,
    offered_of,
    outcome_to,
    selector_of,
)
from gateway.convert.types import user_of
from gateway.names import parse_fact_name
from gateway.server.call import Call
from gateway.servicers.paging import pager_for
from gateway.servicers.tokens import WriteTokens, seen_of
from gateway.usecases.facts import FactOutcome, Facts, Invalidation
from muniment.v1 import fact_pb2


class FactServicer:
    """The service over its use cases."""

    def __init__(self, facts: Facts, tokens: WriteTokens) -> None:
        self._facts, self._tokens = facts, tokens

    async def RecordFacts(
        self, request: fact_pb2.RecordFactsRequest, call: Call
    ) -> fact_pb2.RecordFactsResponse:
        """Offer facts to the gate."""
        user, offered = user_of(request.user), tuple(offered_of(fact) for fact in request.facts)

        def answer(outcomes: tuple[FactOutcome, ...]) -> fact_pb2.RecordFactsResponse:
            results = [outcome_to(outcome, user, call.now) for outcome in outcomes]
            return fact_pb2.RecordFactsResponse(results=results)

        if request.validate_only:
            return answer(await self._facts.validate(user, offered, request.policy, call.now))
        work = self._facts.record(user, offered, request.policy, call.now, call.receipt(answer))
        return await self._tokens.stamped(user, fact_pb2.RecordFactsResponse, work, answer)

    async def GetFact(self, request: fact_pb2.GetFactRequest, call: Call) -> fact_pb2.GetFactResponse:
        """One fact."""
        name = parse_fact_name("name", request.name)
        fact = await self._facts.get(name.user, name.no, seen_of(request))
        return fact_pb2.GetFactResponse(fact=fact_to(fact, call.now))

    async def ListFacts(self, request: fact_pb2.ListFactsRequest, call: Call) -> fact_pb2.ListFactsResponse:
        """A page of facts."""
        pager = pager_for(request)
        asked = pager.request(request.page_token, request.page_size)
        page = await self._facts.list(user_of(request.user), listing_of(request), asked, seen_of(request))
        facts = [fact_to(fact, call.now) for fact in page.items]
        return fact_pb2.ListFactsResponse(facts=facts, next_page_token=pager.token(page.next_cursor))

    async def InvalidateFacts(
        self, request: fact_pb2.InvalidateFactsRequest, call: Call
    ) -> fact_pb2.InvalidateFactsResponse:
        """Take facts out of use."""
        user, selector = user_of(request.user), selector_of(request)

        def answer(done: Invalidation) -> fact_pb2.InvalidateFactsResponse:
            return invalidation_to(done, call.now)

        if request.validate_only:
            return answer(await self._facts.validate_invalidation(user, selector, call.deadline))
        receipt = call.receipt(answer)
        work = self._facts.invalidate(user, selector, request.reason, call.now, call.deadline, receipt)
        return await self._tokens.stamped(user, fact_pb2.InvalidateFactsResponse, work, answer)

    async def DeleteFact(
        self, request: fact_pb2.DeleteFactRequest, call: Call
    ) -> fact_pb2.DeleteFactResponse:
        """Remove a fact's value."""
        name = parse_fact_name("name", request.name)

        def answer(fact: Fact) -> fact_pb2.DeleteFactResponse:
            return fact_pb2.DeleteFactResponse(fact=fact_to(fact, call.now))

        receipt = call.receipt(answer)
        work = self._facts.delete(name.user, name.no, request.etag, call.now, receipt)
        return await self._tokens.stamped(name.user, fact_pb2.DeleteFactResponse, work, answer)
