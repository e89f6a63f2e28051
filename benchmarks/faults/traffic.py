"""Traffic: prompts at a steady rate, and writers beside them; records what becomes of every attempt.

Prompts come in an open loop: the next is asked for when it is due, whatever became of the last, as with real users. A
person's writes of one kind come one after the other, each repeated under its request id until it is acknowledged.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

import grpc

from benchmarks.faults import scene
from benchmarks.faults.gateway_client import GatewayClient
from benchmarks.faults.outcomes import OK, Answer, Kind, Outcome
from benchmarks.faults.people import Person
from benchmarks.faults.reading import answer_of, failure_of
from muniment.v1 import context_pb2

WRITE_SECONDS: Final = 5.0
"""The deadline of a write's attempt: longer than the gateway's own limits, so that it is the gateway who answers."""
_ATTEMPTS: Final = 3
_AT_ONCE: Final = 4
_PAUSES: Final = (0.05, 0.1, 0.2, 0.4)
"""Between attempts, in seconds; the last one holds for all later ones."""
_WRITES: Final = (Kind.FACTS, Kind.TURNS, Kind.SLOTS)

Call: TypeAlias = "Callable[[GatewayClient], Awaitable[object]]"
"""One attempt at a gateway."""


@dataclass(frozen=True, slots=True)
class Load:
    """Prompts and writes a second over all people, and the deadline of a prompt in seconds."""

    prompts: float = 100.0
    writes: float = 15.0
    deadline: float = 2.0


class Traffic:
    """Runs between `start` and `stop`; `outcomes` grows. Gateways take turns."""

    def __init__(self, people: Sequence[Person], gateways: Sequence[GatewayClient], load: Load) -> None:
        self._people, self._gateways, self._load = people, gateways, load
        self._numbers = count()
        self._busy: set[tuple[Kind, int]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pacers: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self.outcomes: list[Outcome] = []

    async def furnish(self) -> None:
        """Give everybody a fact and a slot, so that no section is empty, and let each gateway meet everybody once: the
        first call of a user opens keys and fills caches."""
        async with asyncio.TaskGroup() as group:
            for person in self._people:
                for kind in (Kind.FACTS, Kind.SLOTS):
                    self._busy.add((kind, person.number))
                    group.create_task(self._until_acknowledged(kind, person, next(self._numbers)))
        few = asyncio.Semaphore(_AT_ONCE)

        async def meet(gateway: int, person: Person) -> None:
            number = next(self._numbers)
            async with few:
                await self._attempt(
                    Kind.ASSEMBLE, person.number, number, gateway, self._asking(person, number)
                )

        await asyncio.gather(
            *(meet(gateway, person) for gateway in range(len(self._gateways)) for person in self._people)
        )

    def start(self) -> None:
        """Begin."""
        self._pacers = [
            asyncio.create_task(self._paced(self._load.prompts, self._prompt)),
            asyncio.create_task(self._paced(self._load.writes, self._write)),
        ]

    async def stop(self, patience: float) -> None:
        """Begin nothing new, and let what is under way come to its end for so many seconds."""
        for pacer in self._pacers:
            pacer.cancel()
        await asyncio.gather(*self._pacers, return_exceptions=True)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        self._stopping.set()
        await asyncio.gather(*self._tasks)

    async def _paced(self, rate: float, begin: Callable[[int], None]) -> None:
        """Call `begin` so often a second; what was held up is made good at once."""
        started = time.monotonic()
        for number in count():
            delay = started + number / rate - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            begin(number)

    def _prompt(self, at: int) -> None:
        person, number = self._people[at % len(self._people)], next(self._numbers)
        self._begin(self._attempts(Kind.ASSEMBLE, person, number, self._asking(person, number), _ATTEMPTS))

    def _asking(self, person: Person, number: int) -> Call:
        request = scene.ask(person, number)
        return lambda gateway: gateway.context.AssembleContext(request, timeout=self._load.deadline)

    def _write(self, at: int) -> None:
        kind = _WRITES[at % len(_WRITES)]
        person = self._people[(at // len(_WRITES)) % len(self._people)]
        # The order of two that are under way at once would be nobody's to tell.
        if (kind, person.number) not in self._busy:
            self._busy.add((kind, person.number))
            self._begin(self._until_acknowledged(kind, person, next(self._numbers)))

    async def _until_acknowledged(self, kind: Kind, person: Person, number: int) -> None:
        await self._attempts(kind, person, number, _write_call(kind, person, number), None)
        self._busy.discard((kind, person.number))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _attempts(self, kind: Kind, person: Person, number: int, call: Call, most: int | None) -> None:
        """Repeat until acknowledged, `most` times (None: until the traffic stops), at the next gateway each time."""
        for attempt in count():
            gateway = (number + attempt) % len(self._gateways)
            if await self._attempt(kind, person.number, number, gateway, call) or attempt + 1 == most:
                return
            await asyncio.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
            if self._stopping.is_set():
                return

    async def _attempt(self, kind: Kind, person: int, number: int, gateway: int, call: Call) -> bool:
        started = time.monotonic()
        code, reason, retry, answer = OK, "", False, None
        try:
            answer = _answer(await call(self._gateways[gateway]))
        except grpc.aio.AioRpcError as error:
            code, reason, retry = failure_of(error)
        ended = time.monotonic()
        self.outcomes.append(
            Outcome(kind, person, gateway, number, started, ended, code, reason, retry, answer)
        )
        return code == OK


def _answer(response: object) -> Answer | None:
    return answer_of(response) if isinstance(response, context_pb2.AssembleContextResponse) else None


def _write_call(kind: Kind, person: Person, number: int) -> Call:
    """One request for all attempts, so that its id stays the same."""
    if kind is Kind.FACTS:
        fact = scene.record_fact(person, number)
        return lambda gateway: gateway.facts.RecordFacts(fact, timeout=WRITE_SECONDS)
    if kind is Kind.TURNS:
        turn = scene.record_turn(person, number)
        return lambda gateway: gateway.sessions.RecordTurns(turn, timeout=WRITE_SECONDS)
    slot = scene.set_slot(person, number)
    return lambda gateway: gateway.sessions.UpdateSlots(slot, timeout=WRITE_SECONDS)
