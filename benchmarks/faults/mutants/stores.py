"""Stores that are wrapped: they do the work and say they did not, or say they did and have not."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from storage.errors import StorageError, StorageUnavailable
from storage.ports import Storage, TurnsWritten

UNSURE_SHARE: Final = 0.05
"""Of store calls, those that are done and reported as timed out."""
_WRITES: Final = frozenset({"append", "record", "end", "put", "invalidate", "delete"})
_STORES: Final = ("facts", "archives", "transcripts", "traces", "sessions")
_UNTIL_COMMIT_SECONDS: Final = 0.2

Method = Callable[..., Awaitable[Any]]


class _Overlaid:
    """An object of which some attributes are others."""

    def __init__(self, inner: object, attributes: Mapping[str, object]) -> None:
        self._inner = inner
        self.__dict__.update(attributes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def report_time_outs() -> None:
    """One call in twenty of those that write is done and then reported as timed out."""
    chance = random.Random(7)

    def unsure(method: Method) -> Method:
        async def call(*arguments: Any, **named: Any) -> Any:
            done = await method(*arguments, **named)
            if chance.random() < UNSURE_SHARE:
                raise StorageUnavailable("done, and reported as timed out")
            return done

        return call

    _wrap_storage(lambda storage: {name: _with(getattr(storage, name), unsure, _WRITES) for name in _STORES})


def acknowledge_before_the_commit() -> None:
    """Traces and turns are acknowledged at once and written a moment later."""
    later: set[asyncio.Task[None]] = set()

    async def write(method: Method, arguments: tuple[Any, ...]) -> None:
        await asyncio.sleep(_UNTIL_COMMIT_SECONDS)
        await method(*arguments)

    def begin(method: Method, arguments: tuple[Any, ...]) -> None:
        task = asyncio.create_task(write(method, arguments))
        later.add(task)
        task.add_done_callback(later.discard)

    def append(method: Method) -> Method:
        async def call(*arguments: Any) -> None:
            begin(method, arguments)

        return call

    def record(method: Method) -> Method:
        async def call(*arguments: Any) -> TurnsWritten:
            begin(method, arguments)
            return TurnsWritten(1, 0)

        return call

    _wrap_storage(
        lambda storage: {
            "traces": _with(storage.traces, append, {"append"}),
            "transcripts": _with(storage.transcripts, record, {"record"}),
        }
    )


def swallow_failures_of_traces() -> None:
    """An answer leaves although its trace could not be written, and does not say so; some are not even tried."""
    chance = random.Random(7)

    def swallowing(method: Method) -> Method:
        async def call(*arguments: Any) -> Any:
            if chance.random() < UNSURE_SHARE:
                return None
            try:
                return await method(*arguments)
            except StorageError:
                return None

        return call

    _wrap_storage(lambda storage: {"traces": _with(storage.traces, swallowing, {"append"})})


def commit_asynchronously() -> None:
    """Postgres acknowledges before its log is written."""
    from storage.postgres import connecting

    connecting._SETTINGS["synchronous_commit"] = "off"


def forget_request_ids() -> None:
    """A repeat under the same request id is done again."""
    from gateway.server.call import Call

    original: Callable[..., Any] = Call.receipt

    def receipt(self: Call, *arguments: Any, **named: Any) -> Any:
        return replace(original(self, *arguments, **named), request_id="")

    Call.receipt = receipt  # type: ignore[method-assign]  # that is what a mutant is


def _with(store: object, wrap: Callable[[Method], Method], names: frozenset[str] | set[str]) -> object:
    """The store with the methods of those names wrapped, as far as it has them."""
    return _Overlaid(store, {name: wrap(getattr(store, name)) for name in names if hasattr(store, name)})


def _wrap_storage(overlay: Callable[[Storage], Mapping[str, object]]) -> None:
    """Have the services built over a storage with other stores."""
    from gateway import app

    build_services: Callable[..., Any] = app.build_services

    def build(storage: Storage, *rest: Any, **named: Any) -> Any:
        return build_services(_Overlaid(storage, overlay(storage)), *rest, **named)

    app.build_services = build
