"""Every read of every port, reduced to the marks that it shows: what the isolation of tenants and users is tried with.

Each user is given a thing of every kind that bears the user's mark, and each tenant things that bear its own. A read
must show the marks of whom it is for, and no other. What a port can do and is not listed here fails the suite, so a
read that is added later is tried as well.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from assemblers.ranking import VectorSpace
from assemblers.records import SessionRef, Slots, UserRef
from storage.conformance.samples import ALL, NOW, archived, fact, policy, prefix, receipt, trace, turn, usage
from storage.errors import Erased, NotFound
from storage.ports import FactSelector, Storage, TraceSelector

Read = Callable[[Storage, UserRef], Awaitable[Iterable[str]]]

SPACE: Final = VectorSpace("marks", 3)
TURN: Final = "answered"

WRITES: Final = frozenset(
    {
        "facts.record", "facts.invalidate", "facts.delete", "facts.forget", "archives.append", "archives.add_vectors",
        "archives.carry", "archives.forget", "transcripts.record", "transcripts.end", "policies.register",
        "policies.activate", "policies.roll_back", "policies.forget_tenant", "prefixes.register",
        "prefixes.forget_tenant", "traces.append", "usage.report", "usage.forget_tenant", "sessions.put",
        "sessions.drop",
    }
)  # fmt: skip
"""What a port can do that shows nothing but what its caller gave."""
ELSEWHERE: Final = frozenset({"epochs.read"})
"""Numbers that bear no mark: `EpochSuite` has them."""


def mark_of(user: UserRef) -> str:
    """A text that says whose it is."""
    return f"mark of {user!r}"


def tenant_mark(tenant_id: str) -> str:
    """A text that says which tenant's it is."""
    return f"mark of {tenant_id!r}"


def session_of(user: UserRef) -> SessionRef:
    """Every user's session has the same id."""
    return SessionRef(user.tenant_id, user.user_id, "s")


def trace_id(user: UserRef) -> str:
    """Trace ids are unique within a tenant."""
    return f"x-{user.user_id}"


def billed(tenant_id: str) -> int:
    """Tokens that tell tenants apart."""
    return int.from_bytes(tenant_id.encode()[:6])


def vector_of(user: UserRef) -> NDArray[np.float32]:
    """A vector that tells users apart and is shorter than 1."""
    parts = hashlib.sha256(mark_of(user).encode()).digest()[:3]
    return np.array([part / 512 for part in parts], np.float32)


async def plant(storage: Storage, user: UserRef) -> None:
    """Give the user a thing of every kind."""
    mark, session = mark_of(user), session_of(user)
    await storage.facts.record(user, [fact("k", mark)], NOW, receipt())
    await storage.archives.append(user, [archived("s", mark)], NOW, receipt())
    await storage.archives.add_vectors(user, SPACE, {1: vector_of(user)})
    await storage.transcripts.record(session, [turn("t", mark)], NOW, None, receipt())
    await storage.traces.append(trace(trace_id(user), session, TURN, content=mark))
    await storage.sessions.put(session, Slots(answer_format=mark), 0, NOW, 60)


async def plant_tenant(storage: Storage, tenant_id: str) -> None:
    """Give the tenant a thing of every kind that is no user's."""
    mark, session = tenant_mark(tenant_id), SessionRef(tenant_id, "of the tenant", "s")
    revision = policy(text=mark, tenant_id=tenant_id)
    await storage.policies.register(revision, receipt())
    await storage.policies.activate(tenant_id, "support", revision.digest, None, "", NOW, receipt())
    await storage.prefixes.register(prefix(text=mark, tenant_id=tenant_id), receipt())
    await storage.traces.append(trace("of the tenant", session, content=mark))
    report = usage("of the tenant", billed(tenant_id), tenant_id=tenant_id)
    await storage.usage.report(report, receipt())


async def _peeked_facts(storage: Storage, user: UserRef) -> Iterable[str]:
    await storage.facts.load(user)
    snapshot = storage.facts.peek(user)
    return [str(item.value) for item in snapshot.facts] if snapshot else []


async def _loaded_facts(storage: Storage, user: UserRef) -> Iterable[str]:
    storage.facts.forget(user)
    return [str(item.value) for item in (await storage.facts.load(user)).facts]


async def _fact(storage: Storage, user: UserRef) -> Iterable[str]:
    try:
        return [str((await storage.facts.get(user, 1)).value)]
    except NotFound:
        return []


async def _listed_facts(storage: Storage, user: UserRef) -> Iterable[str]:
    page = await storage.facts.list(user, FactSelector(include_retired=True), ALL)
    return [str(item.value) for item in page.items]


async def _peeked_archive(storage: Storage, user: UserRef) -> Iterable[str]:
    await storage.archives.load(user)
    snapshot = storage.archives.peek(user)
    return [item.text for item in snapshot.excerpts] if snapshot else []


async def _loaded_archive(storage: Storage, user: UserRef) -> Iterable[str]:
    storage.archives.forget(user)
    return [item.text for item in (await storage.archives.load(user)).excerpts]


async def _excerpts(storage: Storage, user: UserRef) -> Iterable[str]:
    try:
        return [item.text for item in await storage.archives.excerpts(user, (1,))]
    except Erased:
        return []


async def _listed_turns(storage: Storage, user: UserRef) -> Iterable[str]:
    return [item.text for item in (await storage.transcripts.list(session_of(user), NOW, ALL)).items]


