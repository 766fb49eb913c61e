"""The native face: ``IsolateExecutor``, and the one-shot helper for scripts and notebooks."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, cast

from . import jail, machine
from .contract import Connector, Detail, Dispatch, EngineReport, ExecuteResult, Module, Provider
from .ending import Ending
from .engine import Engine
from .environment import encode_env
from .errors import BadRequest, ExecutorClosed, WorkerCrashed
from .limits import Limits
from .modules import encode_modules
from .network import AllowList, OutboundHandler
from .outbound import open_network
from .outcome import error_of, usage_of
from .pool import Isolation, PoolSettings, PoolStats
from .request import OnLog, Request
from .retained import Retained, decode_with_handles
from .run import HostRun
from .threads import beside_loop
from .tools import ToolTable
from .values import ValueRefused, decode_result
from .wire import messages as wire

_DEFAULT_MIN_WORKERS = 2


class IsolateExecutor:
    """Runs programs, each in a V8 isolate made for that one call, inside supervised and jailed worker processes.

    Use it as an async context manager, or close it with ``aclose``; one that is not closed ends with its event loop. It
    serves one event loop at a time. After a fork of the host, the child's copy starts processes of its own.

    Args:
        limits: bounds of every run; a run may be given tighter ones.
        hardening: ``"required"`` (default) refuses to run anything unless every layer of the jail holds and is proved;
            ``"used"`` applies what the system offers; ``"off"`` is for debugging.
        layers: what holds for single layers of the jail, by name (``codemode-executor doctor`` lists them), for example
            ``{"landlock": "required"}``. Namespaces, the empty root and Landlock are used where they are permitted.
        jitless: V8 compiles nothing: programs that compute are two to four times slower, and a worker can make no
            memory executable. TypeScript needs the compiler and is refused.
        isolation: ``"worker"`` (default) gives every run an isolate of its own, in a process that serves one run at a
            time and many in turn; ``"process"`` gives every run a process of its own.
        min_workers: processes that are kept ready.
        max_workers: processes at the same time. A run that waits for its tools holds one. ``None``: 32, or as many as
            fit into 80 % of the machine's or control group's memory. Runs that are started from inside a tool call
            have, for each depth of nesting up to 4, as many workers again, so that they never wait for their callers.
        max_queue: runs that may wait for a worker; a further one raises ``QueueFull``.
        queue_timeout_s: how long one may wait, in seconds; then it raises ``QueueTimeout``.
        max_retained: runs whose handles are alive, at the same time; each holds a worker. See ``retain_handles``.
        retained_idle_s: how long a retained run is kept without a call, in seconds.
        idle_s: how long a worker beyond ``min_workers`` is kept without work, in seconds.
        runs_per_worker: runs after which a worker is replaced.
        zygote_forks: forks after which the process that workers are forked from is renewed, and the address layout that
            they share with it.
        zygote_age_s: seconds after which the same is done.
        tool_threads: threads for tools that are plain functions; further calls of such tools wait.
        allow_overcommit: accept ``max_workers`` times ``Limits.memory_mb`` beyond the memory there is.

    Raises:
        BadRequest: an argument is unusable.

    Mirrors upstream's ``DynamicWorkerExecutor`` in purpose; ``codemode_compat`` has its names.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        hardening: jail.Hardening = "required",
        layers: Mapping[str, jail.Hardening] | None = None,
        jitless: bool = False,
        isolation: Isolation = "worker",
        min_workers: int = _DEFAULT_MIN_WORKERS,
        max_workers: int | None = None,
        max_queue: int = 100,
        queue_timeout_s: float = 30.0,
        idle_s: float = 60.0,
        runs_per_worker: int = 100,
        zygote_forks: int = 256,
        zygote_age_s: float = 900.0,
        tool_threads: int = 64,
        max_retained: int = 16,
        retained_idle_s: float = 60.0,
        allow_overcommit: bool = False,
    ) -> None:
        self._limits = limits or Limits()
        _one_of("hardening", hardening, ("required", "used", "off"))
        try:
            jail.JailPolicy(hardening=hardening, layers=layers or {})
        except (ValueError, AttributeError) as error:
            raise BadRequest(str(error)) from error
        _one_of("isolation", isolation, ("worker", "process"))
        memory = machine.memory_bytes()
        most = machine.default_max_workers(self._limits.memory_mb, memory) if max_workers is None else max_workers
        _count("max_workers", most, 1, 10_000)
        _count("min_workers", min_workers, 0, 10_000)
        if max_workers is not None and min_workers > max_workers and min_workers != _DEFAULT_MIN_WORKERS:
            raise BadRequest(f"min_workers={min_workers} is more than max_workers={max_workers}")
        _count("max_queue", max_queue, 0, 1_000_000)
        _count("runs_per_worker", runs_per_worker, 1, 1_000_000_000)
        _count("zygote_forks", zygote_forks, 1, 1_000_000_000)
        _count("tool_threads", tool_threads, 1, 10_000)
        _count("max_retained", max_retained, 0, 10_000)
        for name, seconds in (
            ("queue_timeout_s", queue_timeout_s),
            ("idle_s", idle_s),
            ("zygote_age_s", zygote_age_s),
            ("retained_idle_s", retained_idle_s),
        ):
            _seconds(name, seconds)
        if not allow_overcommit:
            machine.check(most, self._limits.memory_mb, memory)
        self._settings = PoolSettings(
            min_workers=min(min_workers, most),
            max_workers=most,
            max_queue=max_queue,
            queue_timeout_s=queue_timeout_s,
            idle_s=idle_s,
            runs_per_worker=runs_per_worker,
            isolation=isolation,
            hardening=hardening,
            layers=layers or {},
            jitless=bool(jitless),
            limits=self._limits,
            zygote_forks=zygote_forks,
            zygote_age_s=zygote_age_s,
        )
        self._tool_threads = tool_threads
        self._max_retained = max_retained
        self._retained_idle_s = retained_idle_s
        self._engine: Engine | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        self.engine().pool.warm()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def execute(
        self,
        code: str,
        *,
        providers: Sequence[Provider | Connector] = (),
        dispatch: Dispatch | None = None,
        env: Mapping[str, object] | None = None,
        modules: Mapping[str, str | Module] | None = None,
        limits: Limits | None = None,
        outbound: OutboundHandler | AllowList | None = None,
        on_log: OnLog | None = None,
        tenant: str | None = None,
        retain_handles: bool = False,
    ) -> ExecuteResult:
        """Run one program.

        Args:
            code: the program: an async arrow function, or statements.
            providers: the namespaces of tools in its scope.
            dispatch: serves providers that only declare the names of their tools.
            env: what the program finds as ``this.env``, values as tools return them. Functions anywhere in it can be
                called by the program: they take any number of arguments, which cross as those of a ``Connector``.
            modules: what it can import besides ``node:`` modules, by name. A string is an ES module, unless the end of
                its name says otherwise: ``.json``, ``.cjs``, ``.txt``, ``.md``, ``.html``.
            limits: tighter bounds for this run; a bound that is wider than the executor's has no effect.
            outbound: the way to the network: an async function that answers the program's requests, or an
                ``AllowList``. ``None`` blocks it.
            on_log: called on the event loop with every log line as it arrives.
            retain_handles: functions in the result become ``Handle`` objects, which run in the isolate until
                ``ExecuteResult.retained`` is disposed. Without it a function in a result is an error.
            tenant: on whose behalf. Waiting runs of different tenants are admitted in turn.

        Returns:
            The envelope. A program that failed, in whatever way, is in ``error``.

        Raises:
            BadRequest: an argument is unusable; nothing has run.
            QueueFull, QueueTimeout: no worker was to be had in time; nothing has run.
            RetainedLimit: ``retain_handles`` is set, and ``max_retained`` runs are retained already; nothing has run.
            NestingLimit: started from inside a tool call, more than 4 deep; nothing has run.
            WorkerStartFailed, HardeningUnavailable: no worker can be started; nothing has run.
            WorkerCrashed: the worker died during the run for a reason that is not a bound of it.
            ExecutorClosed: the executor is closed, or was during the run.
        """
        engine = self.engine()
        bounds = self._limits if limits is None else self._limits.tightened(limits)
        _check_code(code, bounds)
        if tenant is not None and not isinstance(tenant, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"tenant must be a string, not {type(tenant).__name__}")
        encoded_env, functions = encode_env(env, bounds)
        modules_sent = encode_modules(modules, bounds)
        async with contextlib.AsyncExitStack() as life:
            network = await open_network(outbound, bounds, life)
            request = Request(
                code=code.encode("utf-8", "replace").decode(),
                table=ToolTable(providers, dispatch, engine.threads, functions, network),
                env=encoded_env,
                limits=bounds,
                on_log=on_log,
                tenant=tenant,
                modules=modules_sent,
                retain=bool(retain_handles),
            )
            run, ending, queue_s = await engine.execute(request)
            if outbound is not None:
                # Calls that nobody awaited go on behind an answer, and so does a retained run.
                run.when_over(functools.partial(_end_life, life.pop_all(), run))
        return cast(ExecuteResult, await beside_loop(len(ending.value), _envelope, run, ending, queue_s))

    @property
    def limits(self) -> Limits:
        """The bounds of every run."""
        return self._limits

    async def normalize(self, code: str) -> str:
        """The string that upstream's ``normalizeCode`` makes of ``code``, or one that runs where that one cannot.

        Raises:
            ExecutorError: as ``execute``.
        """
        engine = self.engine()
        _check_code(code, self._limits)
        request = Request(
            code=code.encode("utf-8", "replace").decode(),
            table=ToolTable((), None, engine.threads),
            env=b"{}",
            limits=self._limits,
            on_log=None,
            tenant=None,
            normalize=True,
        )
        _, ending, _ = await engine.execute(request)
        if ending.kind != wire.OUTCOME_RESULT:
            raise WorkerCrashed(f"the program could not be read: {ending.message}")
        return cast(str, decode_result(ending.form, ending.value))

    async def inspect(self) -> EngineReport:
        """What a worker is made of and what its jail proved, seen from inside and from outside.

        Raises:
            WorkerStartFailed, HardeningUnavailable: no worker can be had.
            ExecutorClosed: the executor is closed.
        """
        return await self.engine().inspect()

    def stats(self) -> PoolStats | None:
        """Counters of the worker pool, ``None`` before the first use."""
        return None if self._engine is None else self._engine.pool.stats

    async def aclose(self) -> None:
        """End every run and every process. Runs in flight raise ``ExecutorClosed``. May be called twice."""
        self._closed = True
        engine = self._engine
        if engine is not None and engine.usable:
            await engine.aclose()

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that live, for operators."""
        if self._engine is None:
            return ()
        return tuple(worker.pid for worker in self._engine.pool.workers if worker.pid)

    def engine(self) -> Engine:
        """The engine of the running event loop, for what stands on requests and raw outcomes: the daemon.

        Raises:
            ExecutorClosed: the executor is closed.
            BadRequest: it serves another event loop.
        """
        if self._closed:
            raise ExecutorClosed("the executor is closed")
        engine = self._engine
        if engine is None or not engine.usable:
            if engine is not None:
                engine.abandon()
            engine = self._engine = Engine(
                self._settings, self._tool_threads, self._max_retained, self._retained_idle_s
            )
        elif engine.loop is not asyncio.get_running_loop():
            raise BadRequest("the executor serves another event loop, which is still open; make one for this loop")
        return engine


def execute_sync(
    code: str,
    *,
    providers: Sequence[Provider | Connector] = (),
    dispatch: Dispatch | None = None,
    env: Mapping[str, object] | None = None,
    modules: Mapping[str, str | Module] | None = None,
    limits: Limits | None = None,
    outbound: OutboundHandler | AllowList | None = None,
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
        async with IsolateExecutor(limits=limits, hardening=hardening, min_workers=1) as executor:
            return await executor.execute(
                code, providers=providers, dispatch=dispatch, env=env, modules=modules, outbound=outbound, on_log=on_log
            )

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


def _end_life(life: contextlib.AsyncExitStack, run: HostRun) -> None:
    """Close what a run had, once its tool calls are over too."""

    async def close() -> None:
        while run.tasks:
            await asyncio.wait(run.tasks)
        await life.aclose()

    task = asyncio.get_running_loop().create_task(close())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


#: The loop itself holds tasks only weakly.
_closing: set[asyncio.Task[None]] = set()


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise BadRequest(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def _count(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadRequest(f"{name} must be a whole number from {low} to {high}, not {value!r}")


def _seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1e9:
        raise BadRequest(f"{name} must be a number of seconds greater than 0, not {value!r}")


def _check_code(code: object, limits: Limits) -> None:
    if not isinstance(code, str):
        raise BadRequest(f"code must be a string, not {type(code).__name__}")
    size = len(code) if code.isascii() else len(code.encode("utf-8", "replace"))
    if size > limits.program_bytes:
        raise BadRequest(
            f"the program is {size} bytes long; the limit is {limits.program_bytes} bytes (Limits.program_bytes)"
        )


def _envelope(run: HostRun, ending: Ending, queue_s: float) -> ExecuteResult:
    usage = usage_of(run, ending, queue_s)
    logs = [str(line) for line in run.logs]
    if ending.kind == wire.OUTCOME_RESULT:
        retention = run.retention
        try:
            if retention is None:
                result = decode_result(ending.form, ending.value)
            else:
                result = decode_with_handles(retention, ending.form, ending.value)
        except ValueRefused as error:
            if retention is not None:
                retention.dispose()
            message = f"the result cannot be decoded: {error}"
            return ExecuteResult(error=message, logs=logs, detail=Detail(name="Error"), usage=usage)
        retained = None if retention is None else Retained(retention)
        return ExecuteResult(result=result, logs=logs, detail=Detail(hint=ending.hint), usage=usage, retained=retained)
    detail = Detail(name=ending.name, stack=ending.stack, bound=ending.bound, hint=ending.hint)
    return ExecuteResult(error=error_of(ending), logs=logs, detail=detail, usage=usage)
