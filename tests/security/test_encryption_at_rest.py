"""What a thief of the disk reads, and what one who can change it can make a gateway serve: nothing of either."""

import hashlib
from pathlib import Path

import pytest

from assemblers.records import SessionRef, UserRef
from storage.conformance.samples import NOW, archived, fact, policy, receipt, trace, turn
from storage.encryption import MasterKeyMissing, MasterKeyWrong, create_key_file
from storage.encryption.key_file import read_key_file
from storage.errors import StorageDamaged
from storage.ports import PageRequest, Storage
from tests.security.at_rest import AtRest, PostgresAtRest, SqliteAtRest

CANARY = "canary 7f3a91 Zitronenfalter"
CLEAR = "in clear, as a policy is"
ANN, BOB, FOREIGN = UserRef("acme", "ann"), UserRef("acme", "bob"), UserRef("umbrella", "ann")
EVERYBODY = (ANN, BOB, FOREIGN)


@pytest.fixture(params=["sqlite", "postgres"])
def at_rest(request: pytest.FixtureRequest, tmp_path: Path) -> AtRest:
    key_file = tmp_path / "keys" / "master.key"
    key_file.parent.mkdir()
    create_key_file(key_file)
    if request.param == "sqlite":
        return SqliteAtRest(tmp_path / "data", key_file)
    return PostgresAtRest(request.getfixturevalue("postgres"), key_file)


@pytest.fixture
async def written(at_rest: AtRest) -> AtRest:
    """A store in which everybody has said the same, closed."""
    storage = await at_rest.open()
    try:
        for user in EVERYBODY:
            await say_everywhere(storage, user, f"{CANARY} of {user.user_id} at {user.tenant_id}")
    finally:
        await storage.close()
    return at_rest


async def say_everywhere(storage: Storage, user: UserRef, said: str) -> None:
    """Put a text wherever one can be stored for a user, twice."""
    tenant, session = user.tenant_id, SessionRef(user.tenant_id, user.user_id, "s1")
    facts = [fact("first", said), fact("second", said + "!")]
    sessions = [archived("old", said, said + "!")]
    await storage.facts.record(user, facts, NOW, receipt(f"r1-{user.user_id}", tenant))
    await storage.facts.record(user, [fact("third", said)], NOW, receipt(f"r2-{user.user_id}", tenant))
    await storage.archives.append(user, sessions, NOW, receipt("", tenant))
    await storage.transcripts.record(
        session, [turn("t1", said), turn("t2", said)], NOW, None, receipt("", tenant)
    )
    for number in "12":
        trace_id = f"{user.user_id}-{number}"
        await storage.traces.append(trace(trace_id, session, kept=turn(f"q{number}", said), content=said))


async def read_everything(storage: Storage, user: UserRef) -> str:
    """All that is served of a user."""
    session = SessionRef(user.tenant_id, user.user_id, "s1")
    page = PageRequest(10)
    archive = await storage.archives.load(user)
    return repr(
        (
            await storage.facts.load(user),
            [excerpt.text for excerpt in archive.excerpts],
            [excerpt.terms for excerpt in archive.excerpts],
            await storage.transcripts.list(session, NOW, page),
            [await storage.traces.get(user.tenant_id, f"{user.user_id}-{number}") for number in "12"],
        )
    )


async def test_no_text_of_anybody_lies_on_the_disk(at_rest: AtRest):
    storage = await at_rest.open()
    try:
        for user in EVERYBODY:
            await say_everywhere(storage, user, CANARY)
        await storage.policies.register(policy(text=f'{{"description":"{CLEAR}"}}'), receipt("r3"))
        # While it runs: the log and the pages that were not moved yet are looked at too.
        while_open = await at_rest.everything()
    finally:
        await storage.close()
    stored = while_open + await at_rest.everything()
    assert CLEAR.encode() in stored
    for said in (CANARY, *CANARY.split()):
        assert said.encode() not in stored
    # Index terms are folded and stemmed.
    assert b"zitronenfalt" not in stored.lower()


async def test_all_of_it_is_served_to_its_owner(written: AtRest):
    storage = await written.open()
    try:
        for user in EVERYBODY:
            served = await read_everything(storage, user)
            assert served.count(f"{CANARY} of {user.user_id} at {user.tenant_id}") >= 9
    finally:
        await storage.close()


