"""One run from the host's side. The only place that knows what a run is doing and why it ended."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Awaitable, Callable
from enum import Enum

import msgspec

from .clone_calls import OUTBOUND
from .contract import LogLine
from .ending import CUT_OFF, Ending, ending_of, killed_for_memory, memory_ending, ran_out_of_memory
from .errors import ExecutorClosed, ExecutorError, WorkerCrashed
from .limits import GRACE_S, MIB
from .process import ProtocolError, WorkerProcess, describe_exit
from .request import Request
from .retention import Retention
from .run_logs import RunLogs
from .tool_failure import ToolFailure
from .tools import MAX_NAME
from .usage import processor_seconds, resident_bytes
from .wire import messages as wire
from .zygote import Exit

_WATCH_S = 0.02
#: So often in a row the watch may see nothing of a worker that lives.
_BLIND_LOOKS = 50
_ACCEPT_TIMEOUT_S = 5.0
_HELD_BYTES = 64 * MIB  # arguments of calls that tools have not answered
_OUTCOME_CHARS = 256 * 1024
_CPU_MAX_S = 1e9
_LATE_S = 0.05
_READ_S = 0.5

_log = logging.getLogger("codemode_executor")


class NotAccepted(WorkerCrashed):
    """The worker died before it took the run: nothing of the program has run, so it may be tried elsewhere."""


class RunState(Enum):
    """``RUNNING`` until a bound or the host asks for the end, ``ENDING`` until the end is seen, then ``OVER``."""

    RUNNING = "running"
    ENDING = "ending"
    OVER = "over"


class HostRun:
    """Args:
    run_id: unique within the executor.
    worker: an idle worker; it is busy from now on.
    request: what to run.
    context: the caller's; every tool call runs in a copy of it.
    retained_idle_s: how long a retained run is kept without a call.
    """

    def __init__(
        self,
        run_id: int,
        worker: WorkerProcess,
        request: Request,
        context: contextvars.Context,
        retained_idle_s: float,
    ) -> None:
        self.id = run_id
        self.state = RunState.RUNNING
        self.tool_calls = 0
        self.tool_s = 0.0
        self.bytes_out = 0
        self.bytes_in = 0
        self.memory_peak = 0
        self.started = 0.0
        self.accepted = False
        self.ended = 0.0
        self.tasks: set[asyncio.Task[None]] = set()
        self.retention: Retention | None = None
        self._request = request
        self._worker = worker
        self._table = request.table
        self._limits = limits = request.limits
        self._logs = RunLogs(limits, request.on_log, context)
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.Future[Ending] = self._loop.create_future()
        self._verdict: Ending | None = None
        # Runs out when the worker should have taken the run, then when it should have ended it.
        self._deadline: asyncio.TimerHandle | None = None
        self._watch_timer: asyncio.TimerHandle | None = None
        self._blind_looks = 0
        self._server = request.calls
        self._open_calls: dict[int, int] = {}  # with the size of the arguments
        self._cancellable: dict[int, asyncio.Task[None]] = {}
        self._tools_cancelled = False
        self._judged_late = False
        self._tools_since = 0.0
        self._held_bytes = 0
        self._held = False  # by whoever serves its calls
        # The worker's own copies of a message on its way are not the program's memory.
        self._in_transit = 2 * max(limits.argument_bytes, limits.result_bytes, limits.tool_result_bytes)
        self._cpu_before: float | None = None
        self._retained_idle_s = retained_idle_s
        self._over: asyncio.Future[None] = self._loop.create_future()

    # --- the host -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Hand the program to the worker."""
        limits = self._limits
        request = self._request
        message = wire.Run(
            self.id,
            request.code,
            self._table.specs(),
            request.env,
            wire.RunLimits(
                timeout_s=limits.timeout_s,
                argument_bytes=limits.argument_bytes,
                result_bytes=limits.result_bytes,
                log_bytes=limits.log_bytes,
                log_lines=limits.log_lines,
                tool_calls=limits.tool_calls,
                tool_calls_in_flight=limits.tool_calls_in_flight,
            ),
            request.modules,
            request.normalize,
            self._table.clones,
            request.retain,
            self._table.outbound,
            self._table.services,
        )
        self.started = time.monotonic()
        self.bytes_in += len(request.code.encode()) + sum(len(module.source) for module in request.modules)
        self._deadline = self._loop.call_later(_ACCEPT_TIMEOUT_S, self._not_accepted)
        self._watch_timer = self._loop.call_later(_WATCH_S, self._watch)
        if limits.cpu_s is not None:
            self._cpu_before = processor_seconds(self._worker.pid)
        self._worker.begin(self, message)

    @property
    def logs(self) -> list[LogLine]:
        """What the program has logged so far."""
        return self._logs.lines

    @property
    def retained(self) -> bool:
        """The program has answered, and its answer holds functions that the host may call."""
        return self.retention is not None

    @property
    def wall_s(self) -> float | None:
        """How long the program ran; ``None`` if it did not, or still does."""
        return self.ended - self.started if self.ended and self.accepted else None

    def headroom(self, result_bytes: int) -> dict[str, float]:
        """The part of each bound that the run has left."""
        limits = self._limits
        used = {
            "timeout_s": (self.wall_s or 0.0) / limits.timeout_s,
            "memory_mb": self.memory_peak / (limits.memory_mb * MIB),
            "tool_calls": self.tool_calls / limits.tool_calls,
            "log_bytes": self._logs.bytes / limits.log_bytes,
            "log_lines": self._logs.count / limits.log_lines,
            "result_bytes": result_bytes / limits.result_bytes,
        }
        return {name: max(0.0, 1.0 - part) for name, part in used.items()}

    async def wait(self) -> Ending:
        """The end of the run.

        Raises:
            WorkerCrashed, ExecutorClosed: faults of the machinery.
        """
        return await asyncio.shield(self._ending)

    def cancel(self) -> None:
        """The caller wants no answer any more: end the program and its tool calls."""
        if self.state is not RunState.RUNNING:
            return
        self.state = RunState.ENDING
        self._verdict = Ending(wire.OUTCOME_CANCELLED, message="cancelled")
        self.cancel_tools()
        self._worker.send(wire.Cancel(self.id))
        self._held = False
        self._worker.resume()  # its calls are not taken any more, its answer is
        self._set_deadline(GRACE_S, self._worker.kill, "cancelled")

    def close(self) -> None:
        """The executor is being closed."""
        if self.state is RunState.OVER:
            return
        self.cancel_tools()
        self._worker.kill("closed")
        self._fail(ExecutorClosed("the executor was closed while the run was in flight"))

    def on_accepted(self) -> None:
        """The run has reached the worker; its time runs from now."""
        if self.accepted:
            return
        self.accepted = True
        if self.state is RunState.RUNNING:
            self.started = time.monotonic()
            self._set_deadline(self._limits.timeout_s + GRACE_S, self.on_overdue)

    def _set_deadline(self, delay_s: float, action: Callable[..., None], *args: object) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self._loop.call_later(delay_s, action, *args)

    def _not_accepted(self) -> None:
        self._worker.kill(f"the worker did not take the run within {_ACCEPT_TIMEOUT_S:g} s")

    # --- bounds -------------------------------------------------------------------------------------------------------

    def on_overdue(self) -> None:
        """The worker should have ended the run by now.

        If this host was busy, the worker may have: what it sent is read before it is judged.
        """
        late_s = time.monotonic() - (self.started + self._limits.timeout_s + GRACE_S)
        if late_s > _LATE_S and not self._judged_late:
            self._judged_late = True
            self._set_deadline(_READ_S, self.on_overdue)
            return
        self._kill(Ending(wire.OUTCOME_TIMEOUT, message="Execution timed out", bound="timeout"))

    def _watch(self) -> None:
        self._watch_timer = self._loop.call_later(_WATCH_S, self._watch)
        pid = self._worker.pid
        if self._cpu_before is None:
            self._cpu_before = processor_seconds(pid)
        resident = resident_bytes(pid)
        if resident is None:
            self._not_watched()
        else:
            self._blind_looks = 0
            growth = resident - self._worker.baseline
            self.memory_peak = max(self.memory_peak, growth)
            if growth > self._limits.memory_mb * MIB + self._in_transit:
                self._kill(memory_ending(self._limits, growth))
                return
        if self._limits.cpu_s is not None and self._cpu_before is not None:
            used = processor_seconds(pid)
            if used is not None and used - self._cpu_before > self._limits.cpu_s:
                limit = self._limits.cpu_s
                text = f"processor time limit exceeded: the limit is {limit:g} s (Limits.cpu_s)"
                self._kill(Ending(wire.OUTCOME_TIMEOUT, message=text, bound="cpu"))

    def _not_watched(self) -> None:
        """Memory that nobody sees has no bound. A worker that has ended is heard of by its socket."""
        self._blind_looks += 1
        if self._blind_looks > _BLIND_LOOKS and not self._worker.ended:
            self._worker.kill(f"/proc/{self._worker.pid}/statm cannot be read any more: its memory cannot be watched")

    def _kill(self, verdict: Ending) -> None:
        if self.state is RunState.OVER:
            return
        self.state = RunState.ENDING
        used = processor_seconds(self._worker.pid)
        cpu_s = used - self._cpu_before if used is not None and self._cpu_before is not None else 0.0
        self._verdict = self._verdict or msgspec.structs.replace(verdict, cpu_s=cpu_s)
        self.cancel_tools()
        self._worker.kill(self._verdict.message)

    # --- the worker (RunHandler) --------------------------------------------------------------------------------------

    def on_calls(self, calls: list[wire.Call]) -> None:
        """Tool calls have left the isolate."""
        self.on_accepted()  # whatever it says first: the program runs
        if self.state is not RunState.RUNNING:
            return
        for call in calls:
            if call.call in self._open_calls or len(self._open_calls) >= self._limits.tool_calls_in_flight:
                raise ProtocolError("a tool call twice, or beyond the number in flight")
            self.tool_calls += 1
            self.bytes_out += len(call.args)
            if self.tool_calls > self._limits.tool_calls or len(call.args) > self._limits.argument_bytes:
                raise ProtocolError("tool calls beyond the run's bounds")
            if len(call.tool) > MAX_NAME or len(call.provider) > MAX_NAME:
                raise ProtocolError("a tool call with a name beyond its bound")
            self._held_bytes += len(call.args)
            if not self._open_calls:
                self._tools_since = time.monotonic()
            self._open_calls[call.call] = len(call.args)
            if self._server is None:
                self._begin(call)
        if self._server is not None:
            self._server.serve(self, calls)
        if self._is_held:
            self._worker.pause()  # until tools have taken some of it: the program waits as long

    def on_cancel_call(self, call: int) -> None:
        """Nobody wants the answer to this call any more."""
        task = self._cancellable.pop(call, None)
        if task is not None:
            task.cancel()
            # At once: the program may have made another in its place, and a task that has not begun ends unheard.
            self._call_over(call)
        elif self._server is not None and call in self._open_calls:
            self._server.cancel(call)
            self._call_over(call)

    def on_logs(self, lines: list[tuple[int, str]]) -> None:
        """The program has logged."""
        self.on_accepted()
        if self.state is RunState.OVER:
            return
        self._logs.take(lines)

    def on_outcome(self, outcome: wire.Outcome) -> None:
        """The run is over, as the worker saw it."""
        value = outcome.value
        texts = len(outcome.name) + len(outcome.message) + len(outcome.stack)
        if len(value) > self._limits.result_bytes or texts > _OUTCOME_CHARS or not 0 <= outcome.cpu_s < _CPU_MAX_S:
            raise ProtocolError("an outcome beyond its bounds")
        if self._verdict is not None:
            self._end(self._verdict)  # the end was decided before this came
            return
        self.bytes_out += len(value)
        if outcome.retained and (self.retained or not self._request.retain or outcome.kind != wire.OUTCOME_RESULT):
            raise ProtocolError("a run is retained that was not to be")
        ending = ending_of(outcome, self._limits, len(self._open_calls))
        if outcome.retained:
            self._retain(ending)
            return
        if ending.bound is not None:
            self.cancel_tools()
        self._end(ending)

    # --- after the answer, of a run that is retained ------------------------------------------------------------------

    def _retain(self, ending: Ending) -> None:
        self.ended = time.monotonic()
        if self._deadline is not None:
            self._deadline.cancel()
        self.retention = Retention(self, self._worker, self._limits, self._retained_idle_s)
        if not self._ending.done():
            self._ending.set_result(ending)

    async def over(self) -> None:
        """Wait until nothing of the program runs any more."""
        await asyncio.shield(self._over)

    def when_over(self, done: Callable[[], None]) -> None:
        """``done`` is called when nothing of the program runs any more."""
        self._over.add_done_callback(lambda _: done())

    def on_invoked(self, answer: wire.Invoked | wire.InvokeFailed) -> None:
        """A function of the program has answered."""
        if self.retention is None:
            raise ProtocolError(f"an answer to call {answer.invocation}, which was not made")
        self.retention.on_invoked(answer)

    def on_closed(self) -> bool:
        """The worker's socket is closed. True if it does not matter any more how the process ended."""
        if self._verdict is None:
            return False
        self.on_lost(Exit(None))
        return True

    def on_lost(self, exit: Exit) -> None:
        """The worker process is gone before the run was over."""
        if self.state is RunState.OVER:
            return
        self.cancel_tools()
        if self._verdict is not None:
            self._end(msgspec.structs.replace(self._verdict, hint=CUT_OFF))
        elif ran_out_of_memory(exit, accepted=self.accepted):
            self._end(msgspec.structs.replace(memory_ending(self._limits, None), hint=CUT_OFF))
        elif not self.accepted:
            self._fail(NotAccepted("the worker process ended before it took the run"))
        elif killed_for_memory(exit, self._limits, self.memory_peak):
            self._end(msgspec.structs.replace(memory_ending(self._limits, self.memory_peak), hint=CUT_OFF))
        else:
            reason = self._worker.stop_reason
            text = f"the worker process died: {describe_exit(exit)}"
            self._fail(
                WorkerCrashed(
                    f"{text}: {reason}" if reason else text,
                    exit_status=exit.status,
                    stderr=exit.stderr,
                    logs=tuple(str(line) for line in self.logs),
                )
            )

    # --- whoever serves its calls (CalledRun) -------------------------------------------------------------------------

    @property
    def context(self) -> contextvars.Context:
        """In which its calls are served."""
        return self._context

    def answer_call(self, call: int, answer: bytes | ToolFailure | None) -> None:
        """Answer a call; one that nobody waits for is left alone."""
        if call not in self._open_calls:
            return
        self._call_over(call)
        if self.state is not RunState.RUNNING:
            return
        if isinstance(answer, ToolFailure):
            self._worker.send(wire.ToolFailed(self.id, call, answer.message, answer.extra), held=True)
        else:
            self.bytes_in += len(answer or b"")
            self._worker.send(wire.ToolDone(self.id, call, answer), held=True)

    def send_answers(self) -> None:
        """Hand over what ``answer_call`` was given."""
        self._worker.flush()

    def room(self) -> Awaitable[object] | None:
        """``None``, or what settles when the worker has read more of what was answered."""
        return None if self._worker.is_writable else self._worker.writable()

    def hold(self) -> None:
        """Read nothing from the worker until ``go_on``. Once is enough."""
        if not self._held and self.state is RunState.RUNNING:
            self._held = True
            self._worker.pause()

    def go_on(self) -> None:
        """Undo ``hold``. Once is enough."""
        if self._held:
            self._held = False
            self._read_on()

    # --- inside -------------------------------------------------------------------------------------------------------

    @property
    def _is_held(self) -> bool:
        """Nothing is to be read from the worker: the program waits as long."""
        return self._held or self._held_bytes > _HELD_BYTES

    def _read_on(self) -> None:
        # A worker whose run is over may have another run, whose own business this is.
        if not self._is_held and self.state is not RunState.OVER:
            self._worker.resume()

    def _begin(self, call: wire.Call) -> None:
        task = self._loop.create_task(self._serve(call), context=self._context.copy())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if call.provider == OUTBOUND:
            self._cancellable[call.call] = task
            task.add_done_callback(lambda _, number=call.call: self._cancellable.pop(number, None))

    async def _serve(self, call: wire.Call) -> None:
        """Serve one call. Whatever becomes of the tool, the program hears of it, unless the run is what ended it."""
        answer: wire.ToolDone | wire.ToolFailed
        try:
            value = await self._table.call(call.provider, call.tool, call.args, self._limits.tool_result_bytes)
            answer = wire.ToolDone(self.id, call.call, value)
            self.bytes_in += len(value or b"")
        except ToolFailure as failure:
            answer = wire.ToolFailed(self.id, call.call, failure.message, failure.extra)
        except asyncio.CancelledError:
            if self._tools_cancelled:
                raise
            answer = wire.ToolFailed(self.id, call.call, "the tool call was cancelled", b"{}")
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            _log.exception("a tool raised what is no Exception")
            answer = wire.ToolFailed(self.id, call.call, f"the tool raised {type(error).__name__}", b"{}")
        finally:
            self._call_over(call.call)
        if self.state is RunState.RUNNING:
            await self._worker.writable()
            self._worker.send(answer)
            if not self._open_calls:
                self._worker.flush()  # nothing that could go along is on its way

    def _call_over(self, call: int) -> None:
        args_bytes = self._open_calls.pop(call, None)
        if args_bytes is None:
            return
        was_held = self._held_bytes > _HELD_BYTES
        self._held_bytes -= args_bytes
        if was_held:
            self._read_on()
        if not self._open_calls and self._tools_since:
            self.tool_s += time.monotonic() - self._tools_since
            self._tools_since = 0.0

    def cancel_tools(self) -> None:
        """End the tool calls that are still served."""
        self._tools_cancelled = True
        for task in tuple(self.tasks):
            task.cancel()
        if self._server is not None:
            self._server.cancel_all()

    def _end(self, ending: Ending) -> None:
        if self._settle(ending.message) and not self._ending.done():
            self._ending.set_result(ending)

    def _fail(self, error: ExecutorError) -> None:
        if self._settle(str(error)) and not self._ending.done():
            self._ending.set_exception(error)
            self._ending.exception()  # a cancelled caller does not collect it

    def _settle(self, reason: str) -> bool:
        if self.state is RunState.OVER:
            return False
        self.state = RunState.OVER
        self._held = False
        self._worker.resume()  # what it still says is about itself
        if self.retention is not None:
            self.retention.end(f"the handle is dead: {reason}")
            self.cancel_tools()
        else:
            self.ended = time.monotonic()
        self._over.set_result(None)
        if self._tools_since:
            self.tool_s += self.ended - self._tools_since
            self._tools_since = 0.0
        for timer in (self._deadline, self._watch_timer):
            if timer is not None:
                timer.cancel()
        self._logs.close()
        if self.tasks and not self._tools_cancelled:
            # Calls that nobody awaited go on, but no longer than the run might have.
            left_s = max(0.0, self.started + self._limits.timeout_s - self.ended)
            timer = self._loop.call_later(left_s, self.cancel_tools)
            for task in self.tasks:
                task.add_done_callback(lambda _: None if self.tasks else timer.cancel())
        return True
