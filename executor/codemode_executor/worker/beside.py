"""Work in a forked process, beside this one: what it leaves behind or breaks is that process's."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable

import msgspec

from ..jail import kernel

_READ_BYTES = 1024 * 1024


class BesideFailed(RuntimeError):
    """The work gave no answer; the message says why."""


class _Answer(msgspec.Struct, array_like=True):
    failure: str
    parts: list[bytes]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Answer).decode


class Beside:
    """Forks at once; the calling process must have one thread.

    Args:
        work: what the forked process does. What it raises is the failure.
    """

    def __init__(self, work: Callable[[], list[bytes]]) -> None:
        caller = os.getpid()
        self._reading, writing = os.pipe2(os.O_CLOEXEC)
        try:
            self._pid = os.fork()
            if self._pid == 0:
                os.close(self._reading)  # or it would wait for itself where the caller is gone
                _carry_out(work, writing, caller)
        except BaseException:
            os.close(self._reading)
            raise
        finally:
            os.close(writing)

    def parts(self, timeout_s: float) -> list[bytes]:
        """Wait for what ``work`` gave; once.

        Raises:
            BesideFailed: it raised something, its process was ended, or it took longer than ``timeout_s`` seconds.
        """
        try:
            said = self._said(time.monotonic() + timeout_s)
        finally:
            os.close(self._reading)
            # It has answered, or will not. One that was ended before this keeps its own status.
            os.kill(self._pid, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if said is None:
            raise BesideFailed(f"no answer within {timeout_s:g} s")
        try:
            answer = _decode(said)
        except msgspec.MsgspecError:
            ended = f"signal {-status}" if status < 0 else f"exit status {status}"
            raise BesideFailed(f"the process ended without an answer ({ended})") from None
        if answer.failure:
            raise BesideFailed(answer.failure)
        return answer.parts

    def _said(self, until: float) -> bytes | None:
        """All that the process writes; ``None`` if that takes too long."""
        said = bytearray()
        poller = select.poll()
        poller.register(self._reading, select.POLLIN)
        while poller.poll(max(0.0, until - time.monotonic()) * 1000):
            data = os.read(self._reading, _READ_BYTES)
            if not data:
                return bytes(said)
            said += data
        return None


def _carry_out(work: Callable[[], list[bytes]], writing: int, caller: int) -> None:
    """In the forked process; never returns."""
    try:
        try:
            _end_with(caller)
            answer = _Answer("", work())
        except Exception as error:
            answer = _Answer(f"{type(error).__name__}: {error}", [])
        rest = memoryview(_encode(answer))
        while rest:
            rest = rest[os.write(writing, rest) :]
    finally:
        os._exit(0)


def _end_with(caller: int) -> None:
    """Whatever it does, or has been stopped in."""
    if sys.platform == "linux":
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != caller:
        os._exit(0)
