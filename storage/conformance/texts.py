"""Text is data: whatever it says, it comes back byte for byte, and no id or query syntax means anything."""

from dataclasses import replace

from assemblers.records import SessionRef, Slots, Subject, UserRef
from storage.conformance.samples import ALL, NOW, archived, fact, policy, prefix, receipt, trace, turn
from storage.errors import StorageError
from storage.ledger import verify
from storage.ports import FactSelector, Storage, TraceSelector

NAUGHTY = (
    "",
    " ",
    "\t\r\n",
    "\x00",
    "before\x00after",
    "\\u0000",
    "'; DROP TABLE facts; --",
    "' OR 1=1 --",
    '"quoted" `ticks` $1 ?1 :name @name %s {0}',
    "NULL",
    "true",
    "1e309",
    "0x1F",
    "-0",
    "9" * 400,
    "%",
    "_",
    "*",
    "NEAR(a b) AND NOT c*",
    "\ufeffbom",
    "\u202eright to left",
    "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e",
    "e\u0301 and é",
    "ﬁ ﬀ Å Å",
    "👩‍👩‍👧 🏳️‍🌈 🇩🇪",
    "\U0010ffff\ufffe\uffff",
    "🅰\U000e0041\U000e007f",
    "日本語テキスト 한국어 ภาษาไทย עברית العربية",
    "<|endoftext|><|im_start|>system",
    "\x1b[31mred\x1b[0m\x07\x7f\x80",
    "a" * 65_536,
)


class TextSuite:
    """Naughty strings in every field, and surrogates refused without harm."""

    async def test_naughty_texts_come_back_from_every_store(self, storage: Storage) -> None:
        for index, text in enumerate(NAUGHTY):
            user = UserRef("acme", f"u{index}")
            session = SessionRef("acme", user.user_id, "s")
            await storage.facts.record(user, [fact("k", text)], NOW, receipt())
            assert [item.value for item in (await storage.facts.load(user)).facts] == [text]
            await storage.archives.append(user, [archived("s", text)], NOW, receipt())
            (excerpt,) = (await storage.archives.load(user)).excerpts
            assert excerpt.text == text
            await storage.transcripts.record(session, [turn("t", text)], NOW, None, receipt())
            assert await storage.transcripts.since_last_question(session, NOW) == (turn("t", text),)
            await storage.traces.append(trace(f"x{index}", session, content=text))
            assert (await storage.traces.get("acme", f"x{index}")).content == text.encode()
            revision = prefix(f"p{index}", text)
            await storage.prefixes.register(revision, receipt())
            assert await storage.prefixes.find("acme", f"p{index}", "") == revision
            await storage.sessions.put(session, Slots(answer_format=text), 0, NOW, 60)
            state = await storage.sessions.get(session, NOW)
            assert state is not None
            assert state.slots.answer_format == text
        assert verify(await storage.traces.chain("acme", 0, 1_000)) is None

    async def test_naughty_ids_are_ids(self, storage: Storage) -> None:
        user = UserRef("acme", "ann")
        # The contract admits no NUL in an id, and no longer ones.
        names = [text for text in NAUGHTY if len(text) < 1_000 and "\0" not in text]
        for index, name in enumerate(names):
            draft = replace(fact(name, index), subject=Subject("customer", name), source=name, writer=name)
            await storage.facts.record(user, [draft], NOW, receipt())
            named = trace(f"x{name}", SessionRef("acme", name, name), name, turn(name))
            await storage.traces.append(replace(named, turn_id=name, policy=name))
            await storage.policies.register(policy(name or "-"), receipt())
        for index, name in enumerate(names):
            for selector in (
                FactSelector(key=name),
                FactSelector(subject=Subject("customer", name)),
                FactSelector(source=name),
                FactSelector(writer=name),
            ):
                found = (await storage.facts.list(user, selector, ALL)).items
                assert [item.value for item in found] == [index], name
            selected = TraceSelector(user_id=name, session_id=name, turn_id=name, policy=name)
            traces = (await storage.traces.list("acme", selected, ALL)).items
            assert [stored.trace_id for stored in traces] == [f"x{name}"]
            assert (await storage.policies.head("acme", name or "-")).policy_id == (name or "-")

    async def test_a_lone_surrogate_fails_and_leaves_the_store_in_order(self, storage: Storage) -> None:
        """It is refused long before; if it comes through, nothing of it is stored (S5)."""
        user, broken = UserRef("acme", "ann"), "lone \ud800 surrogate"
        session = SessionRef("acme", "ann", "s")
        attempts = (
            lambda: storage.facts.record(user, [fact("fine"), fact("k", broken)], NOW, receipt()),
            lambda: storage.facts.record(user, [fact(broken)], NOW, receipt()),
            lambda: storage.archives.append(
                user, [replace(archived("s", "a"), session_id=broken)], NOW, receipt()
            ),
            lambda: storage.transcripts.record(
                session, [turn("fine"), turn("t", broken)], NOW, None, receipt()
            ),
            lambda: storage.traces.append(trace("x1", SessionRef("acme", broken, "s"))),
        )
        for attempt in attempts:
            try:
                await attempt()
            except (UnicodeError, StorageError):
                continue
            raise AssertionError("a lone surrogate was stored")
        assert (await storage.facts.load(user)).facts == ()
        assert (await storage.archives.load(user)).excerpts == ()
        assert (await storage.transcripts.list(session, NOW, ALL)).items == ()
        await storage.traces.append(trace("x2", session))
        assert verify(await storage.traces.chain("acme", 0, 10)) is None
