"""What tests of assembling share: a clock, counters, a policy with all sections, and short ways to make records."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo

from assemblers import (
    NEUTRAL,
    Assembly,
    Conditions,
    Exactness,
    Frame,
    HistoryInput,
    ModelTokens,
    Prompt,
    PromptFormat,
    TokenCounter,
    TurnInput,
    assemble,
    prepare_archive,
    prepare_facts,
)
from assemblers.policy.model import (
    ArchiveRules,
    FactKey,
    FactRules,
    FactsSection,
    FilterKey,
    HistorySection,
    MaterialSection,
    Policy,
    PolicyRevision,
    PrefixSection,
    QuestionSection,
    Section,
    SectionBudget,
    SectionSettings,
    SessionSection,
    SlotRules,
)
from assemblers.ranking import IndexUnit, RankParams, analyze, build_archive, query_terms, rank
from assemblers.records import (
    Certainty,
    Degradation,
    Excerpt,
    Fact,
    FactKind,
    FactOrigin,
    Filter,
    Focus,
    Material,
    PrefixRevision,
    RecentQuestion,
    Role,
    SectionKind,
    Slots,
    Subject,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Turn,
    UserRef,
    ValueType,
)

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
DAY = timedelta(days=1)
USER = UserRef("acme", "ann")
NO_SLOTS = Slots()

KINDS: dict[type, SectionKind] = {
    PrefixSection: SectionKind.PREFIX,
    FactsSection: SectionKind.FACTS,
    HistorySection: SectionKind.HISTORY,
    MaterialSection: SectionKind.MATERIAL,
    SessionSection: SectionKind.SESSION,
    QuestionSection: SectionKind.QUESTION,
}


class WordCounter:
    """Cheap and additive on lines as a real vocabulary is: a token is up to four bytes of a word, or a line feed."""

    id = "words"

    def count(self, text: str) -> int:
        lines = text.split("\n")
        return len(lines) - 1 + sum(-(-len(word.encode()) // 4) for line in lines for word in line.split(" "))


FRAMES = {
    NEUTRAL: Frame(3, 4, 7, 5, 6, 2),
    "TEXT": Frame(0, 0),
    "OPENAI_CHAT": Frame(3, 4, 7, 5, 6, 2),
    "ANTHROPIC_MESSAGES": Frame(1, 7, 9, 5, 6, 2),
}
WORDS = ModelTokens(WordCounter(), FRAMES, Exactness.EXACT)

PREFIX = PrefixRevision(
    "acme",
    "default",
    "ab" * 32,
    "You answer customers' questions about their account.\n",
    (ToolDefinition("get_terms", '{"description":"Payment terms","name":"get_terms"}'),),
    NOW - 90 * DAY,
)

KEYS = ("diet", "plan", "seats", "trip")


def sections(*settings: SectionSettings, **budgets: SectionBudget) -> tuple[Section, ...]:
    """Sections of these settings, the others with their defaults; budgets by the lower-case name of the section."""
    given = {type(item): item for item in settings}
    return tuple(
        Section(kind, given.get(made, made()), budgets.get(kind.lower(), SectionBudget()))
        for made, kind in KINDS.items()
    )


def policy(
    *settings: SectionSettings, keys: Sequence[str] = KEYS, **budgets: SectionBudget
) -> PolicyRevision:
    """A policy with all six sections."""
    listed = tuple(FactKey(key, ValueType.TEXT, FactKind.ATTRIBUTE, "a test") for key in keys)
    made = Policy(
        "support",
        sections(*settings, **budgets),
        facts=FactRules(listed),
        slots=SlotRules(filters=(FilterKey("region", "Region"),)),
        archive=ArchiveRules(include_assistant=True),
    )
    return PolicyRevision("acme", "cd" * 32, made)


def fact(no: int, key: str, value: str | float | bool | datetime, **changes: object) -> Fact:
    """A fact on the user, read 14 days ago; keywords are fields of Fact."""
    base = Fact(
        no=no, user=USER, subject=Subject(), key=key, type=ValueType.TEXT, value=value, kind=FactKind.ATTRIBUTE,
        origin=FactOrigin.TOOL, source="crm", writer="agent", confidence_permille=1000, read_time=NOW - 14 * DAY,
        write_time=NOW - 14 * DAY, expire_time=NOW + 60 * DAY, revision=no,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of Fact


def excerpt(no: int, text: str, session: int = 1, days: int = 30, **changes: object) -> Excerpt:
    """An excerpt of the user's, numbered and placed by `no`; keywords are fields of Excerpt."""
    time = NOW - days * DAY
    base = Excerpt(
        no=no, session_no=session, position=no, session_id=f"s{session}", session_time=time, turn_id=f"old-{no}",
        role=Role.USER, speaker="", text=text, occur_time=time, terms=dict(Counter(analyze(text))),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of Excerpt


def material(index: int, text: str, title: str = "Terms", **changes: object) -> Material:
    """A document read three days ago."""
    base = Material(index, text, title, f"kb/{index}", NOW - 3 * DAY)
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of Material


def asked(question: str, open_turns: tuple[Turn, ...] = ()) -> TurnInput:
    """A user's turn; with open turns, the last of them is the one being answered."""
    turn = Turn("turn-9", Role.USER, (Text(question),), NOW)
    return TurnInput(open_turns[-1] if open_turns else turn, question, "turn-9", NOW, open_turns)


def tool_loop(result: str = '{"days":30}') -> tuple[Turn, ...]:
    """Two calls and their results."""
    calls = (ToolCall("c1", "get_terms", '{"id":"C-77"}'), ToolCall("c2", "get_terms", '{"id":"C-78"}'))
    results = (
        ToolResult("c1", "get_terms", is_error=False, result_json=result),
        ToolResult("c2", "get_terms", is_error=True, result_json='"no such customer"'),
    )
    return (
        Turn("turn-10", Role.ASSISTANT, (Text("Let me look that up."), *calls), NOW),
        Turn("turn-11", Role.TOOL, results, NOW),
    )


def history_of(
    excerpts: Sequence[Excerpt], question: str, counter: TokenCounter, session_id: str = "now"
) -> HistoryInput:
    """An archive, ranked for the question as the gateway does."""
    ordered = sorted(excerpts, key=lambda e: (e.session_time, e.session_no, e.position))
    places = {no: i for i, no in enumerate(dict.fromkeys(e.session_no for e in ordered))}
    units = [IndexUnit(e.no, places[e.session_no], e.position, e.terms) for e in ordered]
    terms = tuple(query_terms(question))
    ranking = rank(build_archive(units), terms, RankParams())
    return HistoryInput(prepare_archive(ordered, counter), ranking, terms, 1, len(ordered) + 1, session_id)


@dataclass(frozen=True)
class Case:
    """Everything that goes into one assembly, with defaults for what a test does not speak of."""

    question: str = "What are their credit terms?"
    policy: PolicyRevision = field(default_factory=policy)
    facts: Sequence[Fact] | None = ()
    excerpts: Sequence[Excerpt] | None = ()
    material: Sequence[Material] = ()
    slots: Slots = NO_SLOTS
    open_turns: tuple[Turn, ...] = ()
    prefix: PrefixRevision | None = PREFIX
    tokens: ModelTokens = WORDS
    limit: int = 8000
    now: datetime = NOW
    zone: tzinfo = UTC
    formats: tuple[PromptFormat, ...] = ()
    degradations: tuple[Degradation, ...] = ()
    max_breakpoints: int = 4
    session_id: str = "now"

    def assemble(self) -> Assembly:
        """The assembly. None for facts or excerpts: unavailable."""
        conditions = Conditions(
            self.policy, self.now, self.zone, self.tokens, self.limit, self.formats, self.max_breakpoints
        )
        facts = history = None
        if self.facts is not None:
            facts = prepare_facts(self.policy, self.facts, self.now, self.zone, self.tokens)
        if self.excerpts is not None:
            history = history_of(self.excerpts, self.question, self.tokens.counter, self.session_id)
        turn = asked(self.question, self.open_turns)
        return assemble(
            conditions, turn, self.prefix, facts, history, tuple(self.material), self.slots, self.degradations
        )


def text_of(prompt: Prompt) -> str:
    """All texts of a prompt, messages and parts one behind the other."""
    return "".join(part.text for message in prompt.messages for part in message.parts)


def section_text(prompt: Prompt, section: SectionKind) -> str:
    """The texts of one section."""
    return "".join(p.text for message in prompt.messages for p in message.parts if p.section is section)


def fates(assembly: Assembly) -> dict[str, tuple[str, str, str]]:
    """For each candidate its outcome, its reason and the policy field that decided."""
    from assemblers import OUTCOMES, REASONS

    return {
        f"{block.item_prefix}{ref}": (
            OUTCOMES[block.outcomes[row]].value,
            REASONS[block.reasons[row]].value,
            block.policy_fields[block.fields[row]],
        )
        for block in assembly.blocks
        for row, ref in enumerate(block.refs)
    }


def spans_by_item(prompt: Prompt) -> dict[str, str]:
    """The bytes of each item, as text."""
    return {
        span.item_id: part.text.encode()[span.offset : span.offset + span.length].decode()
        for message in prompt.messages
        for part in message.parts
        for span in part.spans
    }


def full_case() -> Case:
    """A case with something in every section, more than its budget holds, in the middle of a tool loop."""
    keys = [f"key{number}" for number in range(30)]
    slots = Slots(
        Focus("customer", "C-77", "Hofmann GmbH", Certainty.CONFIRMED, "tool", "t1"),
        (Filter("region", "EMEA", Certainty.TENTATIVE, "user", "t1"),),
        "table",
        (RecentQuestion("t7", "Who is our contact?"),),
    )
    excerpts = [
        excerpt(number, f"credit terms number {number} 支払い", session=number // 4, days=200 - number // 4)
        for number in range(1, 40)
    ]
    return Case(
        policy=policy(keys=keys, history=SectionBudget(50, 200, 1), facts=SectionBudget(0, 500, 2)),
        facts=[fact(number, f"key{number % 30}", f"value {number}") for number in range(1, 45)], excerpts=excerpts,
        material=[material(0, "one\ntwo"), material(1, "three")], slots=slots,
        open_turns=tool_loop(), formats=tuple(PromptFormat), limit=1200,
    )  # fmt: skip


def fingerprint(assembly: Assembly) -> str:
    """A digest of all bytes and decisions."""
    seen = hashlib.sha256()
    for block in assembly.blocks:
        for column in (
            block.outcomes,
            block.reasons,
            block.fields,
            block.tokens,
            block.offsets,
            block.lengths,
        ):
            seen.update(column.tobytes())
        seen.update(repr((block.section, list(block.refs), block.policy_fields)).encode())
    prompt = assembly.prompt
    rendered = [made.body for made in prompt.rendered.values()]
    seen.update(repr((prompt.messages, prompt.budget, prompt.breakpoints, rendered)).encode())
    seen.update(repr((prompt.prompt_sha256, sorted(prompt.section_sha256.items()), assembly.slots)).encode())
    seen.update(repr((assembly.degradations, assembly.warnings, assembly.history)).encode())
    return seen.hexdigest()
