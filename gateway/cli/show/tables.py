"""Lists of facts, excerpts, policies, prefixes and traces."""

from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gateway.cli.show.explanations import instant, outcome_name
from gateway.cli.show.palette import section_text
from gateway.cli.show.visible import short_name, shortened, visible
from muniment.v1.fact_pb2 import Fact, FactResult, FactState
from muniment.v1.history_pb2 import ImportHistoryResponse, SearchHistoryResponse
from muniment.v1.policy_service_pb2 import PolicyHead, PolicyRevision
from muniment.v1.prefix_pb2 import PrefixRevision
from muniment.v1.trace_pb2 import Appearance, Candidate, Trace

_VALUE_CHARACTERS = 60


def table(*columns: str) -> Table:
    """A plain table; the last column takes what is left."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns[:-1]:
        made.add_column(name)
    made.add_column(columns[-1], overflow="fold", ratio=1)
    return made


def value_text(fact: Fact) -> str:
    """A fact's value; empty where it was deleted."""
    kind = fact.WhichOneof("value")
    if kind is None:
        return ""
    value = getattr(fact, kind)
    return instant(value) if kind == "instant" else visible(str(value))


def facts_table(facts: Iterable[Fact]) -> Table:
    """Facts with their state and dates."""
    made = table("fact", "key", "state", "read", "expires", "value")
    for fact in facts:
        state = FactState.Name(fact.state).removeprefix("FACT_STATE_").lower()
        dates = (f"{t.ToDatetime():%Y-%m-%d}" for t in (fact.read_time, fact.expire_time))
        made.add_row(short_name(fact.name), visible(_about(fact)), state, *dates, Text(value_text(fact)))
    return made


def _about(fact: Fact) -> str:
    subject = fact.subject
    if subject.HasField("account"):
        return f"account {subject.account.id}: {fact.key}"
    if subject.HasField("entity"):
        return f"{subject.entity.type} {subject.entity.id}: {fact.key}"
    return fact.key


def verdict_lines(keys: Iterable[str], results: Iterable[FactResult]) -> Iterator[Text]:
    """One line for each offered fact."""
    for key, result in zip(keys, results, strict=True):
        accepted = result.verdict == FactResult.VERDICT_ACCEPTED
        text = Text.assemble(
            ("accepted" if accepted else "refused ", "green" if accepted else "red"), f"  {key}"
        )
        if result.duplicate:
            text.append("  was there already", "dim")
        if result.superseded:
            text.append(f"  supersedes {', '.join(map(short_name, result.superseded))}", "dim")
        if not accepted:
            place = FactResult.Place.Name(result.belongs_to).removeprefix("PLACE_").lower()
            text.append(f"  {visible(result.detail)} (belongs to: {place})")
        yield text


def import_line(counts: ImportHistoryResponse) -> Text:
    """What an import did, in one line."""
    line = f"{counts.session_count} sessions, {counts.turn_count} turns: {counts.excerpt_count} new excerpts"
    line += f", {counts.skipped_turn_count} turns left out by the policy"
    return Text(line + (f", {counts.duplicate_count} there already" if counts.duplicate_count else ""))


def matches_view(answer: SearchHistoryResponse) -> RenderableType:
    """What a search found, best first."""
    made = table("score", "said", "excerpt", "text")
    for match in answer.matches:
        excerpt = match.excerpt
        score = f"{match.scores[0].value:.3f}" if match.scores else ""
        day = f"{excerpt.occur_time.ToDatetime():%Y-%m-%d}"
        made.add_row(score, day, short_name(excerpt.name), Text(visible(excerpt.text)))
    terms = ", ".join(map(visible, answer.query_terms))
    found = f"{answer.matched_count} excerpts have any of: {terms}"
    if answer.embedder:
        found = f"{answer.matched_count} excerpts are like it, or have any of: {terms} ({visible(answer.embedder)})"
    missing = [Text(f"without vectors: {visible(item.detail)}", "yellow") for item in answer.degradations]
    return Group(made, Text(found, "dim"), *missing)


def policies_table(heads: Iterable[PolicyHead]) -> Table:
    """Policies with what is in force."""
    made = table("policy", "default", "active", "before")
    for head in heads:
        default = "yes" if head.tenant_default else ""
        revisions = (
            short_name(name) if name else "" for name in (head.active_revision, head.previous_revision)
        )
        made.add_row(head.name, default, *revisions)
    return made


def policy_revisions_table(revisions: Iterable[PolicyRevision]) -> Table:
    """Revisions of a policy."""
    made = table("registered", "author", "revision")
    for revision in revisions:
        made.add_row(instant(revision.create_time), visible(revision.author), short_name(revision.name))
    return made


def prefixes_table(revisions: Iterable[PrefixRevision]) -> Table:
    """Revisions of a prefix."""
    made = table("registered", "tools", "revision", "text")
    for revision in revisions:
        text = Text(shortened(revision.text, _VALUE_CHARACTERS))
        made.add_row(instant(revision.create_time), str(len(revision.tools)), short_name(revision.name), text)
    return made


def traces_table(traces: Iterable[Trace]) -> Table:
    """Traces, with whose turn they are of."""
    made = table("trace", "when", "tokens", "user, session, turn")
    for column in made.columns[:-1]:
        column.no_wrap = True
    for trace in traces:
        who = Text(visible(", ".join((trace.session.user_id, trace.session.session_id, trace.turn_id))))
        made.add_row(trace.name.rpartition("/")[2], instant(trace.now), str(trace.totals.used), who)
    return made


def appearances_table(appearances: Iterable[Appearance]) -> Table:
    """Prompts that an item is in, with the bytes that it fills in the first place that the trace names."""
    made = table("trace", "when", "bytes", "session, turn")
    for column in made.columns[:-1]:
        column.no_wrap = True
    for found in appearances:
        place = found.location
        filled = f"{place.offset}-{place.offset + place.length}" if found.HasField("location") else ""
        where = Text(visible(", ".join((found.session_id, found.turn_id))))
        made.add_row(found.trace.rpartition("/")[2], instant(found.time), filled, where)
    return made


def candidates_table(candidates: Iterable[Candidate]) -> Table:
    """All that was considered, with its fate."""
    made = table("section", "item", "tokens", "score", "fate")
    for c in candidates:
        fate = Text(outcome_name(c))
        if c.policy_field:
            fate.append(f" ({c.policy_field})", "dim")
        score = f"{c.scores[0].value:.3f}" if c.scores else ""
        made.add_row(section_text(c.section), shortened(c.item_id, 30), str(c.tokens), score, fate)
    return made
