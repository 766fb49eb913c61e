"""Executors with a hole, each of which the runner must notice. They prove the runner, and are never to be used."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from codemode_executor import AllowList, Connector, IsolateExecutor, Limits, Provider
from codemode_executor.limits import MIB

from .adapter import Attack, Ended, IsolateAdapter

_HOST = Path(__file__).with_name("weak_vm.mjs")
_LINE_BYTES = 64 * MIB
# Nothing that an attack of the corpus needs; each of these executors is in the hands of the test that made it.
_WIDE = Limits(timeout_s=120, memory_mb=2048, log_bytes=64 * MIB, log_lines=1_000_000, tool_calls=1_000_000)
_GREED_BYTES = 300 * MIB


def engine() -> IsolateExecutor:
    """What those of them that are no other executor are made around."""
    return IsolateExecutor(limits=_WIDE, min_workers=1, max_workers=3, allow_overcommit=True)


class LooseAdapter(IsolateAdapter):
    """The engine, which is not told of any bound."""

    name = "an engine without bounds"

    async def execute(self, attack: Attack) -> Ended:
        """With the executor's own, wide bounds."""
        return await super().execute(msgspec.structs.replace(attack, limits=_WIDE))


class TalkativeAdapter(IsolateAdapter):
    """The engine, whose host passes on what no text should hold, and repeats every line of logs."""

    name = "an engine whose texts are not clean"

    async def execute(self, attack: Attack) -> Ended:
        """With a broken text where there is one."""
        ended = await super().execute(attack)
        text = None if ended.error is None else f"{ended.error}\ud800"
        return msgspec.structs.replace(ended, error=text, logs=[line * 1000 for line in ended.logs])


class RecursiveAdapter(IsolateAdapter):
    """The engine, whose host first looks at a program as deeply as it nests."""

    name = "an engine whose host recurses"

    async def execute(self, attack: Attack) -> Ended:
        """If the brackets let it."""
        _nesting(attack.code, 0)
        return await super().execute(attack)


def _nesting(text: str, at: int) -> int:
    """How many brackets open from ``at`` on: a stack frame for each, which is the fault."""
    while at < len(text) and text[at] not in "[(":
        at += 1
    return 1 + _nesting(text, at + 1) if at < len(text) else 0


class GreedyAdapter(IsolateAdapter):
    """The engine, whose host keeps far more of a result than it holds."""

    name = "an engine whose host has no measure"

    def __init__(self, executor: IsolateExecutor) -> None:
        super().__init__(executor)
        self._kept: list[bytearray] = []

    async def execute(self, attack: Attack) -> Ended:
        """With a great deal of memory, for whatever is more than nothing."""
        ended = await super().execute(attack)
        if not attack.env:
            return ended
        self._kept.append(bytearray(b"x") * _GREED_BYTES)
        await asyncio.sleep(0.1)
        self._kept.clear()
        return ended


class TrustingAdapter(IsolateAdapter):
    """The engine, whose host lets every name and every origin lead to its own machine."""

    name = "an engine whose list opens loopback"

    async def execute(self, attack: Attack) -> Ended:
        """With a list that is too wide."""
        if isinstance(attack.outbound, AllowList):
            too_wide = dataclasses.replace(attack.outbound, allow_private=["127.0.0.0/8"])
            attack = msgspec.structs.replace(attack, outbound=too_wide)
        return await super().execute(attack)


class VmAdapter:
    """Programs in ``node:vm``, in one context and one process, with the host's own functions handed in."""

    name = "node:vm"
    generations = 1

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._numbers = itertools.count()
        self._runs: dict[int, tuple[Attack, asyncio.Future[Ended]]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Start its process."""
        self._process = await asyncio.create_subprocess_exec(
            "node",
            str(_HOST),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LINE_BYTES,
        )
        self._reading = asyncio.create_task(self._read())

    async def execute(self, attack: Attack) -> Ended:
        """Whatever the program, or the process in its name, answers."""
        number = next(self._numbers)
        future: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._runs[number] = attack, future
        if self._process is None or self._process.returncode is not None:
            return Ended(raised="WORKER_CRASHED", error="the process has ended")
        self._send({"run": number, "code": attack.code, "env": dict(attack.env), "names": _names(attack)})
        return await future

    async def close(self) -> None:
        """Kill its process, and close what led to it: a pipe that waits to be closed outlives the loop otherwise."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                await self._process.stdin.wait_closed()
            if self._process.returncode is None:
                self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading
        for task in self._serving:
            task.cancel()

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = cast("dict[str, Any]", json.loads(line))
            known = self._runs.get(message["run"])
            if known is None:
                continue
            attack, future = known
            if "call" in message:
                task = asyncio.create_task(self._serve(attack, message))
                self._serving.add(task)
                task.add_done_callback(self._serving.discard)
            elif not future.done():
                ended = Ended(
                    result=message.get("result"),
                    error=message.get("error"),
                    logs=message["logs"],
                    stack=message["stack"],
                )
                future.set_result(ended)
        for _, future in self._runs.values():
            if not future.done():
                future.set_result(Ended(raised="WORKER_CRASHED", error="the process has ended"))

    async def _serve(self, attack: Attack, message: Mapping[str, Any]) -> None:
        answer: dict[str, object] = {"call": message["call"]}
        for provider in attack.providers:
            if not isinstance(provider, Provider) or provider.name != message["provider"]:
                continue
            if not isinstance(provider.tools, Mapping):
                continue
            try:
                answer["value"] = await provider.tools[message["tool"]](*message["args"])
            except Exception as error:
                answer["error"] = str(error)
        self._send(answer)


def _names(attack: Attack) -> list[str]:
    providers: list[Provider | Connector] = list(attack.providers)
    return [provider.name for provider in providers if isinstance(provider, Provider)]
