"""One run from the worker's side: the program's text, its isolate, its bounds, its outcome.

Two threads are here. The isolate's own brings what the program does (``on_post``); the main loop brings everything
else. What both touch is guarded by ``_lock``.
"""

from __future__ import annotations

import functools
import math
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import Enum

import msgspec

from ..wire import messages as wire
from . import channel
from .host_calls import ANSWER, REGION, REQUEST, HostCalls
from .isolate import Isolate, Kind, Reply
from .logs import LogReader
from .outbox import Outbox
from .platform import Platform
from .program import Reading, Script

#: How long the harness may take to end an idle program before V8 ends it from outside.
SOFT_GRACE_S = 0.02
_LOOK_S = 0.01  # how often memory and unposted log lines are looked at
_LOGS_PER_FRAME = 2000
# What the `fetch` of a service stands on; see their chunk.json.
_OF_SERVICES = ("native", "url", "fetch")


class State(Enum):
    """Where a run is. ``ENDING``: the harness was asked to end it. ``STOPPED``: V8 is being ended from outside."""

    READING = "reading"
    RUNNING = "running"
    ENDING = "ending"
    STOPPED = "stopped"
    OVER = "over"


class GuestRun:
    """Args:
    message: what to run.
    isolate, buffer: a fresh isolate with the harness in it.
    platform: what a program may ask of the worker.
    outbox: where messages of the run go.
    notify: wakes the main loop, which then looks at ``state``, ``timers`` and ``deadline``.
    """

    def __init__(
        self,
        message: wire.Run,
        isolate: Isolate,
        buffer: memoryview,
        platform: Platform,
        outbox: Outbox,
        notify: Callable[[], None],
    ) -> None:
        self.id = message.run
        self.isolate = isolate
        self.state = State.READING
        self.started = time.monotonic()
        self.deadline = self.started + message.limits.timeout_s
        # Filled by the isolate's thread, emptied by the main loop.
        self.timer_requests: deque[channel.TimerItem | channel.CancelTimerItem] = deque()
        self._message = message
        self._limits = message.limits
        self._buffer = buffer
        self._platform = platform
        self._host_calls = HostCalls(platform.operations)
        self._logs = LogReader(buffer)
        self._log_lock = threading.Lock()
        self._outbox = outbox
        self._notify = notify
        self._lock = threading.Lock()
        self._script: Script | None = None
        self._hint = ""
        self._pending: set[int] = set()
        self._retained = False
        self._invocations: dict[int, float] = {}  # deadlines of calls of the host
        self._answers: list[bytes] = []
        self._calls = 0
        self._next_look = self.started
        self._fetching = False
        self._backlog: deque[list[channel.Item]] = deque()
        self._cpu_start = time.process_time()
        self._sent = False
        self._stop_kind = wire.OUTCOME_TIMEOUT
        self._stop_message = ""

    # --- main loop ----------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The program as it was sent."""
        return self._message.code

    def start(self, reading: Reading) -> None:
        """The text is read: run it."""
        if self.state is not State.READING:
            return
        self._hint = reading.hint
        if self._message.normalize:
            value = msgspec.json.encode(reading.normalized)
            self._conclude(self._outcome(wire.OUTCOME_RESULT, form=1, value=value))
            return
        if not reading.ok:
            self._conclude(self._outcome(wire.OUTCOME_TEXT, name=reading.name, message=reading.message))
            return
        self.state = State.RUNNING
        providers = self._message.providers
        self._script = Script(reading, [provider.name for provider in providers], preludes_of(self._message))
        self.isolate.on_failed_delivery(self._on_reply)
        clones = self._message.clones or self._message.retain or self._message.outbound
        chunks = ["clones", *reading.chunks] if clones else reading.chunks
        if self._message.services:
            chunks = [*dict.fromkeys((*chunks, *_OF_SERVICES))]
        self.isolate.deliver(self._configuration(chunks=bool(chunks)))
        if chunks:
            self.isolate.evaluate(self._platform.chunks.script(chunks), self._on_platform_reply)
        for index, module in enumerate(self._script.modules):
            self.isolate.evaluate(module, functools.partial(self._on_module_reply, index))
        self.isolate.evaluate(self._script.source, self._on_reply)

    def end(self, kind: int, message: str) -> None:
        """Ask for the end: softly if the program has started, else at once."""
        if self.state is State.READING:
            self.stop(kind, message)
        elif self.state is State.RUNNING:
            self.state = State.ENDING
            self._stop_kind, self._stop_message = kind, message
            self.deadline = time.monotonic() + SOFT_GRACE_S
            self._outbox.release()
            self.isolate.deliver(msgspec.json.encode([{"kind": _END, "code": kind, "message": message}]))

    def stop(self, kind: int, message: str) -> None:
        """V8 has to be ended from outside. The caller frees the isolate, then calls ``stopped``."""
        if self.state in (State.STOPPED, State.OVER):
            return
        self._take_logs()
        if self.state is not State.ENDING:
            self._stop_kind, self._stop_message = kind, message
        self.state = State.STOPPED
        self._outbox.release()

    def stopped(self) -> None:
        """The isolate is gone; nothing of the program can arrive any more."""
        self._send_outcome(self._outcome(self._stop_kind, message=self._stop_message))

    def tick(self, now: float) -> None:
        """Look at the bounds that nobody announces."""
        if now >= self._next_look and self.state in (State.RUNNING, State.ENDING):
            self._next_look = now + _LOOK_S
            self._take_logs()
            if self.isolate.memory_limit_reached():
                self._out_of_memory()
                return
        if now < self.deadline:
            return
        if self.state in (State.READING, State.RUNNING):
            self.end(wire.OUTCOME_TIMEOUT, "Execution timed out")
        elif self.state is State.ENDING:
            self.stop(self._stop_kind, self._stop_message)

    def next_tick(self) -> float:
        """When ``tick`` wants to be called again at the latest, on the monotonic clock."""
        if self.state in (State.RUNNING, State.ENDING):
            return min(self.deadline, self._next_look)
        return self.deadline

    def settle(self, message: wire.ToolDone | wire.ToolFailed) -> None:
        """A tool has answered. An answer to no call is ignored: the program may have been faster."""
        with self._lock:
            if message.call not in self._pending:
                return
            self._pending.discard(message.call)
        self._answers.append(_answer(message))

    def invoke(self, message: wire.Invoke) -> None:
        """The host calls a function of a program that has answered."""
        if self.state is not State.RUNNING or not self._retained:
            return  # the outcome that says so is on its way
        self._invocations[message.invocation] = time.monotonic() + message.timeout_s
        self.deadline = min(self._invocations.values())
        self.isolate.deliver(
            b'[{"kind":%d,"id":%d,"handle":%d,"args":%b}]'
            % (_INVOKE, message.invocation, message.handle, _json_string(message.args))
        )

    def release(self, message: wire.Release) -> None:
        """The host will not call these functions any more."""
        if self.state is State.RUNNING:
            self.isolate.deliver(b'[{"kind":%d,"handles":%b}]' % (_RELEASE, msgspec.json.encode(message.handles)))

    def _invocation_over(self, invocation: int) -> None:
        with self._lock:
            if self._invocations.pop(invocation, None) is None:
                raise channel.ChannelError(f"an answer to call {invocation}, which was not made")
            self.deadline = min(self._invocations.values(), default=math.inf)

    def deliver_answers(self) -> None:
        """Hand what has arrived to the program, in one delivery."""
        if self._answers and self.state is State.RUNNING:
            self.isolate.deliver(b"[" + b",".join(self._answers) + b"]")
        self._answers.clear()

    def fire(self, timer: int) -> None:
        """A timer is due."""
        if self.state is State.RUNNING:
            self.isolate.deliver(b'[{"kind":%d,"id":%d}]' % (_DUE, timer))

    def _take_logs(self) -> None:
        """Fetch what a program has logged that does not post. If its thread is at it already, leave it to it."""
        if self._script is None or not self._log_lock.acquire(blocking=False):
            return
        try:
            self._send_logs(self._logs.read(), wait=False)
        except channel.ChannelError as error:
            self._distrust(error)
        finally:
            self._log_lock.release()

    def _send_logs(self, lines: list[tuple[int, str]], *, wait: bool) -> None:
        for at in range(0, len(lines), _LOGS_PER_FRAME):
            self._outbox.send(wire.encode(wire.Logs(self.id, lines[at : at + _LOGS_PER_FRAME])), wait=wait)

    def _configuration(self, *, chunks: bool) -> bytes:
        limits = self._limits
        config = {
            "kind": _CONFIGURE,
            "providers": [
                {"name": p.name, "hasThen": p.has_then, "connector": p.connector} for p in self._message.providers
            ],
            "env": msgspec.Raw(self._message.env),
            "seed": struct.unpack("<4I", os.urandom(16)),
            "chunks": chunks,
            "retain": self._message.retain,
            "outbound": self._message.outbound,
            "logBytes": limits.log_bytes,
            "logLines": limits.log_lines,
            "argumentBytes": limits.argument_bytes,
            "resultBytes": limits.result_bytes,
            "callsInFlight": limits.tool_calls_in_flight,
        }
        return msgspec.json.encode([config])

    # --- the isolate's thread -----------------------------------------------------------------------------------------

    def on_post(self) -> None:
        """The harness has written to the buffer."""
        if self.state is State.OVER:
            return
        try:
            with self._log_lock:
                lines = self._logs.read()
                self._logs.rewind()
                self._send_logs(lines, wait=True)
            size = int.from_bytes(self._buffer[:4], "little")
            if size & REQUEST:
                self._answer_host_call(size & ~REQUEST)
            elif size > len(_EMPTY):
                self._arrive(channel.parse_units(bytes(self._buffer[4 : 4 + 2 * size])))
        except Exception as error:
            self._distrust(error)

    def _answer_host_call(self, size: int) -> None:
        """The program waits in this very call: what stands in the buffer when it returns is the answer."""
        if size > REGION:
            raise channel.ChannelError(f"a call of {size} bytes does not fit")
        answer = self._host_calls.exchange(bytes(self._buffer[4 : 4 + size]))
        header = 0
        if answer is not None:
            header = ANSWER + len(answer)
            self._buffer[4 : 4 + len(answer)] = answer
        self._buffer[:4] = header.to_bytes(4, "little")

    def _on_platform_reply(self, reply: Reply) -> None:
        """The chunks were evaluated. A failure of theirs is ours, not the program's."""
        if reply.kind == Kind.EXCEPTION or reply.kind == Kind.PARSE_EXCEPTION:
            text = reply.text[:500].decode(errors="replace")
            self._conclude(
                self._outcome(wire.OUTCOME_THROWN, name="Error", message=f"the platform cannot be set up: {text}")
            )
        else:
            self._on_reply(reply)

    def _on_taken(self, take: channel.TakeItem, reply: Reply) -> None:
        try:
            if reply.kind != Kind.STRING:
                # Out of memory or terminated: the reply to the program's own evaluation says which.
                self._on_reply(reply)
                return
            self._fetching = False
            self._take_in(channel.parse_fetched(take, reply.text))
            while self._backlog and not self._fetching:
                self._arrive(self._backlog.popleft())
        except Exception as error:
            self._distrust(error)

    def _arrive(self, items: list[channel.Item]) -> None:
        """A message: what was sent first is taken in first, also when it is long and has to be fetched."""
        if self._fetching:
            self._backlog.append(items)
        elif len(items) == 1 and isinstance(items[0], channel.TakeItem):
            take = items[0]
            self._fetching = True
            self.isolate.ask(None, lambda reply: self._on_taken(take, reply))
        else:
            self._take_in(items)

    def _on_reply(self, reply: Reply) -> None:
        """The program's script was evaluated, or a delivery failed."""
        if reply.kind < Kind.EXCEPTION:
            return
        if reply.kind == Kind.OUT_OF_MEMORY:
            self._out_of_memory()
        elif reply.kind == Kind.PARSE_EXCEPTION and self._script is not None:
            name, message = self._script.syntax_error(reply.text.decode(errors="replace"))
            self._conclude(self._outcome(wire.OUTCOME_TEXT, name=name, message=message))
        elif reply.kind != Kind.TERMINATED:
            # The harness itself failed, which only a program near the end of its stack or memory brings about.
            self._conclude(
                self._outcome(wire.OUTCOME_THROWN, name="Error", message="the program left the isolate unusable")
            )

    def _on_module_reply(self, index: int, reply: Reply) -> None:
        """A module's script was evaluated, which runs nothing of it yet."""
        if reply.kind == Kind.PARSE_EXCEPTION and self._script is not None:
            name, message = self._script.syntax_error(reply.text.decode(errors="replace"), index)
            self._conclude(self._outcome(wire.OUTCOME_TEXT, name=name, message=message))
        else:
            self._on_reply(reply)

    def _take_in(self, items: list[channel.Item]) -> None:
        calls: dict[int, wire.Call] = {}
        timers: list[channel.TimerItem | channel.CancelTimerItem] = []
        outcome: wire.Outcome | None = None
        for item in items:
            match item:
                case channel.CallItem():
                    self._calls += 1
                    if self._calls > self._limits.tool_calls:
                        outcome = outcome or self._too_many_calls()
                    elif len(item.args) > self._limits.argument_bytes:
                        self.isolate.deliver(b"[" + _answer(self._arguments_too_large(item)) + b"]")
                    else:
                        calls[item.call] = wire.Call(item.call, item.provider, item.tool, item.args)
                case channel.TimerItem() | channel.CancelTimerItem():
                    timers.append(item)
                case channel.CancelCallItem():
                    # One that has not been sent never is; else the host hears of it before those that follow.
                    if calls.pop(item.call, None) is None:
                        with self._lock:
                            self._pending.discard(item.call)
                        self._outbox.send(wire.encode(wire.CancelCall(self.id, item.call)), wait=True)
                case channel.TakeItem():
                    raise channel.ChannelError("a message to be fetched is announced among other items")
                case channel.ResultItem():
                    outcome = self._result(item)
                case channel.InvokedItem():
                    self._invocation_over(item.invocation)
                    self._answered(item)
                case channel.InvokeFailedItem():
                    self._invocation_over(item.invocation)
                    stack = self._script.stack(item.stack[:_STACK_CHARS]) if self._script else ""
                    failed = wire.InvokeFailed(self.id, item.invocation, item.name, item.message, stack)
                    self._outbox.send(wire.encode(failed), wait=True)
                case channel.FailureItem():
                    outcome = self._failure(item)
        if calls:
            with self._lock:
                self._pending.update(calls)
            self._send_calls(list(calls.values()))
        if timers:
            self.timer_requests.extend(timers)
            self._notify()
        if outcome is not None and outcome.retained:
            self._retain(outcome)
        elif outcome is not None:
            self._conclude(outcome)

    def _answered(self, item: channel.InvokedItem) -> None:
        limit = self._limits.result_bytes
        if len(item.value) > limit:
            text = result_too_large(len(item.value), limit)
            self._outbox.send(wire.encode(wire.InvokeFailed(self.id, item.invocation, "Error", text, "")), wait=True)
            return
        self._outbox.send(wire.encode(wire.Invoked(self.id, item.invocation, item.form, item.value)), wait=True)

    def _retain(self, outcome: wire.Outcome) -> None:
        """The program has answered, and the host may call what it answered."""
        if self._retained:
            raise channel.ChannelError("a program answered twice")
        with self._lock:
            self._retained = True
            self.deadline = math.inf
        self._outbox.send(wire.encode(outcome), wait=True)

    def _send_calls(self, calls: list[wire.Call]) -> None:
        """In one message, unless that grew beyond what a frame should be."""
        batch: list[wire.Call] = []
        size = 0
        for call in calls:
            if batch and size + len(call.args) > _CALLS_FRAME_BYTES:
                self._outbox.send(wire.encode(wire.Calls(self.id, batch)), wait=True)
                batch, size = [], 0
            batch.append(call)
            size += len(call.args)
        self._outbox.send(wire.encode(wire.Calls(self.id, batch)), wait=True)

    # --- outcomes -----------------------------------------------------------------------------------------------------

    def _result(self, item: channel.ResultItem) -> wire.Outcome:
        if len(item.value) > self._limits.result_bytes:
            return self._outcome(
                wire.OUTCOME_RESULT_SIZE, message=result_too_large(len(item.value), self._limits.result_bytes)
            )
        outcome = self._outcome(wire.OUTCOME_RESULT, form=item.form, value=item.value)
        return msgspec.structs.replace(outcome, retained=True) if item.retained else outcome

    def _failure(self, item: channel.FailureItem) -> wire.Outcome:
        stack = self._script.stack(item.stack[:_STACK_CHARS]) if self._script else ""
        return self._outcome(item.kind, name=item.name, message=item.message, stack=stack)

    def _too_many_calls(self) -> wire.Outcome:
        limit = self._limits.tool_calls
        return self._outcome(
            wire.OUTCOME_TOOL_CALLS,
            message=f"the program made more than {limit} tool calls; the limit is {limit} (Limits.tool_calls)",
        )

    def _arguments_too_large(self, item: channel.CallItem) -> wire.ToolFailed:
        limit = self._limits.argument_bytes
        return wire.ToolFailed(
            self.id,
            item.call,
            f"The arguments of {item.provider}.{item.tool} are {len(item.args)} bytes long; the limit is {limit} bytes"
            " (Limits.argument_bytes)",
            b"{}",
        )

    def _out_of_memory(self) -> None:
        self._conclude(self._outcome(wire.OUTCOME_MEMORY, message="memory limit exceeded"))

    def _distrust(self, error: Exception) -> None:
        """Something the harness never does. The isolate is given up, and with it the process."""
        text = f"the isolate broke the channel: {type(error).__name__}: {error}\n"
        os.write(2, text.encode(errors="replace")[:500])
        os._exit(_EXIT_DISTRUST)

    def _outcome(
        self,
        kind: int,
        *,
        form: int = 0,
        value: bytes = b"",
        name: str = "",
        message: str = "",
        stack: str = "",
    ) -> wire.Outcome:
        cpu = time.process_time() - self._cpu_start
        return wire.Outcome(self.id, kind, form, value, name, message, stack, cpu, self._hint)

    def _conclude(self, outcome: wire.Outcome) -> None:
        if self.state is State.STOPPED:
            return  # what ended it is said by `stopped`, once the isolate is gone
        self._send_outcome(outcome)
        self._notify()

    def _send_outcome(self, outcome: wire.Outcome) -> None:
        with self._lock:
            if self._sent:
                return
            self._sent = True
            self.state = State.OVER
        self._outbox.send(wire.encode(outcome))


