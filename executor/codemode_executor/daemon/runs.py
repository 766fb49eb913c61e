"""One run of a connection, from its message to its end."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextvars
import logging
from collections.abc import Awaitable
from typing import Protocol

import msgspec

from ..contract import LogLine, Module
from ..errors import BadRequest, ExecutorError, HandleCallFailed
from ..limits import Limits
from ..modules import encode_modules
from ..request import Request
from ..run import HostRun
from ..tool_failure import ToolFailure
from ..values import ValueRefused
from ..values.tool_codec import decode_json
from ..wire import bridge as wire
from .accounts import Account
from .logs import record
from .outcome import end_of, refusal_of, utf8
from .protocol import State
from .service import Parent, Service
from .table import check_clone, failure_of_answer, remote_table

_MAX_INVOCATIONS = 1000
_INVOCATIONS_END_S = 1.0

_log = logging.getLogger("codemode_executor.daemon")


class Connection(Protocol):
    """What a run needs of its connection."""

    @property
    def number(self) -> int: ...
    @property
    def account(self) -> Account: ...
    @property
    def state(self) -> State: ...
    def next_call(self) -> int: ...
    def open_invocations(self) -> int: ...
    def put(self, message: wire.ToClient, payload: bytes = b"") -> None: ...


class RemoteRun:
    """Args:
    service: what all connections share.
    connection: the client that asked for it, serves its calls and gets its answer.
    message, env: what it asked for.
    """

    def __init__(self, service: Service, connection: Connection, message: wire.Run, env: bytes) -> None:
        self._service = service
        self._connection = connection
        self._message = message
        self._env = env
        self._loop = asyncio.get_running_loop()
        caller = service.parent(message.parent, connection.account) if message.parent else None
        self._parent = Parent(connection.account, 0 if caller is None else caller.depth + 1)
        self._token = ""
        self._begun = False
        self._accepted = False
        self._ended = False
        self._cancelled = False
        self._limits = service.limits
        self._host_run: HostRun | None = None
        self._over = asyncio.Event()
        self._calls: dict[int, tuple[asyncio.Future[bytes], asyncio.Task[object]]] = {}
        self._lines: list[tuple[str, str]] = []
        self._invocations: set[asyncio.Task[None]] = set()
        context = None if caller is None or caller.context is None else caller.context.copy()
        self.task = self._loop.create_task(self._carry_out(), name=f"run {message.run}", context=context)

    # --- the client ---------------------------------------------------------------------------------------------------

    def answer(self, message: wire.Answer | wire.AnswerError, payload: bytes) -> asyncio.Task[object] | None:
        """A call was answered: the task that hands the answer to the engine."""
        future, task = self._calls.get(message.call, (None, None))
        if future is None or future.done():
            return None
        if isinstance(message, wire.Answer):
            future.set_result(payload)
        else:
            future.set_exception(failure_of_answer(message))
        return task

    def cancel(self) -> None:
        """The client wants no answer any more."""
        self._cancelled = True
        if not self._begun:
            return  # a task that is cancelled before its first step would say nothing
        if self._host_run is None:
            self.task.cancel()
        else:
            self._host_run.dispose("the handle was disposed")

    def abandon(self) -> None:
        """The client is gone."""
        if self._host_run is not None:
            self._host_run.dispose("the client is gone")
        self.task.cancel()

    def invoke(self, message: wire.Invoke, args: bytes) -> None:
        """Call a function of the program."""
        task = self._loop.create_task(self._invoke(message, args), name=f"invocation {message.invocation}")
        self._invocations.add(task)
        task.add_done_callback(self._invocations.discard)

    def release(self, message: wire.Release) -> None:
        """Functions of the program are not needed any more."""
        if self._host_run is not None:
            for handle in message.handles:
                self._host_run.release(handle)

    # --- its life -----------------------------------------------------------------------------------------------------

    async def _carry_out(self) -> None:
        number = self._message.run
        self._begun = True
        try:
            if self._cancelled:
                raise asyncio.CancelledError
            with (
                self._service.admitted(self._connection.account, self._parent.depth),
                self._service.known_as_parent(self._parent) as self._token,
            ):
                run, ending, queue_s = await self._service.engine.execute(self._request())
                message, payload = end_of(number, run, ending, queue_s)
                self._end(message, payload)
                if run.retained:
                    await self._retain(run)
        except ExecutorError as error:
            self._fail(error.code, str(error), error)
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            self._fail("CANCELLED", "the client cancelled the run")
        except Exception:
            _log.exception("run %d of connection %d failed", number, self._connection.number)
            self._fail("INTERNAL", "the daemon failed to carry the run out; its log says more")
        finally:
            self._ended = True
            for future, _ in self._calls.values():
                if not future.done():
                    future.set_exception(ToolFailure("the run is over"))

    def _request(self) -> Request:
        """What the client asked for, checked.

        Raises:
            BadRequest: it is unusable.
        """
        message = self._message
        self._limits = limits = lowered(self._service.limits, message.limits)
        _check_size("the program", len(message.code.encode()), limits.program_bytes, "program_bytes")
        preludes = sum(len(provider.prelude.encode()) for provider in message.providers)
        _check_size("the preludes", preludes, limits.program_bytes, "program_bytes")
        _check_size("env", len(self._env), limits.argument_bytes, "argument_bytes")
        return Request(
            code=message.code,
            table=remote_table(message, self._call, self._service.engine.threads),
            env=_checked_env(self._env),
            limits=limits,
            on_log=self._on_log,
            tenant=self._connection.account.name,
            modules=encode_modules(_modules(message.modules), limits),
            normalize=message.normalize,
            retain=message.retain,
            on_admitted=self._on_admitted,
        )

    def _on_admitted(self) -> None:
        self._accepted = True
        self._connection.put(wire.Accepted(run=self._message.run, token=self._token))

    def _end(self, message: wire.Result | wire.Failed | wire.Refused | wire.Fault, payload: bytes = b"") -> None:
        self._flush_lines()
        if not (isinstance(message, wire.Result) and message.retained):
            self._ended = True
        self._connection.put(message, payload)
        record(_log, "run_ended", **self._described(message))

    def _fail(self, code: str, text: str, error: ExecutorError | None = None) -> None:
        number = self._message.run
        if self._accepted:
            self._end(wire.Fault(run=number, code=code, message=text))
        elif error is not None:
            self._end(refusal_of(number, error))
        else:
            self._end(wire.Refused(run=number, code=code, message=text))

    def _described(self, message: wire.Result | wire.Failed | wire.Refused | wire.Fault) -> dict[str, object]:
        """The end of the run for the log: no text or value of it, unless the log is to have them."""
        fields: dict[str, object] = {
            "connection": self._connection.number,
            "token": self._connection.account.name,
            "run": self._message.run,
            "end": type(message).__struct_config__.tag,
            "depth": self._parent.depth,
        }
        if isinstance(message, (wire.Refused, wire.Fault)):
            fields |= {"code": message.code}
        else:
            fields |= msgspec.structs.asdict(message.usage)
            del fields["headroom"]
        if isinstance(message, wire.Failed):
            fields |= {"bound": message.bound}
        if self._service.log_programs:
            fields |= {"program": self._message.code}
            if not isinstance(message, wire.Result):
                fields |= {"message": message.message}
        return fields

    # --- what the program does ----------------------------------------------------------------------------------------

    async def _call(self, kind: wire.CallKind, provider: str, tool: str, args: bytes) -> bytes:
        """Have the client serve a call.

        Raises:
            ToolFailure: it failed.
        """
        if self._ended:
            raise ToolFailure("the run is over")
        if self._parent.context is None:
            self._parent.context = contextvars.copy_context()
        self._flush_lines()
        run = self._message.run
        number = self._connection.next_call()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a call is served in a task of its own")
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._calls[number] = (future, task)
        call = wire.Call(run=run, call=number, kind=kind, provider=provider, tool=tool)
        self._connection.put(call, utf8(args))
        try:
            return await future
        except asyncio.CancelledError:
            if not future.done() or future.cancelled():
                self._unwanted(run, number)
            raise
        finally:
            del self._calls[number]

    def _unwanted(self, run: int, call: int) -> None:
        if not self._ended and self._connection.state in (State.RUNNING, State.RETAINED):
            self._connection.put(wire.CancelCall(run=run, call=call))

    def _on_log(self, line: LogLine) -> None:
        """Lines of the same turn of the event loop leave together."""
        if not self._lines:
            self._loop.call_soon(self._flush_lines)
        self._lines.append((line.level, line.text))

    def _flush_lines(self) -> None:
        if self._lines and not self._ended:
            lines, self._lines = self._lines, []
            self._connection.put(wire.Logs(run=self._message.run, lines=lines))

    # --- after a result that holds functions --------------------------------------------------------------------------

    async def _retain(self, run: HostRun) -> None:
        self._host_run = run
        run.when_over(self._over.set)
        if self._cancelled:
            run.dispose("the handle was disposed")
        await self._over.wait()
        if self._invocations:
            await asyncio.wait(self._invocations, timeout=_INVOCATIONS_END_S)
        self._flush_lines()
        self._ended = True
        self._connection.put(wire.Over(run=self._message.run, message=run.disposed or "the run is over"))
        record(
            _log,
            "retained_run_over",
            connection=self._connection.number,
            token=self._connection.account.name,
            run=self._message.run,
        )

    async def _invoke(self, message: wire.Invoke, args: bytes) -> None:
        number = message.invocation
        answer: tuple[wire.Invoked | wire.InvokeFailed, bytes]
        try:
            form, value = await self._invoked(message, args)
            answer = wire.Invoked(run=message.run, invocation=number), utf8(b"%d%b" % (form, value))
        except ExecutorError as error:
            name, stack = (error.name, error.stack) if isinstance(error, HandleCallFailed) else ("", "")
            failed = wire.InvokeFailed(
                run=message.run, invocation=number, code=error.code, message=str(error), name=name, stack=stack
            )
            answer = failed, b""
        if not self._ended:
            self._flush_lines()
            self._connection.put(*answer)

    def _invoked(self, message: wire.Invoke, args: bytes) -> Awaitable[tuple[int, bytes]]:
        run = self._host_run
        if run is None:
            raise BadRequest("the run is not retained")
        if self._connection.open_invocations() > _MAX_INVOCATIONS:
            raise BadRequest(f"more than {_MAX_INVOCATIONS} calls of functions of the run wait for their answers")
        _check_size("the arguments", len(args), self._limits.argument_bytes, "argument_bytes")
        try:
            check_clone("the list of arguments", args)
        except ToolFailure as failure:
            raise BadRequest(failure.message) from failure
        timeout_s = self._limits.timeout_s
        if message.timeout_s is not None:
            timeout_s = min(timeout_s, message.timeout_s)
        return run.invoke(message.handle, args, timeout_s)


def lowered(widest: Limits, asked: dict[str, int | float | None]) -> Limits:
    """``widest`` with the bounds that ``asked`` sets lower; one that is wider has no effect.

    Raises:
        BadRequest: a bound is unknown or unusable.
    """
    for name in asked:
        if name not in widest.__struct_fields__:
            raise BadRequest(f"there is no limit {name[:60]!r}; there are {', '.join(widest.__struct_fields__)}")
    mine = msgspec.structs.asdict(widest)
    given = {name: value for name, value in asked.items() if value is not None}
    try:
        return widest.tightened(msgspec.convert(mine | given, Limits))
    except msgspec.ValidationError as error:
        raise BadRequest(f"the limits are unusable: {error}") from error


def _check_size(what: str, size: int, limit: int, name: str) -> None:
    if size > limit:
        raise BadRequest(f"{what}: {size} bytes; the limit is {limit} bytes (Limits.{name})")


def _checked_env(env: bytes) -> bytes:
    if not env:
        return b"{}"
    try:
        if not isinstance(decode_json(env), dict):
            raise BadRequest("env must be a JSON object")
    except ValueRefused as error:
        raise BadRequest(f"env is unusable: {error}") from error
    return env


def _modules(declared: list[wire.ModuleDeclaration]) -> dict[str, str | Module]:
    modules: dict[str, str | Module] = {}
    for item in declared:
        if item.name in modules:
            raise BadRequest(f"the module {item.name[:60]!r} is given twice")
        modules[item.name] = _module(item)
    return modules


def _module(item: wire.ModuleDeclaration) -> str | Module:
    if item.kind is None:
        return item.source
    if item.kind != "data":
        return Module(item.source, item.kind)
    try:
        return Module(base64.b64decode(item.source, validate=True), "data")
    except (binascii.Error, ValueError) as error:
        raise BadRequest(
            f"module {item.name[:60]!r} is of kind 'data', and its source is not base64: {error}"
        ) from None
