"""Muniment's pure core: records, policy, ranking, budget, rendering and provenance.

This is the flat namespace of an assembly; the policy's types are in `assemblers.policy.model`, ranking in
`assemblers.ranking`, formats in `assemblers.formats`, safe text in `assemblers.text`.
"""

from assemblers.assemble import assemble
from assemblers.assembly import (
    OUTCOMES,
    REASONS,
    Assembly,
    Breakpoint,
    BudgetReport,
    BudgetTooSmall,
    CandidateBlock,
    Conditions,
    HistorySummary,
    Message,
    Need,
    Part,
    Prompt,
    PromptFormat,
    Rendered,
    RenderedPart,
    SectionReport,
    Source,
    SourceKind,
    Span,
    TurnInput,
)
from assemblers.costs import recount
from assemblers.sections.archive import PreparedArchive, prepare_archive
from assemblers.sections.facts import PreparedFacts, prepare_facts
from assemblers.sections.history import HistoryInput
from assemblers.tokens import NEUTRAL, Exactness, Frame, ModelTokens, TokenCounter

__all__ = [
    "NEUTRAL",
    "OUTCOMES",
    "REASONS",
    "Assembly",
    "Breakpoint",
    "BudgetReport",
    "BudgetTooSmall",
    "CandidateBlock",
    "Conditions",
    "Exactness",
    "Frame",
    "HistoryInput",
    "HistorySummary",
    "Message",
    "ModelTokens",
    "Need",
    "Part",
    "PreparedArchive",
    "PreparedFacts",
    "Prompt",
    "PromptFormat",
    "Rendered",
    "RenderedPart",
    "SectionReport",
    "Source",
    "SourceKind",
    "Span",
    "TokenCounter",
    "TurnInput",
    "assemble",
    "prepare_archive",
    "prepare_facts",
    "recount",
]