def preludes_of(message: wire.Run) -> list[tuple[str, str]]:
    """``(provider, text)`` of what runs before the program."""
    return [(provider.name, provider.prelude) for provider in message.providers if provider.prelude]


def result_too_large(size: int, limit: int) -> str:
    """Text of the error for a result beyond its bound."""
    return f"the result is {size} bytes long; the limit is {limit} bytes (Limits.result_bytes): return less"


def _answer(message: wire.ToolDone | wire.ToolFailed) -> bytes:
    """A tool's answer as an item for the harness. The value is JSON already and is not looked at again."""
    if isinstance(message, wire.ToolDone):
        if message.value is None:
            return b'{"kind":%d,"id":%d}' % (_OK, message.call)
        return b'{"kind":%d,"id":%d,"value":%b}' % (_OK, message.call, message.value)
    head = b'{"kind":%d,"id":%d,"message":%b' % (_FAILED, message.call, msgspec.json.encode(message.message))
    extra = message.extra[1:-1]
    return head + (b"," + extra if extra else b"") + b"}"


def _json_string(text: bytes) -> bytes:
    return msgspec.json.encode(text.decode("utf-8", "replace"))


# Kinds of items that the harness takes: see `deliver` in executor/guest/src/harness/index.js.
_OK = 0
_FAILED = 1
_DUE = 2
_END = 3
_CONFIGURE = 4
_INVOKE = 5
_RELEASE = 6

_STACK_CHARS = 16384
_CALLS_FRAME_BYTES = 1024 * 1024
_EXIT_DISTRUST = 70
_EMPTY = "[]\n"
