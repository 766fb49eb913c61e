"""Our engine in process: ``IsolateExecutor`` in the host's own event loop, with its default options.

python -m bench.hosts.engine [--isolation process] [--jitless]
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys

import msgspec

from codemode_executor import IsolateExecutor, Provider, __version__

from ..protocol import Command
from .kit import Gate, Kit, tools

#: Runs that may wait for a worker: a burst of 200 is more than the default takes.
MOST_WAITING = 1_000
HOLD_S = 20.0


async def main(options: argparse.Namespace) -> None:
    gate = Gate()
    async with IsolateExecutor(
        isolation=options.isolation, jitless=options.jitless, max_queue=MOST_WAITING
    ) as executor:
        providers = [Provider("codemode", tools(gate))]

        async def execute(program: str) -> object:
            envelope = await executor.execute(program, providers=providers)
            if envelope.error is not None:
                raise RuntimeError(envelope.error)
            return envelope.result

        kit = Kit(execute, gate)
        reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        say({"ready": {"python": platform.python_version(), "codemode-executor": __version__}})
        answering: set[asyncio.Task[None]] = set()
        while line := await reader.readline():
            command = msgspec.json.decode(line, type=Command)
            if command.do == "release":
                gate.released = True
                continue
            task = asyncio.create_task(answer(command, kit, gate))
            answering.add(task)
            task.add_done_callback(answering.discard)
        await asyncio.gather(*answering)


async def answer(command: Command, kit: Kit, gate: Gate) -> None:
    """Perform it and say what came of it."""
    done = asyncio.ensure_future(kit.perform(command))
    try:
        if command.do == "hold":
            await held(command, done, gate)
        say({"id": command.id, "ok": await done})
    except Exception as error:
        gate.released = True
        done.cancel()
        say({"id": command.id, "error": f"{type(error).__name__}: {error}"[:2000]})


async def held(command: Command, done: asyncio.Future[dict[str, object]], gate: Gate) -> None:
    """Say when all runs wait for their tool."""
    until = asyncio.get_running_loop().time() + HOLD_S
    while gate.inside < command.runs and not done.done():
        if asyncio.get_running_loop().time() > until:
            raise RuntimeError(f"after {HOLD_S} s only {gate.inside} of {command.runs} runs wait for their tool")
        await asyncio.sleep(0.02)
    if not done.done():
        say({"id": command.id, "holding": command.runs})


def say(message: dict[str, object]) -> None:
    """A line to the runner: a ``protocol.Message``."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--isolation", choices=("worker", "process"), default="worker")
    parser.add_argument("--jitless", action="store_true")
    asyncio.run(main(parser.parse_args()))
