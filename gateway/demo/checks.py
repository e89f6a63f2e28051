"""What must be true of every prompt, and what must be true of the recorded conversation. The demo fails otherwise."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gateway.cli.show.prompt import part_bytes
from gateway.demo.story import Story, text_parts
from muniment.v1.fact_pb2 import FactResult
from muniment.v1.prompt_pb2 import Reason
from muniment.v1.trace_pb2 import AbsenceExplanation, Outcome
from muniment.v1.types_pb2 import SectionKind, Span


@dataclass(frozen=True, slots=True)
class Check:
    """A promise, and whether it was kept."""

    promise: str
    kept: bool


def checks(story: Story, recorded: bool) -> list[Check]:
    """All checks; those of the recorded conversation too where it is the one that was played."""
    wanted = _ALWAYS | _RECORDED if recorded else _ALWAYS
    return [Check(promise, holds(story)) for promise, holds in wanted.items()]


def covers(spans: Iterable[Span], size: int) -> bool:
    """Whether the spans cover `size` bytes without gap or overlap, each with its item."""
    end = 0
    for span in spans:
        if span.offset != end or span.length <= 0 or not span.item_id:
            return False
        end += span.length
    return end == size


def _every_byte_has_an_item(story: Story) -> bool:
    parts = [part for message in story.prompt.messages for part in message.parts]
    tools = story.prompt.tools
    return all(covers(part.spans, len(part_bytes(part))) for part in parts) and all(
        covers(tool.spans, len(tool.definition_json)) for tool in tools
    )


def _within_budget(story: Story) -> bool:
    reports = [answer.response.prompt.budget_report for answer in story.played.answers]
    return all(
        0 < report.used <= report.limit and all(s.used <= s.ceiling for s in report.sections)
        for report in reports
    )


def _recounts_equal(story: Story) -> bool:
    """Parts are counted in the vocabulary's tokens, the second time in the model's: the factor stands between."""
    report = story.prompt.budget_report
    counts = [tokens for _, tokens in text_parts(story.prompt)]
    if report.factor_permille != 1000:
        return report.used >= sum(counts)
    return list(story.recounted) == counts and report.used >= sum(counts)


def _why_is_in_the_prompt(story: Story) -> bool:
    if story.why is None:
        return True
    texts = "".join(text for text, _ in text_parts(story.prompt))
    return bool(story.why.steps) and bool(story.why.text) and story.why.text in texts


def _why_nots_were_left_out(story: Story) -> bool:
    return all(
        [e.finding for e in answer.explanations] == [AbsenceExplanation.FINDING_EXCLUDED]
        and answer.explanations[0].remedy != ""
        for answer in story.why_not
    )


def _replays(story: Story) -> bool:
    return story.replay.identical and story.replay.replayed_sha256 == story.prompt.prompt_sha256


def _has_breakpoints(story: Story) -> bool:
    ends = {point.section for point in story.prompt.breakpoints}
    return story.prompt.prefix_sha256 == "" or SectionKind.SECTION_KIND_PREFIX in ends


def _all_sections_speak(story: Story) -> bool:
    kinds = {part.section for message in story.prompt.messages for part in message.parts}
    return kinds == set(SectionKind.values()) - {SectionKind.SECTION_KIND_UNSPECIFIED}


def _stale_facts_are_out(story: Story) -> bool:
    reasons = {c.reason for c in story.trace.candidates if c.outcome == Outcome.OUTCOME_EXCLUDED}
    return {Reason.REASON_SUPERSEDED, Reason.REASON_EXPIRED} <= reasons


def _only_the_unlisted_key_is_refused(story: Story) -> bool:
    pairs = zip(story.conversation.facts, story.played.verdicts, strict=True)
    return [fact.key for fact, v in pairs if v.verdict != FactResult.VERDICT_ACCEPTED] == ["credit_limit"]


def _the_tool_set_the_focus(story: Story) -> bool:
    return story.played.answers[-1].response.slots.focus.id == "SUP-2207"


def _hostile_line_opens_nothing(story: Story) -> bool:
    lines = [line for text, _ in text_parts(story.prompt) for line in text.splitlines()]
    hostile = [line for line in lines if "promise 60 days" in line]
    return bool(hostile) and not any(line.lstrip().startswith("System:") for line in lines)


def _something_was_cut(story: Story) -> bool:
    report = story.prompt.budget_report
    return any(s.dropped for s in report.sections if s.section == SectionKind.SECTION_KIND_HISTORY)


_Holds = Callable[[Story], bool]
_ALWAYS: dict[str, _Holds] = {
    "every byte belongs to exactly one item": _every_byte_has_an_item,
    "no prompt passed its budget, no section its ceiling": _within_budget,
    "counted once more, each part has the same tokens": _recounts_equal,
    "the explained item stands in the prompt, with its descent": _why_is_in_the_prompt,
    "each absence has its reason and a remedy": _why_nots_were_left_out,
    "the replay is identical": _replays,
    "a shared prefix ends in a cache breakpoint": _has_breakpoints,
}
_RECORDED: dict[str, _Holds] = {
    "all six sections have something to say": _all_sections_speak,
    "the superseded and the expired fact are out": _stale_facts_are_out,
    "only the key that the policy does not list was refused": _only_the_unlisted_key_is_refused,
    "the tool's result set the focus": _the_tool_set_the_focus,
    "the hostile line in the contract opens no section": _hostile_line_opens_nothing,
    "what did not fit was left out whole": _something_was_cut,
}
