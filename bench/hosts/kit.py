"""What the Python host does for the benchmark; hosts/kit.mjs does the same for those in JavaScript.

It runs the programs that it is told to, checks each answer, and takes the time inside the host.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache

import msgspec

from ..protocol import Command
from ..workloads import Answer

#: Runs one program and gives its result, or raises.
Execute = Callable[[str], Awaitable[object]]


@cache
def text(length: int) -> str:
    """A string of ``length`` times "x", the same object for every call."""
    return "x" * length


class Gate:
    """What the tool ``hold`` waits for, and how many calls do."""

    def __init__(self) -> None:
        self.inside = 0
        self.released = True


def tools(gate: Gate) -> Mapping[str, Callable[..., Awaitable[object]]]:
    """The tools of every peer."""

    async def echo(value: object) -> object:
        return value

    async def length(value: str) -> int:
        return len(value)

    async def long_text(length: int) -> str:
        return text(length)

    async def pause(ms: int) -> int:
        await asyncio.sleep(ms / 1000)
        return ms

    async def hold() -> str:
        gate.inside += 1
        while not gate.released:
            await asyncio.sleep(0.01)
        return "released"

    return {"echo": echo, "length": length, "text": long_text, "pause": pause, "hold": hold}


class Kit:
    """The commands of the runner."""

    def __init__(self, execute: Execute, gate: Gate) -> None:
        self._execute = execute
        self._gate = gate
        self._serial = 0

    async def perform(self, command: Command) -> dict[str, object]:
        """The answer to ``command``; raises what a run raised, and ValueError for a wrong answer."""
        known = {
            "serial": self._serially,
            "burst": self._burst,
            "saturate": self._saturate,
            "arrivals": self._arrivals,
            "hold": self._hold,
        }
        return await known[command.do](command)

    async def _one(self, command: Command) -> None:
        self._serial += 1
        number = self._serial
        code = command.program.replace("$N", str(number))
        value = await self._execute(code)
        right = expected(command.answer, number)
        if value != right or isinstance(value, bool) != isinstance(right, bool):
            raise ValueError(f"a program answered {value!r:.200} where {right!r:.200} is right: {code[:200]}")

    async def _serially(self, command: Command) -> dict[str, object]:
        total = 0.0
        done = 0
        until = _now_ms() + command.seconds * 1000
        while done < command.runs and (done == 0 or _now_ms() < until):
            if command.pause_ms > 0:
                await asyncio.sleep(command.pause_ms / 1000)
            start = _now_ms()
            await self._one(command)
            total += _now_ms() - start
            done += 1
        return {"runs": done, "total_ms": total}

    async def _burst(self, command: Command) -> dict[str, object]:
        start = _now_ms()
        await asyncio.gather(*(self._one(command) for _ in range(command.runs)))
        return {"runs": command.runs, "total_ms": _now_ms() - start}

    async def _saturate(self, command: Command) -> dict[str, object]:
        started = 0
        start = _now_ms()

        async def lane() -> None:
            nonlocal started
            while started < command.runs and (_now_ms() - start < command.seconds * 1000 or started < command.at_once):
                started += 1
                await self._one(command)

        await asyncio.gather(*(lane() for _ in range(command.at_once)))
        return {"runs": started, "total_ms": _now_ms() - start}

    async def _arrivals(self, command: Command) -> dict[str, object]:
        origin = _now_ms()

        async def arrival(due: float) -> float:
            await asyncio.sleep(max(0.0, origin + due - _now_ms()) / 1000)
            await self._one(command)
            return _now_ms() - origin - due

        return {"latencies_ms": await asyncio.gather(*(arrival(due) for due in command.due_ms))}

    async def _hold(self, command: Command) -> dict[str, object]:
        self._gate.inside = 0
        self._gate.released = False
        await asyncio.gather(*(self._one(command) for _ in range(command.runs)))
        return {"runs": command.runs}


def expected(answer: Answer, number: int) -> object:
    """What the program with the serial ``number`` must answer."""
    if answer.number_plus is not None:
        return number + answer.number_plus
    if answer.text_of is not None:
        return text(answer.text_of)
    return None if answer.exactly is msgspec.UNSET else answer.exactly


def _now_ms() -> float:
    return time.perf_counter() * 1000
