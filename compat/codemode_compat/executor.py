"""``DynamicWorkerExecutor``: upstream's executor, on the engine."""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

from codemode_executor import (
    BadRequest,
    Connector,
    ExecutorClosed,
    IsolateExecutor,
    Limits,
    LogLine,
    Module,
    Provider,
    Tool,
)
from codemode_executor.environment import encode_env

from .contract import ConnectorBinding, ExecuteOptions, ExecuteResult, ResolvedProvider, RetainedExecuteResult
from .dispatcher import checked_functions
from .engines import LONGEST_S, release, shared_engine
from .modules import checked_modules
from .names import refusal
from .outbound import GlobalOutbound, checked_outbound

_MAX_TIMEOUT_MS = 2**31 - 1
_RAW_FNS = (
    "[@cloudflare/codemode] Passing raw fns to executor.execute() is deprecated. Use ResolvedProvider[] instead."
    " This will be removed in the next major version."
)
# What upstream captures of the console, and how it writes it. A notice is the harness's own: further lines are dropped.
_PREFIXES = {"log": "", "warn": "[warn] ", "error": "[error] ", "notice": "[notice] "}


class DynamicWorkerExecutor:
    """Runs programs that a model wrote, each in an isolate of its own.

    It needs no closing: the engine behind it is shared by all executors of an event loop and ends with the loop. It can
    be used on several loops, one after the other or at the same time.

    Args:
        timeout: wall time of a program, waiting for tools included. Milliseconds, at most 2^31 - 1.
        global_outbound: who answers the requests of programs: an object with a method ``fetch``, or such a function,
            which takes an ``OutboundRequest`` and answers an ``OutboundResponse``; or an ``AllowList``. ``None``, and
            leaving it out, blocks the network.
        modules: what programs can import besides ``node:`` modules, by name: the source of an ES module; or a
            ``Module``; or upstream's object of one member, ``{"json": …}``, ``{"text": …}``. The name ``executor.js``
            is reserved and ignored.
        bindings: what programs find as ``this.env``: values as tools return them. Functions anywhere in them can be
            called by the program.
        engine: an ``IsolateExecutor`` of your own to run on, with its limits, its jail and its pool. It stays yours to
            close.

    Raises:
        BadRequest: an argument is unusable; the message names it.

    Mirrors upstream's ``DynamicWorkerExecutor``. There is no ``loader``. Upstream takes any number as ``timeout``, and
    hands ``bindings`` on without looking.
    """

    def __init__(
        self,
        timeout: float = 60_000,
        global_outbound: GlobalOutbound | None = None,
        modules: Mapping[str, str | Module | Mapping[str, Any]] | None = None,
        bindings: Mapping[str, Any] | None = None,
        *,
        engine: IsolateExecutor | None = None,
    ) -> None:
        self._limits = Limits(timeout_s=min(_timeout_ms(timeout) / 1000, LONGEST_S))
        self._outbound = checked_outbound(global_outbound)
        self._modules = checked_modules(modules)
        self._bindings = _checked_bindings(bindings, self._limits)
        if engine is not None and not isinstance(engine, IsolateExecutor):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"engine must be an IsolateExecutor, not {type(engine).__name__}")
        self._engine = engine
        self._program_bytes = (self._limits if engine is None else engine.limits).program_bytes
        self._closed = False
        self._running: set[_Running] = set()

    async def execute(
        self,
        code: str,
        providers_or_fns: Sequence[ResolvedProvider] | Mapping[str, Tool],
        options: ExecuteOptions | None = None,
    ) -> ExecuteResult:
        """Run one program.

        Args:
            code: the program: an async arrow function, statements, or either in a Markdown fence.
            providers_or_fns: the namespaces of tools in its scope. Functions by name are deprecated: they are the
                namespace ``codemode``.
            options: further namespaces.

        Returns:
            The envelope. A program that failed, in whatever way, is in ``error``; so are names of namespaces and tools
            that cannot be used, and a program or module that does not parse.

        Raises:
            BadRequest: an argument is unusable; the message names it, and nothing has run.
            ExecutorClosed: the executor is closed, or was during the run.
            ExecutorError: another fault of the machinery, as ``IsolateExecutor.execute`` lists them.

        Mirrors upstream's ``execute``, which rejects for many things that a program can do.
        """
        if not isinstance(code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"code must be a string, not {type(code).__name__}")
        providers = _checked_providers(providers_or_fns)
        connectors = _checked_connectors(options)
        reason = refusal(providers, connectors) or _too_long(code, self._program_bytes)
        if reason is not None:
            return ExecuteResult(error=reason)
        if self._closed:
            raise ExecutorClosed("the executor is closed")
        logs: list[str] = []

        def keep(line: LogLine) -> None:
            prefix = _PREFIXES.get(line.level)
            if prefix is not None:
                logs.append(prefix + line.text)

        engine = shared_engine(self) if self._engine is None else self._engine
        with _Running(self._running):
            outcome = await engine.execute(
                code,
                providers=[
                    *(Provider(it.name, it.fns, it.prelude or "") for it in providers),
                    *(Connector(it.name, it.binding.call_tool) for it in connectors),
                ],
                env=self._bindings,
                modules=self._modules,
                limits=self._limits,
                outbound=self._outbound,
                on_log=keep,
                retain_handles=options is not None and options.retain_handles,
            )
        if options is not None and options.retain_handles:
            return RetainedExecuteResult(outcome.result, outcome.error, logs, outcome.retained)
        return ExecuteResult(outcome.result, outcome.error, logs)

    async def aclose(self) -> None:
        """Take no more programs, and end those that run: they raise ``ExecutorClosed``. May be called twice.

        The engine's processes end with the last executor that uses them. Upstream has nothing of the kind.
        """
        self._closed = True
        for run in tuple(self._running):
            run.end()
        if self._engine is None:
            await release(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Running:
    """A run in flight, which ``aclose`` can end as ``asyncio.timeout`` ends a block."""

    def __init__(self, all_runs: set[_Running]) -> None:
        self._all = all_runs
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[object]", asyncio.current_task())
        self._ended = False
        self._cancelling = 0

    def end(self) -> None:
        """The caller of ``execute`` gets ``ExecutorClosed``. From any thread."""
        if self._loop is asyncio.get_running_loop():
            self._end()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self in self._all and not self._ended:
            self._ended = True
            self._task.cancel()

    def __enter__(self) -> None:
        self._cancelling = self._task.cancelling()
        self._all.add(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.discard(self)
        if self._ended and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise ExecutorClosed("the executor was closed while the run was in flight") from error


def _timeout_ms(timeout: object) -> float:
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or math.isnan(timeout):
        raise BadRequest(f"timeout must be a number of milliseconds, not {timeout!r}")
    if not 0 < timeout <= _MAX_TIMEOUT_MS:
        raise BadRequest(
            f"timeout is {timeout!r} ms; it must be greater than 0 and at most {_MAX_TIMEOUT_MS} ms (2^31 - 1)"
        )
    return timeout


def _checked_bindings(bindings: object, limits: Limits) -> Mapping[str, Any]:
    if bindings is None:
        return {}
    if not isinstance(bindings, Mapping):
        raise BadRequest(f"bindings must be a mapping of names to values, not {type(bindings).__name__}")
    checked = cast("Mapping[str, Any]", bindings)
    try:
        encode_env(checked, limits)
    except BadRequest as error:
        path = str(error).removeprefix("env cannot be encoded: result")
        raise BadRequest(f"bindings{path}" if path != str(error) else f"bindings: {error}") from error
    return checked


def _too_long(code: str, limit: int) -> str | None:
    """A model wrote it, so this is an outcome, although the native ``execute`` raises for it."""
    size = len(code) if code.isascii() else len(code.encode("utf-8", "replace"))
    return (
        None if size <= limit else f"the program is {size} bytes long; the limit is {limit} bytes: send a shorter one"
    )


def _checked_providers(given: object) -> list[ResolvedProvider]:
    if isinstance(given, Mapping):
        fns = checked_functions(cast(object, given), "providers_or_fns")
        warnings.warn(_RAW_FNS, DeprecationWarning, stacklevel=3)
        return [ResolvedProvider("codemode", fns)]
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise BadRequest(
            f"providers_or_fns must be a list of ResolvedProvider objects, or functions by name, not"
            f" {type(given).__name__}"
        )
    providers: list[ResolvedProvider] = []
    for index, provider in enumerate(cast("Sequence[object]", given)):
        where = f"providers_or_fns[{index}]"
        if not isinstance(provider, ResolvedProvider):
            raise BadRequest(
                f"{where} must be a ResolvedProvider, not {type(provider).__name__}: use resolve_provider, or"
                " ResolvedProvider(name, fns)"
            )
        _check_name(where, provider.name)
        checked_functions(provider.fns, f"{where}.fns")
        if provider.prelude is not None and not isinstance(provider.prelude, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"{where}.prelude must be a string or None, not {type(provider.prelude).__name__}")
        providers.append(provider)
    return providers


def _checked_connectors(options: object) -> list[ConnectorBinding]:
    if options is None:
        return []
    if not isinstance(options, ExecuteOptions):
        raise BadRequest(
            f"options must be ExecuteOptions, not {type(options).__name__}: ExecuteOptions(connectors=[…])"
        )
    if not isinstance(options.retain_handles, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadRequest(f"options.retain_handles must be a bool, not {type(options.retain_handles).__name__}")
    given = cast(object, options.connectors)
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        raise BadRequest(f"options.connectors must be a list of ConnectorBinding objects, not {type(given).__name__}")
    connectors: list[ConnectorBinding] = []
    for index, connector in enumerate(cast("Sequence[object]", given)):
        where = f"options.connectors[{index}]"
        if not isinstance(connector, ConnectorBinding):
            raise BadRequest(f"{where} must be a ConnectorBinding, not {type(connector).__name__}")
        _check_name(where, connector.name)
        if not callable(getattr(connector.binding, "call_tool", None)):
            raise BadRequest(
                f"{where}.binding must have a method call_tool(method, args), which {type(connector.binding).__name__}"
                " has not"
            )
        connectors.append(connector)
    return connectors


def _check_name(where: str, name: object) -> None:
    if not isinstance(name, str):
        raise BadRequest(f"{where}.name must be a string, not {type(name).__name__}")
