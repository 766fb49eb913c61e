"""The native face: ``IsolateExecutor``, and the one-shot helper for scripts and notebooks."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from . import jail
from .contract import Detail, Dispatch, EngineReport, ExecuteResult, Provider, Usage
from .errors import BadRequest, ExecutorClosed
from .limits import Limits
from .pool import Pool, PoolSettings
from .run import Ending, HostRun, OnLog
from .tools import ToolTable, ToolThreads
from .values import ValueRefused, decode_result, encode_value
from .wire import messages as wire

_NOTHING_RETURNED = "The program returned nothing: end it with `return value`, or with an expression."


class IsolateExecutor:
    """Runs programs, each in a V8 isolate made for that one call, inside supervised and jailed worker processes.

    Use it as an async context manager, or close it with ``aclose``. It belongs to the event loop that it is first used
    on.

    Args:
        limits: bounds of every run; a run may be given tighter ones.
        hardening: ``"required"`` (default) refuses to run anything unless every layer of the jail holds and is proved;
            ``"used"`` applies what the system offers; ``"off"`` is for debugging.
        workers: worker processes.

    Raises:
        BadRequest: an argument is unusable.

    Mirrors upstream's ``DynamicWorkerExecutor`` in purpose; ``codemode_compat`` has its names.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        hardening: jail.Hardening = "required",
        workers: int = 1,
    ) -> None:
        if hardening not in ("required", "used", "off"):
            raise BadRequest(f'hardening must be "required", "used" or "off", not {hardening!r}')
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1000:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"workers must be a whole number from 1 to 1000, not {workers!r}")
        self._limits = limits or Limits()
        self._pool = Pool(PoolSettings(workers=workers, hardening=hardening, limits=self._limits))
        self._threads: ToolThreads | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runs: set[HostRun] = set()
        self._ids = itertools.count(1)
        self._closed = False

    async def __aenter__(self) -> Self:
        self._bind()
        self._pool.warm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def execute(
        self,
        code: str,
        *,
        providers: Sequence[Provider] = (),
        dispatch: Dispatch | None = None,
        env: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        on_log: OnLog | None = None,
    ) -> ExecuteResult:
        """Run one program.

        Args:
            code: the program: an async arrow function, or statements.
            providers: the namespaces of tools in its scope.
            dispatch: serves providers that only declare the names of their tools.
            env: what the program finds as ``this.env``, values as tools return them.
            limits: tighter bounds for this run; a bound that is wider than the executor's has no effect.
            on_log: called on the event loop with every log line as it arrives.

        Returns:
            The envelope. A program that failed, in whatever way, is in ``error``.

        Raises:
            BadRequest: an argument is unusable; nothing has run.
            WorkerStartFailed, HardeningUnavailable: no worker can be had; nothing has run.
            WorkerCrashed: the worker died during the run for a reason that is not a bound of it.
            ExecutorClosed: the executor is closed, or was during the run.
        """
        threads = self._bind()
        bounds = self._limits if limits is None else self._limits.tightened(limits)
        _check_code(code, bounds)
        table = ToolTable(providers, dispatch, threads)
        env_json = _encode_env(env)
        queued = time.monotonic()
        worker = await self._pool.acquire()
        run = HostRun(next(self._ids), worker, table, bounds, on_log, contextvars.copy_context())
        self._runs.add(run)
        try:
            run.start(code.encode("utf-8", "replace").decode(), env_json)
            ending = await run.wait()
        except asyncio.CancelledError:
            run.cancel()
            raise
        finally:
            self._runs.discard(run)
        return _envelope(run, ending, run.started - queued)

    async def inspect(self) -> EngineReport:
        """What a worker is made of and what its jail proved, seen from inside and from outside.

        Raises:
            WorkerStartFailed, HardeningUnavailable: no worker can be had.
            ExecutorClosed: the executor is closed.
        """
        self._bind()
        worker = await self._pool.acquire()
        try:
            return worker.report()
        finally:
            self._pool.give_back(worker)

    async def aclose(self) -> None:
        """End every run and every process. Runs in flight raise ``ExecutorClosed``. May be called twice."""
        self._closed = True
        for run in tuple(self._runs):
            run.close()
        await self._pool.aclose()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that live, for operators."""
        return tuple(worker.pid for worker in self._pool.workers if worker.pid)

    def _bind(self) -> ToolThreads:
        if self._closed:
            raise ExecutorClosed("the executor is closed")
        loop = asyncio.get_running_loop()
        if self._threads is None:
            self._loop = loop
            self._threads = ToolThreads()
        elif self._loop is not loop:
            raise BadRequest("an executor belongs to the event loop that it was first used on; make one for this loop")
        return self._threads


def execute_sync(
    code: str,
    *,
    providers: Sequence[Provider] = (),
    dispatch: Dispatch | None = None,
    env: Mapping[str, object] | None = None,
    limits: Limits | None = None,
    on_log: OnLog | None = None,
    hardening: jail.Hardening = "required",
) -> ExecuteResult:
    """Run one program and wait for it, for scripts and notebooks. Works inside a running event loop too.

    It starts an executor and closes it again, which costs a quarter of a second: use ``IsolateExecutor`` for more than
    one program. Tools run on another thread's event loop.

    Args, returns and raises as ``IsolateExecutor`` and its ``execute``.
    """
    context = contextvars.copy_context()
    outcome: list[ExecuteResult] = []
    failure: list[BaseException] = []
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[ExecuteResult]]] = []

    async def once() -> ExecuteResult:
        task = asyncio.current_task()
        if task is not None:
            running.append((asyncio.get_running_loop(), task))
        async with IsolateExecutor(limits=limits, hardening=hardening) as executor:
            return await executor.execute(code, providers=providers, dispatch=dispatch, env=env, on_log=on_log)

    def work() -> None:
        try:
            outcome.append(context.run(asyncio.run, once()))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="codemode-execute-sync", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:  # an interrupt: take the run down before it is passed on
        for loop, task in running:
            loop.call_soon_threadsafe(task.cancel)
        thread.join(5)
        raise
    if failure:
        raise failure[0]
    return outcome[0]


def _check_code(code: object, limits: Limits) -> None:
    if not isinstance(code, str):
        raise BadRequest(f"code must be a string, not {type(code).__name__}")
    size = len(code) if code.isascii() else len(code.encode("utf-8", "replace"))
    if size > limits.program_bytes:
        raise BadRequest(
            f"the program is {size} bytes long; the limit is {limits.program_bytes} bytes (Limits.program_bytes)"
        )


def _encode_env(env: Mapping[str, object] | None) -> bytes:
    if env is None:
        return b"{}"
    try:
        return encode_value(dict(env))
    except ValueRefused as error:
        raise BadRequest(f"env cannot be encoded: {error}") from error


def _envelope(run: HostRun, ending: Ending, queue_s: float) -> ExecuteResult:
    usage = Usage(
        queue_s=queue_s,
        wall_s=run.ended - run.started,
        cpu_s=ending.cpu_s,
        tool_s=run.tool_s,
        memory_peak=run.memory_peak,
        tool_calls=run.tool_calls,
        bytes_out=run.bytes_out,
        bytes_in=run.bytes_in,
    )
    logs = [str(line) for line in run.logs]
    if ending.kind == wire.OUTCOME_RESULT:
        try:
            result = decode_result(ending.value)
        except ValueRefused as error:
            message = f"the result cannot be decoded: {error}"
            return ExecuteResult(error=message, logs=logs, detail=Detail(name="Error"), usage=usage)
        hint = _NOTHING_RETURNED if ending.value is None else ""
        return ExecuteResult(result=result, logs=logs, detail=Detail(hint=hint), usage=usage)
    message = ending.message
    if ending.kind == wire.OUTCOME_TEXT and ending.name:
        message = f"{ending.name}: {message}"
    detail = Detail(name=ending.name, stack=ending.stack, bound=ending.bound)
    return ExecuteResult(error=message or "the program failed without a message", logs=logs, detail=detail, usage=usage)
