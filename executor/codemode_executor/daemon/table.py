"""A run's tools, all of which the client serves. Their values pass as bytes that are checked and not decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from ..clone_calls import ENV, OUTBOUND
from ..contract import Connector, Provider
from ..errors import BadRequest
from ..limits import Limits
from ..threads import BESIDE_LOOP_BYTES, in_thread
from ..tool_failure import ToolFailure
from ..tool_threads import ToolThreads
from ..tools import MAX_NAME, ToolTable
from ..values import ValueRefused
from ..values.tool_codec import decode_json, encode_json
from ..wire import bridge as wire
from ..wire.messages import ProviderSpec

_MAX_PROVIDERS = 1000
_MAX_TOOLS = 10_000
_MAX_FUNCTIONS = 1000
_FORMS = b"012"
_SHOWN = 256


class Caller(Protocol):
    """Has the client serve one call: its answer, as it came."""

    def __call__(self, kind: wire.CallKind, provider: str, tool: str, args: bytes, /) -> Awaitable[bytes]: ...


class RemoteTable(ToolTable):
    """Args:
    run: what the client asked for.
    call: has it serve a call; raises ``ToolFailure`` for a call that failed.
    threads: of the engine.
    on_start: called when a worker takes the run, before anything of it runs.

    Raises:
        BadRequest: names are unusable, or too many.
    """

    def __init__(self, run: wire.Run, call: Caller, threads: ToolThreads, on_start: Callable[[], None]) -> None:
        _check_counts(run)
        self._call = call
        self._on_start = on_start
        self._env_functions = frozenset(run.functions)
        self._methods_of = frozenset(item.name for item in run.providers if item.connector)
        super().__init__(
            [Connector(item.name) if item.connector else Provider(item.name, item.tools, item.prelude) for item in run.providers],
            self._dispatch_text,
            threads,
            dict.fromkeys(run.functions),
            opens_network=run.outbound == "client",
        )

    def specs(self) -> list[ProviderSpec]:
        """The namespaces as the guest sees them: asked for when a worker takes the run."""
        self._on_start()
        return super().specs()

    async def call(self, provider: str, tool: str, args: bytes, max_bytes: int) -> bytes | None:
        """As ``ToolTable.call``."""
        kind, name = self._target(provider, tool)
        answer = await self._call(kind, "" if kind in ("env", "outbound") else provider, name, args)
        if len(answer) > max_bytes:
            raise ToolFailure(
                f"the result of {provider}.{tool} is {len(answer)} bytes long; the limit is {max_bytes} bytes"
                " (Limits.tool_result_bytes)"
            )
        if len(answer) <= BESIDE_LOOP_BYTES:
            return _checked(kind, f"{provider}.{tool}", answer)
        return await in_thread(_checked, kind, f"{provider}.{tool}", answer)

    def _target(self, provider: str, tool: str) -> tuple[wire.CallKind, str]:
        if provider == OUTBOUND:
            if not self.outbound:
                raise ToolFailure(f"nobody serves {provider}.{tool[:_SHOWN]}")
            return "outbound", tool
        if provider == ENV:
            if tool not in self._env_functions:
                raise ToolFailure(f'The RPC receiver does not implement the method "{tool[:_SHOWN]}".')
            return "env", tool
        if provider in self._methods_of:
            return "connector", tool
        table = self._tables.get(provider)
        entry = None if table is None else table.get(tool)
        if entry is None:
            raise ToolFailure(self._not_found(tool, list(table or ())))
        return "tool", entry[0]

    async def _dispatch_text(self, provider: str, tool: str, args_json: str) -> str:
        """What makes declared names served ones; ``call`` goes to the client without texts."""
        raise ToolFailure(f"{provider}.{tool} is served by the client")


def _checked(kind: wire.CallKind, what: str, answer: bytes) -> bytes | None:
    """The answer as the harness reads it.

    Raises:
        ToolFailure: it is not what the protocol says.
    """
    if kind == "tool":
        if not answer:
            return None
        _require_json(what, answer)
        return answer
    check_clone(f"the result of {what}", answer)
    return encode_json(answer.decode("utf-8"))


def check_clone(what: str, text: bytes) -> None:
    """Raises:
    ToolFailure: ``text`` is not the digit of a form and JSON.
    """
    if not text or text[:1] not in (b"0", b"1", b"2"):
        raise ToolFailure(f"{what} does not begin with the digit of a form")
    if text[:1] == b"0":
        if len(text) > 1:
            raise ToolFailure(f"{what} is undefined, and yet has a text")
        return
    _require_json(what, text[1:])


def _require_json(what: str, text: bytes) -> None:
    try:
        text.decode("utf-8")
        msgspec.json.decode(text, type=msgspec.Raw)
    except UnicodeDecodeError:
        raise ToolFailure(f"{what} is not UTF-8") from None
    except (msgspec.DecodeError, RecursionError):
        try:
            decode_json(text)  # escapes of lone surrogates are accepted there
        except ValueRefused as error:
            raise ToolFailure(f"{what} is not JSON: {error}") from None


def _check_counts(run: wire.Run) -> None:
    tools = sum(len(item.tools) for item in run.providers)
    for what, count, limit in (
        ("namespaces", len(run.providers), _MAX_PROVIDERS),
        ("tools", tools, _MAX_TOOLS),
        ("functions in env", len(run.functions), _MAX_FUNCTIONS),
    ):
        if count > limit:
            raise BadRequest(f"{count} {what} were declared; the limit is {limit}")
    for path in run.functions:
        if not 0 < len(path) <= MAX_NAME:
            raise BadRequest(f"a function in env has a path of {len(path)} characters; the limit is {MAX_NAME}")
    for item in run.providers:
        if item.connector and (item.tools or item.prelude):
            raise BadRequest(f"the connector {item.name!r} declares tools or a prelude: it has neither")


def total_prelude_bytes(providers: Sequence[wire.ProviderDeclaration]) -> int:
    """Size of all preludes of a run, UTF-8."""
    return sum(len(item.prelude.encode()) for item in providers)


def failure_of_answer(answer: wire.AnswerError) -> ToolFailure:
    """What the program sees of a call that failed at the client."""
    extra = {
        key: value
        for key in ("name", "code", "details", "cause")
        if isinstance(value := getattr(answer, key), msgspec.Raw)
    }
    return ToolFailure(answer.message or "the tool failed without a message", msgspec.json.encode(extra))


def current_task() -> asyncio.Task[object]:
    """The task that serves a call."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a call is served in a task")
    return task
