"""The supervisor's side of the zygote where a process has no descriptor left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from codemode_executor.errors import WorkerStartFailed
from codemode_executor.wire.zygote import Setup
from codemode_executor.zygote import Zygote
from witness import Traces, descendants, eventually, settle

SETUP = Setup(
    v8_flags=["--single-threaded"],
    hardening="off",
    data_headroom_bytes=1 << 30,
    memory_bytes=1 << 28,
    max_frame_bytes=1 << 20,
    seccomp_action="kill",
    one_run=False,
)


@contextlib.asynccontextmanager
async def zygote() -> AsyncIterator[Zygote]:
    before = Traces.take()
    lost: list[Zygote] = []
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    it = Zygote(SETUP, lost.append)
    try:
        await it.started()
        yield it
        assert not lost
    finally:
        await it.close(5)
        asyncio.get_running_loop().set_exception_handler(None)
    left = await settle(before)
    assert not left, f"left behind: {left}"
    assert not faults


def workers() -> list[int]:
    return [process.pid for process in descendants() if process.parent != os.getpid()]


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Every number below the limit is taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 8, hard))
    try:
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in held:
            os.close(fd)


async def forks(it: Zygote) -> None:
    ours, theirs = socket.socketpair()
    try:
        forked, exited = await it.fork(theirs)
        assert forked.pid in workers()
    finally:
        ours.close()
    await exited
    forked.close()


async def test_a_worker_whose_descriptor_did_not_fit_is_refused_and_the_zygote_serves_on() -> None:
    """The kernel drops the pidfd that comes along; the answer without it is an error, not a broken event loop."""
    async with zygote() as it:
        ours, theirs = socket.socketpair()
        asking = asyncio.ensure_future(it.fork(theirs))
        await asyncio.sleep(0)
        with no_descriptor_left(), pytest.raises(WorkerStartFailed, match="no file descriptor left"):
            await asking
        ours.close()
        await eventually(lambda: not workers(), "the end of the worker that nobody can reach")
        await forks(it)


async def test_a_zygote_without_descriptors_refuses_and_keeps_its_workers() -> None:
    """Its limit is met at each of the steps of a fork in turn: the socket, the pipe, the pidfd."""
    async with zygote() as it:
        (pid,) = {process.pid for process in descendants()}
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        ours, theirs = socket.socketpair()
        forked, exited = await it.fork(theirs)
        taken = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
        room = [fd for fd in range(256) if fd not in taken]
        for limit in room[:4]:  # none free, one, two, three; a fork takes four
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
            other, end = socket.socketpair()
            with pytest.raises(WorkerStartFailed, match="EMFILE"):
                await it.fork(end)
            other.close()
            assert not forked.ended
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        await forks(it)
        ours.close()
        await exited
        forked.close()
