"""The supervisor's side of the zygote: starting it, asking it for workers, hearing how they ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from .errors import HardeningUnavailable, WorkerStartFailed
from .wire import zygote as wire
from .wire.framing import FrameDecoder, encode_frame

_START_TIMEOUT_S = 30.0
_KILL_TIMEOUT_S = 5.0
_MAX_REPLY = 64 * 1024
_STDERR_TAIL = 8192
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_NO_DESCRIPTOR = (
    "this process has no file descriptor left for a worker (RLIMIT_NOFILE); raise the limit, or lower max_workers"
)

#: What workers are made with, and only Linux has all of.
_NEEDED = ("fork", "pipe2", "pidfd_open")

# The package's own __init__ imports the supervisor, of which a worker needs nothing: it is stepped over. What is loaded
# stays, so nobody has to look through it for garbage.
_ENTRY = (
    "import gc, sys, types; gc.disable(); sys.path[:] = {path!r}; "
    "package = sys.modules['codemode_executor'] = types.ModuleType('codemode_executor'); "
    "package.__path__ = [{package!r}]; "
    "from codemode_executor.worker.zygote import main; main()"
)


@dataclass
class Forked:
    """A worker process. ``pidfd`` names exactly that process, whatever becomes of its pid."""

    pid: int
    pidfd: int

    def kill(self) -> None:
        """End the process at once; nothing happens if it is gone already, or was given back."""
        if self.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    @property
    def ended(self) -> bool:
        """The process is gone, reaped or not."""
        if self.pidfd < 0:
            return True
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        return bool(poller.poll(0))

    def close(self) -> None:
        """Give the descriptor back; once is enough."""
        pidfd, self.pidfd = self.pidfd, -1
        if pidfd >= 0:
            os.close(pidfd)


@dataclass(frozen=True)
class Exit:
    """How a worker ended. ``status``: exit status or negated signal number; ``None`` if the zygote could not say."""

    status: int | None
    stderr: str = ""


class Zygote:
    """Args:
    setup: what it makes of itself.
    on_gone: called once, when the process is gone.

    Raises:
        HardeningUnavailable: this system has no such processes, whatever is asked of the jail.
        WorkerStartFailed: the process cannot be started.
    """

    def __init__(self, setup: wire.Setup, on_gone: Callable[[Zygote], None]) -> None:
        _require_system()
        self._setup = setup
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._frames = FrameDecoder(_MAX_REPLY)
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._forks: dict[int, asyncio.Future[Forked]] = {}
        self._exits: dict[int, asyncio.Future[Exit]] = {}
        self._descriptors: list[int] = []
        self._stderr = bytearray()
        self.gone = False
        self._reaping: asyncio.Task[None] | None = None
        self._next = 0
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._control = ours
        reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._stderr_fd = reading
        try:
            self._process = _spawn(theirs, writing)
        except BaseException as error:
            ours.close()
            os.close(reading)
            if isinstance(error, OSError):
                raise WorkerStartFailed(f"the zygote process cannot be started: {error}") from error
            raise
        finally:
            theirs.close()
            os.close(writing)
        self._loop.add_reader(ours, self._receive)
        self._loop.add_reader(reading, self._read_stderr)
        # A process that has ended already is heard of by its socket, with what it said.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._send(setup)

    async def started(self) -> None:
        """Wait until the engine is loaded.

        Raises:
            WorkerStartFailed: it cannot be, with what the process said.
        """
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                await asyncio.shield(self._started)
        except TimeoutError:
            raise WorkerStartFailed(f"the zygote did not start within {_START_TIMEOUT_S:g} s") from None

    async def fork(self, sock: socket.socket) -> tuple[Forked, asyncio.Future[Exit]]:
        """Fork a worker that talks over ``sock``, which is closed here.

        Returns:
            The process, and a future of how it ends.

        Raises:
            WorkerStartFailed: the zygote is gone, or the operating system refused.
        """
        try:
            await self.started()
            if self.gone:
                raise WorkerStartFailed("the zygote process ended")
        except BaseException:
            sock.close()
            raise
        self._next += 1
        worker = self._next
        forked: asyncio.Future[Forked] = self._loop.create_future()
        exited: asyncio.Future[Exit] = self._loop.create_future()
        self._forks[worker] = forked
        self._exits[worker] = exited
        try:
            self._send(wire.Fork(worker), sock.fileno())
        except OSError as error:
            self._lost(f"the zygote's socket failed: {error}")
        finally:
            sock.close()
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                return await asyncio.shield(forked), exited
        except asyncio.CancelledError:
            forked.add_done_callback(_discard)
            raise
        except TimeoutError:
            self._lost(f"the zygote did not fork within {_START_TIMEOUT_S:g} s")
            raise WorkerStartFailed("the zygote stopped answering") from None

    def retire(self) -> None:
        """Fork no more. The process leaves when its last worker has."""
        if not self.gone:
            with contextlib.suppress(OSError):
                self._send(wire.Retire())

    @property
    def is_ready(self) -> bool:
        """The engine is loaded."""
        return not self.gone and self._started.done() and self._started.exception() is None

    async def close(self, timeout_s: float) -> None:
        """Give the process ``timeout_s`` to leave on its own, then kill it; wait until it is reaped."""
        self._detach("the executor was closed")
        if self._reaping is not None:
            await asyncio.shield(self._reaping)
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._reaped()
        except TimeoutError:
            self._process.kill()
            await self._reaped()

    async def _reaped(self) -> None:
        try:
            while self._process.poll() is None:
                await asyncio.sleep(0.002)
        except asyncio.CancelledError:
            # The loop is being ended, and with it the last chance to reap.
            self._process.kill()
            self._process.wait(_KILL_TIMEOUT_S)
            raise

    def abandon(self) -> None:
        """Kill the process without an event loop."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(_KILL_TIMEOUT_S)
        self._close_descriptors()

    def forget(self) -> None:
        """In a forked child: close what was inherited; the process belongs to the parent."""
        self._process.returncode = 0  # its end is not this process's to wait for
        self._close_descriptors()

    # --- the socket ---------------------------------------------------------------------------------------------------

    def _send(self, message: wire.ToZygote, descriptor: int | None = None) -> None:
        # Requests are a few bytes and answered one by one: the socket's buffer always has room for them.
        frame = encode_frame(wire.encode(message))
        if descriptor is None:
            self._control.sendall(frame)
        else:
            socket.send_fds(self._control, [frame], [descriptor])

    def _receive(self) -> None:
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, 65536, 64)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(f"the zygote's socket failed: {error}")
            return
        if not data:
            self._lost("the zygote process ended")
            return
        self._descriptors += descriptors
        try:
            for frame in self._frames.feed(data):
                self._handle(wire.decode_from_zygote(frame))
        except (ValueError, LookupError) as error:
            self._lost(f"the zygote broke its protocol: {type(error).__name__}: {error}")

    def _handle(self, message: wire.FromZygote) -> None:
        if isinstance(message, wire.Started):
            if not self._started.done():
                self._started.set_result(None)
        elif isinstance(message, wire.Forked):
            future = self._forks.pop(message.worker)
            if self._descriptors:
                future.set_result(Forked(message.pid, self._descriptors.pop(0)))
            else:
                # The operating system drops a descriptor that this process has no room for. The worker leaves by
                # itself: whoever asked for it closes its socket.
                self._exits.pop(message.worker)
                future.set_exception(WorkerStartFailed(_NO_DESCRIPTOR))
        elif isinstance(message, wire.ForkFailed):
            self._exits.pop(message.worker, None)
            self._forks.pop(message.worker).set_exception(WorkerStartFailed(message.message))
        else:
            future = self._exits.pop(message.worker, None)
            if future is not None and not future.done():
                future.set_result(Exit(message.status, message.stderr))

    def _read_stderr(self) -> None:
        try:
            data = os.read(self._stderr_fd, 65536)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._stderr_fd)
            return
        self._stderr += data
        del self._stderr[:-_STDERR_TAIL]

    def _lost(self, reason: str) -> None:
        if self.gone:
            return
        with contextlib.suppress(OSError):
            self._read_stderr()
        said = self._stderr.decode("utf-8", "replace").strip()
        self._process.kill()  # it may only have stopped answering
        self._detach(f"{reason}: {said}" if said else reason)
        self._reaping = self._loop.create_task(self._reaped())
        self._on_gone(self)

    def _detach(self, reason: str) -> None:
        if self.gone:
            return
        self.gone = True
        self._loop.remove_reader(self._control)
        self._loop.remove_reader(self._stderr_fd)
        self._close_descriptors()
        failure = WorkerStartFailed(reason)
        for future in (self._started, *self._forks.values()):
            if not future.done():
                future.set_exception(failure)
                future.exception()  # whoever waits sees it; nobody has to
        for future in self._exits.values():
            if not future.done():
                future.set_result(Exit(None))
        self._forks.clear()
        self._exits.clear()

    def _close_descriptors(self) -> None:
        self._control.close()
        if self._stderr_fd >= 0:
            os.close(self._stderr_fd)
            self._stderr_fd = -1
        for fd in self._descriptors:
            os.close(fd)
        self._descriptors.clear()