async def test_no_digest_lies_on_the_disk_by_which_a_short_request_could_be_guessed(written: AtRest):
    # The digests of the samples' bodies.
    stored = await written.everything()
    for digest in (hashlib.sha256(b"").digest(), b"b" * 32):
        assert digest not in stored
    storage = await written.open()
    try:
        answered = await storage.traces.answered(SessionRef("acme", "ann", "s1"), "turn-of-ann-1", NOW)
        assert answered is not None
        assert answered.stands_for(b"b" * 32)
    finally:
        await storage.close()


async def test_no_key_lies_on_the_disk(written: AtRest):
    stored = await written.everything()
    (master,) = read_key_file(written.key_file)
    assert master.key_id.encode() in stored
    assert master.secret not in stored
    assert master.secret.hex().encode() not in stored


@pytest.mark.parametrize(
    "column", ["facts.content", "excerpts.content", "postings.terms", "turns.content", "traces.content"]
)
@pytest.mark.parametrize("source", ["another row", "another user", "another tenant"])
async def test_what_was_moved_is_not_served(written: AtRest, column: str, source: str):
    table, name = column.split(".")
    row = ROWS[table]
    donor = {
        "another row": f"tenant_id = 'acme' AND user_id = 'ann' AND {row.replace('1', '2')}",
        "another user": f"tenant_id = 'acme' AND user_id = 'bob' AND {row.replace('ann', 'bob')}",
        "another tenant": f"tenant_id = 'umbrella' AND user_id = 'ann' AND {row}",
    }[source]
    ((stolen,),) = await written.look(f"SELECT {name} FROM {table} WHERE {donor}")
    await written.change(f"UPDATE {table} SET {name} = $1 WHERE {of_ann(row)}", stolen)
    await damage_is_told(written)


@pytest.mark.parametrize(
    "column", ["facts.content", "excerpts.content", "postings.terms", "turns.content", "traces.content"]
)
async def test_what_was_changed_is_not_served(written: AtRest, column: str):
    table, name = column.split(".")
    ((sealed,),) = await written.look(f"SELECT {name} FROM {table} WHERE {of_ann(ROWS[table])}")
    assert isinstance(sealed, bytes)
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    await written.change(f"UPDATE {table} SET {name} = $1 WHERE {of_ann(ROWS[table])}", changed)
    await damage_is_told(written)


async def test_text_that_was_planted_in_clear_is_not_served(written: AtRest):
    await written.change(f"UPDATE facts SET content = $1 WHERE {of_ann('no = 1')}", b'"planted"')
    await damage_is_told(written)


ROWS = {
    "facts": "no = 1",
    "excerpts": "no = 1",
    "postings": "excerpt_no = 1",
    "turns": "turn_id = 't1'",
    "traces": "trace_id = 'ann-1'",
}


def of_ann(row: str) -> str:
    return f"tenant_id = 'acme' AND user_id = 'ann' AND {row}"


async def damage_is_told(at_rest: AtRest) -> None:
    """Reading fails with a typed error that says nothing of the content; everybody else is served."""
    storage = await at_rest.open()
    try:
        with pytest.raises(StorageDamaged) as raised:
            await read_everything(storage, ANN)
        assert CANARY not in str(raised.value)
        for user in (BOB, FOREIGN):
            assert CANARY in await read_everything(storage, user)
    finally:
        await storage.close()


async def test_an_answer_that_was_moved_to_another_request_is_not_given_out(written: AtRest):
    ((stolen,),) = await written.look(
        "SELECT response FROM receipts WHERE request_id = 'r1-ann' AND tenant_id = 'acme'"
    )
    await written.change(
        "UPDATE receipts SET response = $1 WHERE request_id = 'r2-ann' AND tenant_id = 'acme'", stolen
    )
    storage = await written.open()
    try:
        with pytest.raises(StorageDamaged):
            await storage.facts.record(ANN, [fact("third", CANARY)], NOW, receipt("r2-ann"))
    finally:
        await storage.close()


async def test_another_master_key_refuses_the_start(written: AtRest, tmp_path: Path):
    other = tmp_path / "other.key"
    create_key_file(other)
    with pytest.raises(MasterKeyMissing, match=read_key_file(written.key_file)[0].key_id):
        await written.open(other)
    # And lets go of all it held.
    await (await written.open()).close()


async def test_a_wrong_key_under_the_right_id_refuses_the_start(written: AtRest, tmp_path: Path):
    other = tmp_path / "other.key"
    wrong = create_key_file(other)
    right_id = read_key_file(written.key_file)[0].key_id
    other.write_text(other.read_text().replace(wrong.key_id, right_id))
    with pytest.raises(MasterKeyWrong, match=right_id):
        await written.open(other)
