"""The worker's main loop: one socket, one wake-up descriptor, one run at a time."""

from __future__ import annotations

import heapq
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable

import msgspec

from ..jail import JailPolicy, JailReport, apply, require_blocked, run_self_test
from ..jail.errors import JailError
from ..wire import messages as wire
from ..wire.framing import FrameDecoder
from . import channel
from .assets import Bundles
from .isolate import Engine, EngineError, Isolate, Kind, Reply
from .isolates import Isolates
from .outbox import Outbox
from .platform import Platform
from .program import Reading, ReadingCache, decode_reading, reader_request, second_request
from .reaper import Reaper
from .run import GuestRun, State, preludes_of
from .transpiler import Transpiler

_RECEIVE_BYTES = 256 * 1024


class Worker:
    """Args:
    sock: the connected socket to the supervisor.
    engine: this process's V8, initialised, without an isolate.
    isolates: makes those of runs and of the reader.
    bundles: the guest's JavaScript.
    platform: what programs may ask for beyond the language.
    memory_bytes: V8's heap limit for a run.
    max_frame_bytes: largest message accepted.
    one_run: nothing is prepared for a second run.
    """

    def __init__(
        self,
        sock: socket.socket,
        engine: Engine,
        *,
        isolates: Isolates,
        bundles: Bundles,
        platform: Platform,
        memory_bytes: int,
        max_frame_bytes: int,
        one_run: bool,
    ) -> None:
        self._sock = sock
        self._sock.setblocking(False)
        self._engine = engine
        self._isolates = isolates
        self._transpiler = Transpiler(engine, bundles.typescript, bundles.typescript_wasm, memory_bytes)
        self._platform = platform
        self._frames = FrameDecoder(max_frame_bytes)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._outbox = Outbox(sock, self._wake)
        self._events: deque[Callable[[], None]] = deque()
        self._timers: list[tuple[float, int, int]] = []
        self._timer_serial: dict[int, int] = {}
        self._serial = 0
        self._run: GuestRun | None = None
        self._on_post: Callable[[], None] = lambda: None
        self._cache = ReadingCache()
        self._reader: Isolate | None = None
        self._isolate: Isolate | None = None
        self._buffer = memoryview(b"")
        self._ending: GuestRun | None = None
        self._retire = one_run

    @property
    def descriptors(self) -> tuple[int, int]:
        """What the jail has to leave open."""
        return self._sock.fileno(), self._wake

    def seal(self, policy: JailPolicy) -> None:
        """Jail this process, prove it, warm up, and say so to the supervisor. Before any thread exists."""
        try:
            report = apply(policy, self.descriptors)
            self._reaper = Reaper(self._isolate_freed)
            # All that stays: what the worker has from now on is what the supervisor measures a run against.
            self._reader, first = self._isolates.open_first()
            self._attach(first)
            probes = run_self_test()
            require_blocked(probes, report, policy=policy)
        except JailError as error:
            # A zygote that is gone says nothing about the jail.
            self._start_failed(str(error), hardening=error.layer != "parent_death")
        except Exception as error:
            self._start_failed(f"{type(error).__name__}: {error}", hardening=False)
        else:
            self._announce(report, probes)

    def serve(self) -> None:
        """Until the supervisor is gone; never returns."""
        poller = select.poll()
        poller.register(self._wake, select.POLLIN)
        poller.register(self._sock, select.POLLIN)
        writing = False
        while True:
            if writing is not self._outbox.blocked:
                writing = not writing
                poller.modify(self._sock, select.POLLIN | (select.POLLOUT if writing else 0))
            for fd, event in poller.poll(self._poll_ms()):
                if fd == self._wake:
                    os.eventfd_read(self._wake)
                else:
                    if event & select.POLLOUT:
                        self._outbox.pump()
                    if event & ~select.POLLOUT:
                        self._receive()
            while self._events:
                self._events.popleft()()
            self._advance()

    # --- what arrives -------------------------------------------------------------------------------------------------

    def _receive(self) -> None:
        try:
            data = self._sock.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            os._exit(0)
        for frame in self._frames.feed(data):
            self._handle(wire.decode_to_worker(frame))
        if self._run is not None:
            self._run.deliver_answers()

    def _handle(self, message: wire.ToWorker) -> None:
        run = self._run
        if isinstance(message, wire.Run):
            self._start(message)
        elif run is None or run.id != message.run:
            return  # an answer that crossed the run's end on its way
        elif isinstance(message, wire.Cancel):
            run.end(wire.OUTCOME_CANCELLED, "cancelled")
        elif isinstance(message, wire.Invoke):
            run.invoke(message)
        elif isinstance(message, wire.Release):
            run.release(message)
        else:
            run.settle(message)

    def _start(self, message: wire.Run) -> None:
        if self._run is not None or self._isolate is None or self._reader is None:
            raise RuntimeError("a run was sent to a worker that is not idle")
        isolate, self._isolate = self._isolate, None
        self._outbox.rearm()
        self._outbox.send(wire.encode(wire.Accepted(message.run)))
        self._timers.clear()
        self._timer_serial.clear()
        run = self._run = GuestRun(message, isolate, self._buffer, self._platform, self._outbox, self._wake_up)
        self._on_post = run.on_post
        request = reader_request(message.code, message.modules, preludes_of(message))
        known = self._cache.get(request)
        if known is not None:
            run.start(known)
            return
        self._ask_reader(request, lambda reading: self._read(run, request, reading))

    def _ask_reader(self, request: bytes, then: Callable[[Reading | None], None]) -> None:
        """``then`` is called on the main loop; with ``None`` if the reader cannot be used any more."""

        def done(reply: Reply) -> None:
            # Only a text that exhausts the reader's memory leaves it without an answer.
            reading = decode_reading(reply.text) if reply.kind == Kind.STRING else None
            self._later(lambda: then(reading))

        if self._reader is not None:
            self._reader.ask(request, done)

    def _read(self, run: GuestRun, request: bytes, reading: Reading | None) -> None:
        if reading is None or not reading.typescript:
            self._begin(run, request, reading)
            return
        if run.state is not State.READING:
            return

        def transpiled(answers: bytes | None) -> None:
            self._later(lambda: self._read_again(run, request, reading, answers))

        try:
            self._transpiler.ask(msgspec.json.encode(reading.typescript), transpiled)
        except EngineError:
            # Without a compiler, V8 has no WebAssembly: what the reader alone makes of the text stands.
            self._begin(run, request, reading)

    def _read_again(self, run: GuestRun, request: bytes, reading: Reading, answers: bytes | None) -> None:
        """The transpiler has answered: what it made is read as the program."""
        if answers is None:
            self._retire = True
            self._begin(run, request, reading)
            return
        again = second_request(request, reading.typescript, answers)
        self._ask_reader(again, lambda final: self._begin(run, request, final))

    def _begin(self, run: GuestRun, request: bytes, reading: Reading | None) -> None:
        if reading is None:
            self._retire = True
            run.start(Reading(False, name="RangeError", message="the program is too large to be parsed"))
            return
        self._cache.put(request, reading)
        run.start(reading)

    # --- time ---------------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        run = self._run
        if run is None:
            return
        now = time.monotonic()
        if run.timer_requests:
            self._take_timers(run, now)
        while self._timers and self._timers[0][0] <= now:
            _, serial, timer = heapq.heappop(self._timers)
            if self._timer_serial.get(timer) == serial:
                del self._timer_serial[timer]
                run.fire(timer)
        run.tick(now)
        if run.state is State.OVER:
            self._run = None
            if self._retire:
                self._leave(run)
            else:
                self._dispose(run)
        elif run.state is State.STOPPED and self._ending is not run:
            self._ending = run
            self._retire = True
            self._reaper.free(run.isolate)

    def _take_timers(self, run: GuestRun, now: float) -> None:
        while run.timer_requests:
            request = run.timer_requests.popleft()
            if isinstance(request, channel.CancelTimerItem):
                self._timer_serial.pop(request.timer, None)
                continue
            self._serial += 1
            self._timer_serial[request.timer] = self._serial
            # It was set when it was called, which may be a while ago if the program computed since.
            age_s = min(max(0.0, time.time() - request.called_ms / 1000), request.delay_ms / 1000)
            heapq.heappush(self._timers, (now - age_s + request.delay_ms / 1000, self._serial, request.timer))

    def _poll_ms(self) -> float | None:
        run = self._run
        if run is None:
            return None
        if run.state is State.STOPPED:
            return None
        due = run.next_tick()
        if self._timers:
            due = min(due, self._timers[0][0])
        return max(0.0, (due - time.monotonic()) * 1000)

    # --- isolates -----------------------------------------------------------------------------------------------------

    def _attach(self, isolate: Isolate) -> None:
        self._buffer = isolate.attach(self._posted)
        self._isolate = isolate

    def _posted(self) -> None:
        self._on_post()

    def _dispose(self, run: GuestRun) -> None:
        """The run is over: its isolate goes, and when it is gone a fresh one comes."""
        self._on_post = lambda: None
        self._ending = run
        if self._outbox.blocked:
            self._reaper.free(run.isolate)  # which may take long, and what is queued is to be sent meanwhile
            return
        # Nothing else is to be done here. If a program does not let go of it, the supervisor ends this process.
        self._outbox.release()
        run.isolate.free()
        self._gone()

    def _leave(self, run: GuestRun) -> None:
        """The run is over and was the last: its isolate goes with the process."""
        self._outbox.send(wire.encode(wire.Idle(run.id, retire=True)))
        if not self._outbox.blocked:
            os._exit(0)
        # Else it is still being sent; whoever reads it ends this process.

    def _isolate_freed(self, isolate: Isolate) -> None:
        """On the reaper's thread."""
        self._later(self._gone)

    def _gone(self) -> None:
        run, self._ending = self._ending, None
        if run is None:
            return
        if run.state is State.STOPPED:
            run.stopped()
            self._run = None
        self._platform.reset()
        if not self._retire:
            self._attach(self._isolates.open_run())
        self._outbox.send(wire.encode(wire.Idle(run.id, self._retire)))

    # --- waking up ----------------------------------------------------------------------------------------------------

    def _later(self, event: Callable[[], None]) -> None:
        self._events.append(event)
        self._wake_up()

    def _wake_up(self) -> None:
        os.eventfd_write(self._wake, 1)

    def _announce(self, report: JailReport, probes: tuple[object, ...]) -> None:
        self._outbox.send(
            wire.encode(
                wire.Ready(
                    engine="mini-racer",
                    v8=self._engine.version,
                    v8_sandbox=self._engine.sandboxed,
                    jail=report,
                    probes=list(probes),  # pyright: ignore[reportArgumentType]
                    without_snapshots=self._isolates.without_snapshots,
                )
            )
        )

    def _start_failed(self, message: str, *, hardening: bool) -> None:
        self._outbox.send(wire.encode(wire.StartFailed(message, hardening)))
        os._exit(1)
