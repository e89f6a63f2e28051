"""What a token is to the core: who counts, what a message costs beyond its text, how an estimate is scaled.

Two units occur and must not be mixed. *Raw* tokens are what a `TokenCounter` says, plus the frame: they add
up exactly, and the whole budget is kept in them. *Scaled* tokens are raw ones times the model's factor,
rounded up once, over the whole prompt: they are what a caller's limit and the budget report speak of. For a
model whose vocabulary is public the factor is 1000 permille and both are the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

UNSCALED = 1000
"""The factor, in permille, of a model that is counted with its own vocabulary."""

NEUTRAL = "NEUTRAL"
TEXT = "TEXT"
OPENAI_CHAT = "OPENAI_CHAT"
ANTHROPIC_MESSAGES = "ANTHROPIC_MESSAGES"
FORMAT_NAMES = (NEUTRAL, TEXT, OPENAI_CHAT, ANTHROPIC_MESSAGES)
"""The keys of `ModelTokens.frames`: the neutral messages, and each output format."""


class TokenCounter(Protocol):
    """Counts the tokens of a text under one vocabulary."""

    @property
    def id(self) -> str:
        """The vocabulary's name, such as `o200k_base`; part of the key of every stored count."""
        ...

    def count(self, text: str) -> int:
        """The ordinary count of `text`: a literal such as `<|endoftext|>` is plain text to it."""
        ...


class Exactness(Enum):
    """How far a reported number of tokens may be trusted."""

    EXACT = "EXACT"
    """The model's own vocabulary, and a documented frame."""
    UPPER_BOUND = "UPPER_BOUND"
    """The model does not see more than this."""
    ESTIMATE = "ESTIMATE"
    """A factor on another vocabulary, or tools, whose encoding no provider documents."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Raw tokens that a provider adds around the texts of a prompt; every field is a whole number >= 0."""

    prompt: int
    """Once per prompt, the priming of the reply included."""
    message: int
    """Each message: its role and its separators."""
    tools: int = 0
    """Once, when the prompt has any tool definition."""
    tool: int = 0
    """Each tool definition, beyond its canonical JSON."""
    call: int = 0
    """Each tool call, beyond the tool's name and the arguments' JSON."""
    result: int = 0
    """Each tool result, beyond the tool's name and the result's JSON."""


@dataclass(frozen=True, slots=True)
class ModelTokens:
    """How the tokens of one model are counted: everything the budget needs to know of it."""

    counter: TokenCounter
    frames: Mapping[str, Frame] = field(hash=False)
    """By format name; `NEUTRAL` is always there and stands in for a format that is missing."""
    exactness: Exactness
    """For a prompt without tools; `exactness_for` answers for the prompt at hand."""
    factor_permille: int = UNSCALED

    def __post_init__(self) -> None:
        if NEUTRAL not in self.frames:
            raise ValueError("frames: give a frame for NEUTRAL, which stands in for missing formats")
        if self.factor_permille < 1:
            raise ValueError("factor_permille: give a whole number >= 1, such as 1000 for no scaling")

    def frame(self, format_name: str = NEUTRAL) -> Frame:
        """The frame of an output format."""
        return self.frames.get(format_name, self.frames[NEUTRAL])

    def exactness_for(self, has_tools: bool) -> Exactness:
        """The exactness of a prompt; `has_tools` is true when it has a tool definition, call or result.

        No provider publishes how it encodes tools, so with them an exact count is one no longer.
        """
        return Exactness.ESTIMATE if has_tools else self.exactness

    def scaled(self, raw: int) -> int:
        """Raw tokens as the model's: times the factor, rounded up. Apply once, to a sum."""
        return -(-raw * self.factor_permille // UNSCALED)

    def raw_limit(self, limit: int) -> int:
        """The greatest raw number whose scaled value is still <= `limit`."""
        return limit * UNSCALED // self.factor_permille


def count_call(counter: TokenCounter, tool_name: str, arguments_json: str) -> int:
    """Raw tokens of a tool call without its frame: the name and the canonical JSON, each on its own."""
    return counter.count(tool_name) + counter.count(arguments_json)


def count_result(counter: TokenCounter, tool_name: str, result_json: str) -> int:
    """Raw tokens of a tool result without its frame: the name and the JSON, each on its own."""
    return counter.count(tool_name) + counter.count(result_json)


def count_tool(counter: TokenCounter, definition_json: str) -> int:
    """Raw tokens of a tool definition without its frame: its canonical JSON, the name being in there."""
    return counter.count(definition_json)
