"""Answers that say too little, are too old, come too late, or are faults without a type."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, Final

_FAILS_EVERY: Final = 25
"""One call of so many fails, of which a single one is too many."""
_HANGS_EVERY: Final = 8
"""One call of so many hangs: more than a slow machine could be blamed for."""
_KEPT_SECONDS: Final = 4.0
_HANG_SECONDS: Final = 3.0

Gather = Callable[..., Awaitable[Any]]


def drop_what_is_said() -> None:
    """Every section is OK, and nothing is degraded or warned of: whatever went wrong is swallowed."""
    from gateway.convert.answers import AnswerEncoder
    from muniment.v1 import context_pb2, types_pb2

    encode = AnswerEncoder.encode

    def silent(self: AnswerEncoder, answer: Any, prompt: bytes | None = None) -> bytes:
        message = context_pb2.AssembleContextResponse.FromString(encode(self, answer, prompt))
        message.ClearField("degradations")
        message.ClearField("warnings")
        for line in message.prompt.budget_report.sections:
            line.status = types_pb2.SECTION_STATUS_OK
        return message.SerializeToString()

    AnswerEncoder.encode = silent  # type: ignore[method-assign]  # that is what a mutant is


def keep_what_was_gathered() -> None:
    """A user's facts and archive are kept for some seconds, whoever writes meanwhile."""
    from gateway.usecases.gather import Gatherer

    original: Gather = Gatherer.gather
    kept: dict[Any, tuple[float, Any]] = {}

    async def gather(self: Gatherer, user: Any, *rest: Any, **named: Any) -> Any:
        found = kept.get(user)
        if found is None or time.monotonic() - found[0] > _KEPT_SECONDS:
            found = kept[user] = time.monotonic(), await original(self, user, *rest, **named)
        return found[1]

    Gatherer.gather = gather  # type: ignore[method-assign]  # that is what a mutant is


def fail_without_a_type() -> None:
    """Some prompts end in an exception that nobody has translated."""

    async def fail() -> None:
        raise RuntimeError("a mutant's")

    _before_some_prompts(fail, _FAILS_EVERY)


def hang_now_and_then() -> None:
    """Some prompts wait for something that has no limit of its own."""

    async def hang() -> None:
        await asyncio.sleep(_HANG_SECONDS)

    _before_some_prompts(hang, _HANGS_EVERY)


def _before_some_prompts(deed: Callable[[], Coroutine[Any, Any, None]], every: int) -> None:
    from gateway.usecases.assemble_context import ContextAssembler

    original: Gather = ContextAssembler.assemble
    calls = count(1)

    async def assemble(self: ContextAssembler, *arguments: Any, **named: Any) -> Any:
        if next(calls) % every == 0:
            await deed()
        return await original(self, *arguments, **named)

    ContextAssembler.assemble = assemble  # type: ignore[method-assign]  # that is what a mutant is
