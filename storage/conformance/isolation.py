"""Isolation: every read of every store, for users whose ids are easy to confuse, gives that user's own canary only."""

from assemblers.records import SessionRef, Slots, UserRef
from storage.conformance.samples import (
    ALL,
    NOW,
    archived,
    fact,
    policy,
    prefix,
    receipt,
    refused,
    trace,
    turn,
    usage,
)
from storage.errors import Erased, NotFound
from storage.ports import FactSelector, PageRequest, Storage, TraceSelector

CONFUSABLE = (
    UserRef("a:b", "c"),
    UserRef("a", "b:c"),
    UserRef("a", "b"),
    UserRef("acme", "john-doe"),
    UserRef("acme", "john_doe"),
    UserRef("acme", "john%doe"),
    UserRef("acme", "%"),
    UserRef("acme", "_"),
    UserRef("acme", "*"),
    UserRef("acme", "Ann"),
    UserRef("acme", "ann"),
    UserRef("Acme", "ann"),
    UserRef("acme", "ann "),
    UserRef("acme", " ann"),
    UserRef("acme", "ann/"),
    UserRef("acme", "аnn"),  # the first letter is Cyrillic
    UserRef("acme", "ánn"),
    UserRef("acme", "a\u0301nn"),
    UserRef("acme", "1"),
    UserRef("acme", "01"),
    UserRef("acme", "1.0"),
    UserRef("acme", "' OR '1'='1"),
)


def canary(user: UserRef) -> str:
    """A text that says whose it is."""
    return f"canary of {user!r}"


def session_of(user: UserRef) -> SessionRef:
    """Every user's session has the same id."""
    return SessionRef(user.tenant_id, user.user_id, "s")


def trace_id(user: UserRef) -> str:
    """Trace ids are unique within a tenant."""
    return f"x-{user.user_id}"


async def plant(storage: Storage, user: UserRef) -> None:
    """Give the user a thing of every kind."""
    mark, session = canary(user), session_of(user)
    await storage.facts.record(user, [fact("k", mark)], NOW, receipt())
    await storage.archives.append(user, [archived("s", mark)], NOW, receipt())
    await storage.transcripts.record(session, [turn("t", mark)], NOW, None, receipt())
    await storage.traces.append(trace(trace_id(user), session, "answered", content=mark))
    await storage.sessions.put(session, Slots(answer_format=mark), 0, NOW, 60)


async def everything(storage: Storage, user: UserRef) -> dict[str, object]:
    """What each read gives this user, reduced to the canaries."""
    session = session_of(user)
    of_user = TraceSelector(user_id=user.user_id, session_id="s")
    latest = await storage.traces.latest(session)
    answered = await storage.traces.answered(session, "answered", NOW)
    slots = await storage.sessions.get(session, NOW)
    facts = await storage.facts.list(user, FactSelector(include_retired=True), ALL)
    return {
        "load facts": [item.value for item in (await storage.facts.load(user)).facts],
        "peek facts": [
            item.value for item in (storage.facts.peek(user) or await storage.facts.load(user)).facts
        ],
        "list facts": [item.value for item in facts.items],
        "load archive": [item.text for item in (await storage.archives.load(user)).excerpts],
        "list turns": [item.text for item in (await storage.transcripts.list(session, NOW, ALL)).items],
        "open turn": [item.text for item in await storage.transcripts.since_last_question(session, NOW)],
        "list traces": [
            item.content for item in (await storage.traces.list(user.tenant_id, of_user, ALL)).items
        ],
        "latest trace": latest.content if latest else None,
        "answered": answered.trace_id if answered else None,
        "slots": slots.slots.answer_format if slots else None,
    }