async def _open_turns(storage: Storage, user: UserRef) -> Iterable[str]:
    return [item.text for item in await storage.transcripts.since_last_question(session_of(user), NOW)]


async def _slots(storage: Storage, user: UserRef) -> Iterable[str]:
    state = await storage.sessions.get(session_of(user), NOW)
    return [state.slots.answer_format] if state else []


async def _answered(storage: Storage, user: UserRef) -> Iterable[str]:
    found = await storage.traces.answered(session_of(user), TURN, NOW)
    return [_text((await storage.traces.get(user.tenant_id, found.trace_id)).content)] if found else []


async def _latest_trace(storage: Storage, user: UserRef) -> Iterable[str]:
    found = await storage.traces.latest(session_of(user))
    return [_text(found.content)] if found else []


async def _listed_traces(storage: Storage, user: UserRef) -> Iterable[str]:
    selector = TraceSelector(user_id=user.user_id, session_id="s")
    page = await storage.traces.list(user.tenant_id, selector, ALL)
    return [_text(item.content) for item in page.items]


async def _trace(storage: Storage, user: UserRef) -> Iterable[str]:
    try:
        return [_text((await storage.traces.get(user.tenant_id, trace_id(user))).content)]
    except NotFound:
        return []


async def _chain(storage: Storage, user: UserRef) -> Iterable[str]:
    return [_text(item.content) for item in await storage.traces.chain(user.tenant_id, 0, 1_000)]


async def _active_policy(storage: Storage, user: UserRef) -> Iterable[str]:
    found = [await storage.policies.active(user.tenant_id, name) for name in ("", "support")]
    return [_text(item.document) for item in found if item]


async def _policy_revision(storage: Storage, user: UserRef) -> Iterable[str]:
    """Also by the digests of others: they are no secret."""
    found = [
        await storage.policies.revision(user.tenant_id, "support", policy(text=tenant_mark(other)).digest)
        for other in (user.tenant_id, *TENANTS)
    ]
    return [_text(item.document) for item in found if item]


async def _policy_head(storage: Storage, user: UserRef) -> Iterable[str]:
    try:
        return [tenant_mark((await storage.policies.head(user.tenant_id, "support")).tenant_id)]
    except NotFound:
        return []


async def _policy_heads(storage: Storage, user: UserRef) -> Iterable[str]:
    return [tenant_mark(item.tenant_id) for item in (await storage.policies.heads(user.tenant_id, ALL)).items]


async def _policy_revisions(storage: Storage, user: UserRef) -> Iterable[str]:
    page = await storage.policies.revisions(user.tenant_id, "support", ALL)
    return [_text(item.document) for item in page.items]


async def _prefix(storage: Storage, user: UserRef) -> Iterable[str]:
    digests = ["", *(prefix(text=tenant_mark(other)).digest for other in TENANTS)]
    found = [await storage.prefixes.find(user.tenant_id, "main", digest) for digest in digests]
    return [item.text for item in found if item]


async def _prefix_revisions(storage: Storage, user: UserRef) -> Iterable[str]:
    return [item.text for item in (await storage.prefixes.revisions(user.tenant_id, "main", ALL)).items]


async def _observations(storage: Storage, user: UserRef) -> Iterable[str]:
    names = {billed(tenant_id): tenant_mark(tenant_id) for tenant_id in TENANTS}
    found = await storage.usage.observations(user.tenant_id, "anthropic")
    return [names[raw] for raw, _ in found]


def _text(content: bytes | None) -> str:
    return "" if content is None else content.decode()


TENANTS: Final = ("acme", "Acme", "acme ", "ac%", "ac_e", "a", "a:b", "umbrella")
"""Tenants that look alike to what folds, trims, joins or matches patterns."""

OF_USER: Final[dict[str, Read]] = {
    "facts.peek": _peeked_facts,
    "facts.load": _loaded_facts,
    "facts.get": _fact,
    "facts.list": _listed_facts,
    "archives.peek": _peeked_archive,
    "archives.load": _loaded_archive,
    "archives.excerpts": _excerpts,
    "transcripts.list": _listed_turns,
    "transcripts.since_last_question": _open_turns,
    "sessions.get": _slots,
    "traces.answered": _answered,
    "traces.latest": _latest_trace,
    "traces.list": _listed_traces,
    "traces.get": _trace,
}
"""Reads that show what is one user's."""

OF_TENANT: Final[dict[str, Read]] = {
    "policies.active": _active_policy,
    "policies.revision": _policy_revision,
    "policies.head": _policy_head,
    "policies.heads": _policy_heads,
    "policies.revisions": _policy_revisions,
    "prefixes.find": _prefix,
    "prefixes.revisions": _prefix_revisions,
    "usage.observations": _observations,
}
"""Reads that show what is a tenant's."""

OF_ALL_USERS: Final[dict[str, Read]] = {"traces.chain": _chain}
"""Reads that show what is any user's of a tenant, and the tenant's own."""

PSEUDONYMS: Final = frozenset({"users.peek", "users.pseudonym"})
"""Reads that show a name made for the user."""


async def seen(storage: Storage, user: UserRef) -> dict[str, list[str]]:
    """What each read shows this user."""
    reads = OF_USER | OF_TENANT | OF_ALL_USERS
    return {name: sorted(set(await read(storage, user))) for name, read in reads.items()}