def _require_system() -> None:
    missing = [f"os.{name}" for name in _NEEDED if not hasattr(os, name)]
    if missing:
        remedy = "run inside WSL2" if sys.platform == "win32" else "run it on Linux, in a container for example"
        raise HardeningUnavailable(
            f"workers are made with {', '.join(missing)}, which Python does not have on {sys.platform}: {remedy}"
        )


def _discard(future: asyncio.Future[Forked]) -> None:
    """Nobody waits for this worker any more."""
    if future.exception() is None:
        future.result().kill()
        future.result().close()


def _spawn(control: socket.socket, stderr: int) -> subprocess.Popen[bytes]:
    if not sys.executable:
        raise WorkerStartFailed("sys.executable is empty: the worker processes need a Python interpreter to run in")
    environment = {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
    library_path = os.environ.get("LD_LIBRARY_PATH")
    if library_path:  # without it, an interpreter that needs it does not even start; workers get no environment at all
        environment["LD_LIBRARY_PATH"] = library_path
    path = [os.path.abspath(entry) for entry in sys.path]
    program = _MOVE_CONTROL.format(fd=control.fileno()) + _ENTRY.format(path=path, package=_PACKAGE)
    return subprocess.Popen(
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        pass_fds=[control.fileno()],
        env=environment,
        cwd="/",
        start_new_session=True,
    )


# The zygote expects its socket at descriptor 3, whatever number it has here.
_MOVE_CONTROL = "import os; os.dup2({fd}, 3, inheritable=False); {fd} == 3 or os.close({fd}); "
