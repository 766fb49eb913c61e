"""The daemon as a process: its signals, its parent, its standard streams."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import signal
import stat
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ..allocator import keep_freed_memory
from ..errors import BadRequest
from ..limits import MIB
from .logs import JsonLines, record
from .server import Daemon
from .settings import Settings

_TOKEN_LINE = 1024
_PARENT_S = 0.5
_KEPT_BYTES = 64 * MIB

_log = logging.getLogger("codemode_executor.daemon")


def serve(settings: Settings, tokens: Sequence[tuple[str, str]], *, die_with_parent: bool) -> None:
    """Be a daemon until a signal, or the end of the parent.

    It writes one line of JSON to standard output when it listens; its log goes to standard error. SIGTERM and SIGINT
    let runs go on for ``drain_s``; the second one does not.

    Args:
        settings: what it was told.
        tokens: ``(name, token)`` of everybody it serves.
        die_with_parent: standard input is a pipe that the parent holds; leave at once when it ends.

    Raises:
        BadRequest: the settings are unusable.
        ExecutorError: no worker can be started.
    """
    _log_to_stderr(settings.log_level)
    _take_all_descriptors()
    keep_freed_memory(_KEPT_BYTES)
    if die_with_parent and not _is_pipe(sys.stdin.fileno()):
        raise BadRequest("--die-with-parent needs a pipe or socket as standard input, which the parent keeps open")
    asyncio.run(_serve(settings, tokens, die_with_parent))


def read_token_line() -> bytes:
    """The first line of standard input, and not a byte more.

    Raises:
        BadRequest: it is too long, or not there.
    """
    line = bytearray()
    while len(line) <= _TOKEN_LINE:
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte or byte == b"\n":
            break
        line += byte
    if not 0 < len(line) <= _TOKEN_LINE:
        raise BadRequest(
            f"--token-file -: standard input must begin with a line of 1 to {_TOKEN_LINE} bytes, the token"
        )
    return bytes(line)


async def _serve(settings: Settings, tokens: Sequence[tuple[str, str]], die_with_parent: bool) -> None:
    loop = asyncio.get_running_loop()
    leave, leave_now = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (leave_now if leave.is_set() else leave).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    watching = asyncio.create_task(_parent_gone(leave_now), name="parent watch") if die_with_parent else None
    try:
        async with Daemon(settings, tokens) as daemon:
            _announce(daemon)
            await _first(leave.wait(), leave_now.wait())
            if not leave_now.is_set():
                await _first(daemon.drain(), leave_now.wait())
        record(_log, "stopped", parent_gone=watching is not None and watching.done())
    finally:
        if watching is not None:
            watching.cancel()


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _announce(daemon: Daemon) -> None:
    line = msgspec.json.encode(daemon.announcement()) + b"\n"
    with suppress(BrokenPipeError):  # nobody reads it
        os.write(sys.stdout.fileno(), line)


async def _parent_gone(gone: asyncio.Event) -> None:
    """Set ``gone`` when standard input ends, or this process gets another parent."""
    loop = asyncio.get_running_loop()
    parent = os.getppid()
    ended = asyncio.Event()
    descriptor = sys.stdin.fileno()
    os.set_blocking(descriptor, False)

    def on_readable() -> None:
        with suppress(BlockingIOError):
            if not os.read(descriptor, 65536):
                loop.remove_reader(descriptor)
                ended.set()

    loop.add_reader(descriptor, on_readable)
    try:
        while not ended.is_set() and os.getppid() == parent:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PARENT_S):
                    await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        gone.set()


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _take_all_descriptors() -> None:
    """As many as this process may have: connections take one each, and workers two or three."""
    if importlib.util.find_spec("resource") is None:  # Windows, where the engine says what to do instead
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