class IsolationSuite:
    """The matrix of reads and confusable users (P1, P3, S23, S31)."""

    async def test_every_read_gives_the_own_canary_only(self, storage: Storage) -> None:
        for user in CONFUSABLE:
            await plant(storage, user)
        for user in CONFUSABLE:
            mark = canary(user)
            assert await everything(storage, user) == {
                "load facts": [mark],
                "peek facts": [mark],
                "list facts": [mark],
                "load archive": [mark],
                "list turns": [mark],
                "open turn": [mark],
                "list traces": [mark.encode()],
                "latest trace": mark.encode(),
                "answered": trace_id(user),
                "slots": mark,
            }
            assert (await storage.facts.get(user, 1)).value == mark
            assert (await storage.archives.excerpts(user, (1,)))[0].text == mark

    async def test_reading_for_strangers_finds_nothing_and_creates_nothing(self, storage: Storage) -> None:
        """P13."""
        await plant(storage, UserRef("acme", "ann"))
        for stranger in (
            UserRef("acme", "%"),
            UserRef("acme", "an_"),
            UserRef("acme", "ANN"),
            UserRef("acm", "eann"),
        ):
            found = await everything(storage, stranger)
            assert not any(found.values()), found
            with refused(NotFound):
                await storage.facts.get(stranger, 1)
            with refused(Erased):
                await storage.archives.excerpts(stranger, (1,))
            assert storage.users.peek(stranger) is None

    async def test_writing_for_one_user_touches_no_other(self, storage: Storage) -> None:
        for user in CONFUSABLE:
            await plant(storage, user)
        victim = UserRef("acme", "john_doe")
        others = [user for user in CONFUSABLE if user != victim]
        before = [await everything(storage, user) for user in others]
        await storage.facts.delete(victim, 1, "", NOW, receipt())
        await storage.facts.invalidate(victim, FactSelector(), "", NOW, receipt())
        await storage.transcripts.end(session_of(victim), None, NOW, receipt())
        await storage.sessions.drop(session_of(victim))
        assert [await everything(storage, user) for user in others] == before

    async def test_deleting_or_invalidating_a_strangers_fact_is_not_found(self, storage: Storage) -> None:
        await plant(storage, UserRef("acme", "ann"))
        with refused(NotFound):
            await storage.facts.delete(UserRef("acme", "bob"), 1, "", NOW, receipt())
        with refused(NotFound):
            await storage.facts.delete(UserRef("umbrella", "ann"), 1, "", NOW, receipt())

    async def test_a_cursor_of_one_user_opens_nothing_of_another(self, storage: Storage) -> None:
        ann, bob = UserRef("acme", "ann"), UserRef("acme", "bob")
        await storage.facts.record(ann, [fact(f"a{index}", "ann's") for index in range(4)], NOW, receipt())
        await storage.facts.record(bob, [fact(f"b{index}", "bob's") for index in range(4)], NOW, receipt())
        cursor = (await storage.facts.list(ann, FactSelector(), PageRequest(1))).next_cursor
        page = await storage.facts.list(bob, FactSelector(), PageRequest(10, cursor))
        assert [item.value for item in page.items] == ["bob's"] * 3

    async def test_tenants_see_their_own_policies_prefixes_traces_and_usage_only(
        self, storage: Storage
    ) -> None:
        tenants = ("acme", "Acme", "acme ", "ac%", "umbrella")
        for tenant_id in tenants:
            session = SessionRef(tenant_id, "ann", "s")
            revision = policy(text=tenant_id, tenant_id=tenant_id)
            await storage.policies.register(revision, receipt())
            await storage.policies.activate(tenant_id, "support", revision.digest, None, "", NOW, receipt())
            await storage.prefixes.register(prefix(text=tenant_id, tenant_id=tenant_id), receipt())
            await storage.traces.append(trace("x", session, content=tenant_id))
            await storage.usage.report(usage("x", len(tenant_id), tenant_id=tenant_id), receipt())
        for tenant_id in tenants:
            own = tenant_id.encode()
            for policy_id in ("support", ""):
                active = await storage.policies.active(tenant_id, policy_id)
                assert active is not None
                assert active.document == own
            assert [head.tenant_id for head in (await storage.policies.heads(tenant_id, ALL)).items] == [
                tenant_id
            ]
            revisions = (await storage.policies.revisions(tenant_id, "support", ALL)).items
            assert [revision.document for revision in revisions] == [own]
            newest = await storage.prefixes.find(tenant_id, "main", "")
            assert newest is not None
            assert newest.text == tenant_id
            assert [
                item.text for item in (await storage.prefixes.revisions(tenant_id, "main", ALL)).items
            ] == [tenant_id]
            assert (await storage.traces.get(tenant_id, "x")).content == own
            assert [item.content for item in await storage.traces.chain(tenant_id, 0, 10)] == [own]
            assert [
                item.content for item in (await storage.traces.list(tenant_id, TraceSelector(), ALL)).items
            ] == [own]
            assert await storage.usage.observations(tenant_id, "anthropic") == ((len(tenant_id), 110),)

    async def test_a_revision_of_another_tenant_cannot_be_activated(self, storage: Storage) -> None:
        theirs = policy(text="theirs", tenant_id="umbrella")
        await storage.policies.register(theirs, receipt())
        await storage.policies.register(policy(text="ours"), receipt())
        with refused(NotFound):
            await storage.policies.activate("acme", "support", theirs.digest, None, "", NOW, receipt())
        assert await storage.policies.revision("acme", "support", theirs.digest) is None
