"""The zygote: a process with V8 loaded and no thread, that forks workers on request.

Started by the supervisor with a clean environment; descriptor 3 is its socket. It is the workers' parent: it reaps
them, keeps the tail of what they wrote to stderr, and says how they ended.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass, field
from typing import NoReturn

from ..jail import JailPolicy, prepare
from ..jail.policy import Hardening, SeccompAction
from ..wire import zygote as wire
from ..wire.framing import FrameDecoder, encode_frame
from . import assets
from .isolate import Engine
from .isolates import Isolates
from .main import Worker
from .platform import Platform

CONTROL_FD = 3
_STDERR_HEAD = 2048
_STDERR_TAIL = 2048
_DRAIN_READS = 16
_MAX_REQUEST = 64 * 1024
_NICE = 10
_OOM_SCORE = 900


@dataclass
class _Child:
    worker: int
    pid: int
    pidfd: int
    stderr: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)

    def drain(self) -> bool:
        """Take in some of what is there of stderr, keeping its start and its end. False at its end.

        V8 says why it aborts first, and then shows a stack that may be long.
        """
        for _ in range(_DRAIN_READS):
            try:
                data = os.read(self.stderr, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            room = _STDERR_HEAD - len(self.head)
            self.head += data[:room]
            self.tail += data[room:]
            del self.tail[:-_STDERR_TAIL]
        return True


class Zygote:
    """Args:
    control: the connected socket to the supervisor.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._frames = FrameDecoder(_MAX_REQUEST)
        self._descriptors: list[int] = []
        self._children: dict[int, _Child] = {}  # by pidfd
        self._by_stderr: dict[int, _Child] = {}
        self._retired = False
        self._setup: wire.Setup | None = None
        self._engine: Engine | None = None
        self._isolates: Isolates | None = None
        self._bundles: assets.Bundles | None = None
        self._platform: Platform | None = None
        self._poller = select.poll()

    def serve(self) -> NoReturn:
        """Until the supervisor is gone, or retired and childless."""
        self._poller.register(self._control, select.POLLIN)
        parent = _pidfd_of_parent()
        if parent is not None:
            self._poller.register(parent, select.POLLIN)
        while True:
            for fd, _ in self._poller.poll():
                if fd == self._control.fileno():
                    self._receive()
                elif fd == parent:
                    self._leave()
                elif fd in self._children:
                    self._reap(self._children[fd])
                elif fd in self._by_stderr and not self._by_stderr[fd].drain():
                    self._poller.unregister(fd)
                    del self._by_stderr[fd]
            if self._retired and not self._children:
                os._exit(0)

    def _receive(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, 65536, 64)
        if not data:
            self._leave()
        self._descriptors += descriptors
        for frame in self._frames.feed(data):
            message = wire.decode_to_zygote(frame)
            if isinstance(message, wire.Setup):
                self._load(message)
            elif isinstance(message, wire.Fork):
                self._answer(message.worker)
            else:
                self._retired = True

    def _leave(self) -> NoReturn:
        """The supervisor is gone. Workers leave on their own; one that cannot is not left behind."""
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
        for child in self._children.values():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child.pid, 0)
        os._exit(0)

    def _load(self, setup: wire.Setup) -> None:
        self._setup = setup
        self._bundles = assets.Bundles.load()
        self._engine = Engine(setup.v8_flags)
        if setup.jitless:
            self._engine.reserve_callbacks()
        self._isolates = Isolates(self._engine, self._bundles, setup.memory_bytes, one_run=setup.one_run)
        self._platform = Platform()
        self._isolates.wait_for_snapshots()
        prepare(_policy(setup))
        # What is here stays. A worker that looked through it for garbage would copy the pages that it shares.
        gc.freeze()
        self._send(wire.Started())

    def _send(self, message: wire.FromZygote, descriptor: int | None = None) -> None:
        frame = encode_frame(wire.encode(message))
        if descriptor is None:
            self._control.sendall(frame)
        else:
            sent = socket.send_fds(self._control, [frame], [descriptor])
            self._control.sendall(frame[sent:])

    def _answer(self, worker: int) -> None:
        """Fork, or say why not. A zygote that ended here would take the workers that it has with it."""
        with contextlib.ExitStack() as opened:
            try:
                if not self._descriptors:
                    # What the operating system does with a descriptor that there is no room for: it drops it.
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
                descriptor = self._descriptors.pop(0)
                opened.callback(os.close, descriptor)
                reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
                opened.callback(os.close, writing)
                with contextlib.ExitStack() as undo:
                    undo.callback(os.close, reading)
                    pid = os.fork()
                    if pid == 0:
                        self._become_worker(descriptor, writing)
                    undo.callback(os.waitpid, pid, 0)
                    undo.callback(os.kill, pid, signal.SIGKILL)
                    child = _Child(worker, pid, os.pidfd_open(pid), reading)
                    undo.pop_all()
            except OSError as error:
                reason = f"fork failed: {error.strerror} ({errno.errorcode.get(error.errno or 0)})"
                self._send(wire.ForkFailed(worker, reason))
                return
        self._children[child.pidfd] = child
        self._by_stderr[child.stderr] = child
        self._poller.register(child.pidfd, select.POLLIN)
        self._poller.register(child.stderr, select.POLLIN)
        self._send(wire.Forked(worker, child.pid), child.pidfd)

    def _become_worker(self, descriptor: int, stderr: int) -> NoReturn:
        status = 1
        try:
            setup, engine, isolates = self._setup, self._engine, self._isolates
            platform, bundles = self._platform, self._bundles
            if setup is None or engine is None or isolates is None or platform is None or bundles is None:
                raise RuntimeError("a worker was asked for before the set-up")
            os.dup2(stderr, 2)
            gc.enable()
            worker = Worker(
                socket.socket(fileno=descriptor),
                engine,
                isolates=isolates,
                bundles=bundles,
                platform=platform,
                memory_bytes=setup.memory_bytes,
                max_frame_bytes=setup.max_frame_bytes,
                one_run=setup.one_run,
            )
            worker.seal(_policy(setup))
            worker.serve()
        except BaseException as error:
            os.write(2, f"worker: {type(error).__name__}: {error}\n".encode(errors="replace")[:2000])
        finally:
            os._exit(status)

    def _reap(self, child: _Child) -> None:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid == 0:
            return
        child.drain()
        self._poller.unregister(child.pidfd)
        if self._by_stderr.pop(child.stderr, None) is not None:
            self._poller.unregister(child.stderr)
        del self._children[child.pidfd]
        os.close(child.pidfd)
        os.close(child.stderr)
        tail = bytes(child.head + child.tail).decode("utf-8", "replace")
        self._send(wire.Exited(child.worker, os.waitstatus_to_exitcode(status), tail))


def _policy(setup: wire.Setup) -> JailPolicy:
    hardening: Hardening = setup.hardening  # pyright: ignore[reportAssignmentType]
    action: SeccompAction = setup.seccomp_action  # pyright: ignore[reportAssignmentType]
    layers: dict[str, Hardening] = setup.layers  # pyright: ignore[reportAssignmentType]
    return JailPolicy(
        hardening=hardening,
        layers=layers,
        executable_memory=not setup.jitless,
        data_bytes=setup.data_headroom_bytes,
        seccomp_action=action,
        # A program that computes must not slow its host down, and when memory runs out it goes first.
        nice=_NICE,
        oom_score_adj=_OOM_SCORE,
    )


def _pidfd_of_parent() -> int | None:
    try:
        return os.pidfd_open(os.getppid())
    except OSError:
        return None  # gone already: the control socket says so next


def main() -> NoReturn:
    """Entry of the process."""
    control = socket.socket(fileno=CONTROL_FD)
    try:
        Zygote(control).serve()
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1)
