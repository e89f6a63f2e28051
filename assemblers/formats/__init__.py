"""From neutral messages to the bytes that a provider takes, with the place of every part in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from assemblers.assembly import Breakpoint, Message, PromptFormat, Rendered
from assemblers.formats import anthropic, openai_chat, text
from assemblers.formats.errors import UnrenderablePromptError
from assemblers.records import PrefixRevision


class Render(Protocol):
    """Makes the body of a format. Pure; UnrenderablePromptError where the messages break its rules."""

    def __call__(
        self,
        messages: Sequence[Message],
        prefix: PrefixRevision | None,
        breakpoints: Sequence[Breakpoint] = (),
    ) -> Rendered:
        """The body and the places in it. `prefix` gives the tools: its text is a message already."""
        ...


@dataclass(frozen=True, slots=True)
class Rendering:
    """A format: how its body is made, and how many messages the provider will see (each costs a frame)."""

    render: Render
    sent_messages: Callable[[Sequence[Message]], int]


FORMATS: Mapping[PromptFormat, Rendering] = MappingProxyType(
    {
        PromptFormat.TEXT: Rendering(text.render, text.sent_messages),
        PromptFormat.OPENAI_CHAT: Rendering(openai_chat.render, openai_chat.sent_messages),
        PromptFormat.ANTHROPIC_MESSAGES: Rendering(anthropic.render, anthropic.sent_messages),
    }
)

__all__ = ["FORMATS", "Render", "Rendering", "UnrenderablePromptError"]
