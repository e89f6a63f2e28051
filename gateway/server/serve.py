"""Runs the server until it is told to stop, on the fastest event loop there is."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

from gateway.server.server import Server

T = TypeVar("T")
_log = structlog.stdlib.get_logger("muniment.server")


async def serve_until_signalled(server: Server, started: Callable[[int], None] = lambda _: None) -> None:
    """Start, call `started` with the port, and drain at the first SIGTERM or SIGINT."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    try:
        port = await server.start()
        # What was loaded by now lives as long as the process: no collection need look at it again.
        gc.collect()
        gc.freeze()
        _log.info("serving", port=port)
        started(port)
        await told.wait()
        _log.info("draining")
        await server.stop()
        _log.info("stopped")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on uvloop, or on the standard loop where uvloop does not exist."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop  # absent on Windows and outside CPython
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
