"""One run of a connection, from its message to its end."""

from __future__ import annotations

import asyncio
import base64
import binascii
import functools
import logging
from collections.abc import Awaitable
from typing import Protocol

import msgspec

from ..contract import LogLine, Module
from ..errors import BadRequest, ExecutorError, HandleCallFailed
from ..limits import Limits
from ..modules import encode_modules
from ..request import Request
from ..retention import Retention
from ..run import HostRun
from ..tool_failure import ToolFailure
from ..wire import bridge as wire
from .accounts import Account
from .answers import check_clone
from .bindings import checked_env
from .calls import RemoteCalls
from .logs import record
from .outcome import end_of, refusal_of, utf8
from .service import Parent, Service
from .table import remote_table

_MAX_INVOCATIONS = 1000
_INVOCATIONS_END_S = 1.0

_log = logging.getLogger("codemode_executor.daemon")


class Connection(Protocol):
    """What a run needs of its connection."""

    @property
    def number(self) -> int: ...
    @property
    def account(self) -> Account: ...
    def next_call(self) -> int: ...
    def open_invocations(self) -> int: ...
    def put(self, message: wire.ToClient, payload: bytes = b"", *, form: bytes = b"", held: bool = False) -> None: ...
    def put_lazily(self, message: wire.ToClient) -> None: ...
    def flush(self) -> None: ...
    def hold_until(self, room: Awaitable[object]) -> None: ...


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
        self._retention: Retention | None = None
        self._over = asyncio.Event()
        self._calls: RemoteCalls | None = None
        self._queued_bytes = 0
        self._lines: list[tuple[str, str]] = []
        self._invocations: set[asyncio.Task[None]] = set()
        context = None if caller is None or caller.context is None else caller.context.copy()
        self.task = self._loop.create_task(self._carry_out(), name=f"run {message.run}", context=context)

    # --- the client ---------------------------------------------------------------------------------------------------

    def answer(self, message: wire.Answer | wire.AnswerError, payload: bytes) -> None:
        """A call was answered."""
        if self._calls is not None:
            self._calls.answer(message, payload)

    def hold(self) -> None:
        """The client does not read what the program has brought it: the program waits. Once is enough."""
        if self._calls is not None:
            self._calls.hold()

    def go_on(self) -> None:
        """Undo ``hold``."""
        if self._calls is not None:
            self._calls.go_on()

    def answered(self) -> None:
        """The client has answered what it could for now."""
        if self._calls is not None:
            self._calls.flush()

    def cancel(self) -> None:
        """The client wants no answer any more."""
        self._cancelled = True
        if not self._begun:
            return  # a task that is cancelled before its first step would say nothing
        if self._retention is None:
            self.task.cancel()
        else:
            self._retention.dispose()

    def abandon(self) -> None:
        """The client is gone."""
        if self._retention is not None:
            self._retention.dispose("the client is gone")
        self.task.cancel()

    def invoke(self, message: wire.Invoke, args: bytes) -> None:
        """Call a function of the program."""
        try:
            answer = self._invoked(message, args)
        except ExecutorError as error:
            self._say_invocation_failed(message.invocation, error)
            return
        task = self._loop.create_task(self._tell(message.invocation, answer), name=f"invocation {message.invocation}")
        self._invocations.add(task)
        task.add_done_callback(self._invocations.discard)
        self._wait_for_worker()

    def release(self, message: wire.Release) -> None:
        """Functions of the program are not needed any more."""
        if self._retention is not None:
            self._retention.release_all(message.handles)
            self._wait_for_worker()

    def _wait_for_worker(self) -> None:
        if self._calls is not None:
            self._calls.wait_for_worker()

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
                self._end(*end_of(number, run, ending, queue_s))
                if run.retention is not None:
                    await self._retain(run, run.retention)
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
            self._leave_queue()
            self._over_and_done()

    def _leave_queue(self) -> None:
        self._connection.account.queued -= self._queued_bytes
        self._queued_bytes = 0

    def _request(self) -> Request:
        """What the client asked for, checked.

        Raises:
            BadRequest: it is unusable.
        """
        message = self._message
        self._limits = limits = lowered(self._service.limits, message.limits)
        program = len(message.code.encode())
        _check_size("the program", program, limits.program_bytes, "program_bytes")
        preludes = sum(len(provider.prelude.encode()) for provider in message.providers)
        _check_size("the preludes", preludes, limits.program_bytes, "program_bytes")
        _check_size("env", len(self._env), limits.argument_bytes, "argument_bytes")
        env, cloned = checked_env(message, self._env)
        self._env = b""
        modules = encode_modules(_modules(message.modules), limits)
        table = remote_table(message, self._service.engine.threads, cloned_env=cloned)
        self._calls = RemoteCalls(self._connection, message, table, limits, self._parent, self._flush_lines)
        # What the request holds is not kept here for longer than that is.
        kept = message.code if self._service.log_programs else ""
        self._message = msgspec.structs.replace(message, code=kept, modules=[], providers=[])
        size = program + preludes + len(env) + sum(len(module.source) for module in modules)
        self._service.queue(self._connection.account, size)
        self._queued_bytes = size
        return Request(
            code=message.code,
            table=table,
            env=env,
            limits=limits,
            on_log=self._on_log,
            tenant=self._connection.account.name,
            modules=modules,
            normalize=message.normalize,
            retain=message.retain,
            on_admitted=self._on_admitted,
            calls=self._calls,
        )

    def _on_admitted(self) -> None:
        self._accepted = True
        self._leave_queue()
        # What the program does first is seldom long in coming: two messages then wake the client once.
        self._connection.put_lazily(wire.Accepted(run=self._message.run, token=self._token))

    def _end(
        self, message: wire.Result | wire.Failed | wire.Refused | wire.Fault, form: bytes = b"", payload: bytes = b""
    ) -> None:
        self._flush_lines()
        if not (isinstance(message, wire.Result) and message.retained):
            self._over_and_done()
        self._connection.put(message, payload, form=form, held=True)
        self._connection.flush()
        record(_log, "run_ended", **self._described(message))

    def _over_and_done(self) -> None:
        self._ended = True
        if self._calls is not None:
            self._calls.end()

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

    async def _retain(self, run: HostRun, retention: Retention) -> None:
        self._retention = retention
        if self._calls is not None:
            self._calls.attach(run)
        run.when_over(self._over.set)
        if self._cancelled:
            retention.dispose()
        await self._over.wait()
        if self._invocations:
            await asyncio.wait(self._invocations, timeout=_INVOCATIONS_END_S)
        self._flush_lines()
        self._over_and_done()
        self._connection.put(wire.Over(run=self._message.run, message=retention.disposed or "the run is over"))
        record(
            _log,
            "retained_run_over",
            connection=self._connection.number,
            token=self._connection.account.name,
            run=self._message.run,
        )

    async def _tell(self, number: int, answer: Awaitable[tuple[int, bytes]]) -> None:
        """Tell the client the answer of an invocation."""
        try:
            form, value = await answer
        except ExecutorError as error:
            self._say_invocation_failed(number, error)
            return
        if not self._ended:
            self._flush_lines()
            invoked = wire.Invoked(run=self._message.run, invocation=number)
            self._connection.put(invoked, utf8(value), form=b"%d" % form)

    def _say_invocation_failed(self, number: int, error: ExecutorError) -> None:
        if self._ended:
            return
        name, stack = (error.name, error.stack) if isinstance(error, HandleCallFailed) else ("", "")
        self._flush_lines()
        self._connection.put(
            wire.InvokeFailed(
                run=self._message.run, invocation=number, code=error.code, message=str(error), name=name, stack=stack
            )
        )

    def _invoked(self, message: wire.Invoke, args: bytes) -> Awaitable[tuple[int, bytes]]:
        """Raises:
        BadRequest: it is unusable, or one too many.
        HandleDisposed: the run is over.
        """
        retention = self._retention
        if retention is None:
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
        return retention.invoke_now(message.handle, args, timeout_s)


def lowered(widest: Limits, asked: dict[str, int | float | None]) -> Limits:
    """``widest`` with the bounds that ``asked`` sets lower; one that is wider has no effect.

    Raises:
        BadRequest: a bound is unknown or unusable.
    """
    for name in asked:
        if name not in widest.__struct_fields__:
            raise BadRequest(f"there is no limit {name[:60]!r}; there are {', '.join(widest.__struct_fields__)}")
    return _lowered(widest, tuple((name, value, type(value)) for name, value in asked.items()))


@functools.lru_cache(maxsize=64)  # a host asks for the same ones, run after run
def _lowered(widest: Limits, asked: tuple[tuple[str, int | float | None, type], ...]) -> Limits:
    mine = msgspec.structs.asdict(widest)
    given = {name: value for name, value, _ in asked if value is not None}
    try:
        return widest.tightened(msgspec.convert(mine | given, Limits))
    except msgspec.ValidationError as error:
        raise BadRequest(f"the limits are unusable: {error}") from error


def _check_size(what: str, size: int, limit: int, name: str) -> None:
    if size > limit:
        raise BadRequest(f"{what}: {size} bytes; the limit is {limit} bytes (Limits.{name})")


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
