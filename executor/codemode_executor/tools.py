"""The host's table of tools: who answers a call that left the isolate."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import logging
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import cast

import msgspec

from .contract import Connector, ConnectorCall, Dispatch, Provider, Tool
from .errors import BadRequest
from .threads import BESIDE_LOOP_BYTES, in_thread
from .values import ValueRefused, decode_args, decode_result, encode_value, sanitize_tool_name
from .values.clone_codec import encode_clone
from .values.names import is_identifier, is_reserved_word
from .values.tool_codec import decode_json, encode_json
from .wire.messages import ProviderSpec

#: The provider of calls through ``this.env``: no identifier, so no provider has this name.
ENV = "this.env"
#: Longest name of a provider or tool, in characters.
MAX_NAME = 256
_MAX_MESSAGE = 65536
_MAX_EXTRA = 1024 * 1024
_MAX_SUGGESTIONS = 16  # a program that guesses names does not get to use the host's time
_MAX_SUGGESTED_FROM = 200
_CLONE_TEXT = re.compile(rb'"[012]')
_log = logging.getLogger("codemode_executor")


class ToolFailure(Exception):
    """A call that ends in an Error in the program.

    Args:
        message: the Error's message, never empty.
        extra: JSON object with any of ``name``, ``code``, ``details``, ``cause``.
    """

    def __init__(self, message: str, extra: bytes = b"{}") -> None:
        super().__init__(message)
        clean = _well_formed(message)
        more = len(clean) - _MAX_MESSAGE
        self.message = clean if more <= 0 else f"{clean[:_MAX_MESSAGE]}… ({more} more characters)"
        self.extra = extra if len(extra) <= _MAX_EXTRA else b"{}"


class ToolTable:
    """Every tool that a run may call, by provider. Names are looked up in these tables and nowhere else.

    Args:
        providers: the namespaces.
        dispatch: serves providers that only declare names.
        functions: what a program may call through ``this.env``, by path.

    Raises:
        BadRequest: a name is not usable, two collide, a tool is not callable, or nobody serves declared names.
    """

    def __init__(
        self,
        providers: Sequence[Provider | Connector],
        dispatch: Dispatch | None,
        threads: ToolThreads,
        functions: Mapping[str, Tool] | None = None,
    ) -> None:
        self._threads = threads
        self._share = asyncio.Semaphore(threads.share)
        self._suggestions = _MAX_SUGGESTIONS
        self._dispatch = dispatch
        self._tables: dict[str, dict[str, tuple[str, Tool | None]]] = {}
        self._connectors: dict[str, ConnectorCall | None] = {}
        self._functions = dict(functions or {})
        self._specs: list[ProviderSpec] = []
        for provider in providers:
            if isinstance(provider, Connector):
                self._add_connector(provider)
            else:
                self._add(provider)

    def specs(self) -> list[ProviderSpec]:
        """The namespaces as the guest sees them."""
        return self._specs

    @property
    def clones(self) -> bool:
        """Some calls cross as by structured clone."""
        return bool(self._connectors or self._functions)

    async def call(self, provider: str, tool: str, args: bytes, max_bytes: int) -> bytes | None:
        """Serve one call.

        Returns:
            JSON of the result; ``None`` for undefined.

        Raises:
            ToolFailure: the tool failed, does not exist, or answered what cannot cross.
        """
        if provider == ENV or provider in self._connectors:
            return _bounded(await self._clone_call(provider, tool, args), f"{provider}.{tool}", max_bytes)
        table = self._tables.get(provider)
        entry = None if table is None else table.get(tool)
        if entry is None:
            raise ToolFailure(self._not_found(tool, list(table or ())))
        name, function = entry
        try:
            if function is None:
                result = await self._by_dispatch(provider, name, args)
            else:
                result = encode_value(await self._threads.invoke(function, await self._decode(args), self._share))
        except ToolFailure:
            raise
        except ValueRefused as error:
            raise ToolFailure(f"{provider}.{name}: {error}") from error
        except (Exception, SystemExit) as error:
            # A tool that calls sys.exit has failed; it does not end its host.
            raise _failure_of(error) from error
        return _bounded(result, f"{provider}.{name}", max_bytes)

    async def _clone_call(self, provider: str, tool: str, args: bytes) -> bytes:
        """A call whose values cross as by structured clone: of a connector, or of a function of ``this.env``."""
        if not args[:1].isdigit():
            raise ToolFailure(f"the argument of {provider}.{tool} has no form")
        target = self._connectors.get(provider)
        try:
            if provider != ENV and target is None:
                return await self._connector_by_dispatch(provider, tool, args)
            value = (
                await in_thread(decode_result, int(args[:1]), args[1:])
                if len(args) > BESIDE_LOOP_BYTES
                else (decode_result(int(args[:1]), args[1:]))
            )
            if provider == ENV:
                function = self._functions.get(tool)
                if function is None:
                    raise ToolFailure(f'The RPC receiver does not implement the method "{tool[:MAX_NAME]}".')
                answer = await self._threads.invoke(function, cast("list[object]", value), self._share)
            else:
                answer = await self._threads.invoke(cast(Tool, target), [tool, value], self._share)
            form, text = encode_clone(answer)
            return encode_json(f"{form}{text.decode('utf-8', 'surrogatepass')}")
        except ToolFailure:
            raise
        except ValueRefused as error:
            raise ToolFailure(f"{provider}.{tool}: {error}") from error
        except (Exception, SystemExit) as error:
            raise _failure_of(error) from error

    async def _connector_by_dispatch(self, provider: str, tool: str, args: bytes) -> bytes:
        dispatch = self._dispatch
        if dispatch is None:  # the constructor refuses this
            raise ToolFailure(f'Tool "{tool}" not found')
        answer = _read_answer(cast(object, await dispatch(provider, tool, args.decode("utf-8", "surrogatepass"))))
        if answer is None or not _CLONE_TEXT.match(answer):
            raise ToolFailure(f"dispatch must answer the connector {provider} with a string of form and text")
        return answer

    async def _by_dispatch(self, provider: str, tool: str, args: bytes) -> bytes | None:
        dispatch = self._dispatch
        if dispatch is None:  # the constructor refuses this
            raise ToolFailure(f'Tool "{tool}" not found')
        _require_array(args)
        answer = cast(object, await dispatch(provider, tool, args.decode("utf-8", "surrogatepass")))
        return _read_answer(answer)

    async def _decode(self, args: bytes) -> list[object]:
        """Long arguments are decoded beside the event loop, which has other runs to serve."""
        if len(args) <= BESIDE_LOOP_BYTES:
            return decode_args(args)
        return await in_thread(decode_args, args)

    def _not_found(self, tool: str, known: list[str]) -> str:
        text = f'Tool "{tool[:MAX_NAME]}" not found'
        if not self._suggestions or len(known) > _MAX_SUGGESTED_FROM or len(tool) > 64:
            return text
        self._suggestions -= 1
        close = difflib.get_close_matches(tool, known, n=3, cutoff=0.7)
        return f"{text}. Did you mean {', '.join(close)}?" if close else text

    def _add(self, provider: Provider) -> None:
        name = provider.name
        if name in self._connectors:
            raise BadRequest(f"Duplicate name {name!r} (connector clashes with provider)")
        if not is_identifier(name) or is_reserved_word(name):
            raise BadRequest(f"Provider name {name!r} is not a valid JavaScript identifier")
        if name in self._tables:
            raise BadRequest(f"Duplicate provider name {name!r}")
        tools = cast(object, provider.tools)
        entries: list[tuple[str, Tool | None]]
        if isinstance(tools, Mapping):
            entries = list(cast(Mapping[str, Tool], tools).items())
        elif isinstance(tools, Sequence) and not isinstance(tools, (str, bytes)):
            entries = [(tool, None) for tool in cast(Sequence[str], tools)]
        else:
            raise BadRequest(f"Provider {name!r}: tools must be a mapping of callables or a list of names")
        table: dict[str, tuple[str, Tool | None]] = {}
        sanitized: dict[str, str] = {}
        for tool, function in entries:
            self._check(name, tool, function)
            short = sanitize_tool_name(tool)
            other = sanitized.setdefault(short, tool)
            if other != tool:
                raise BadRequest(f'Tool names "{other}" and "{tool}" both sanitize to "{short}" in provider "{name}"')
            table[tool] = (tool, function)
        for short, tool in sanitized.items():
            table.setdefault(short, table[tool])
        if not isinstance(provider.prelude, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"Provider {name!r}: prelude must be a string, not {type(provider.prelude).__name__}")
        self._tables[name] = table
        prelude = provider.prelude.encode("utf-8", "replace").decode()
        self._specs.append(ProviderSpec(name, "then" in table, False, prelude))

    def _add_connector(self, connector: Connector) -> None:
        name = connector.name
        if not is_identifier(name) or is_reserved_word(name):
            raise BadRequest(f"Connector name {name!r} is not a valid JavaScript identifier")
        if name in self._tables or name in self._connectors:
            raise BadRequest(f"Duplicate name {name!r} (connector clashes with provider)")
        if connector.call is None:
            if self._dispatch is None:
                raise BadRequest(f"Connector {name!r} has no call; pass dispatch= to serve it, or give a callable")
        elif not callable(connector.call):
            raise BadRequest(f"Connector {name!r}: call is not callable: {connector.call!r}")
        self._connectors[name] = connector.call
        self._specs.append(ProviderSpec(name, False, True))

    def _check(self, provider: str, tool: object, function: object) -> None:
        if not isinstance(tool, str) or not tool or len(tool) > MAX_NAME:
            raise BadRequest(
                f"Provider {provider!r}: tool names must be strings of 1 to {MAX_NAME} characters, not {tool!r}"
            )
        if function is None:
            if self._dispatch is None:
                raise BadRequest(
                    f"Provider {provider!r} only declares {tool!r}; pass dispatch= to serve it, or give a callable"
                )
        elif not callable(function):
            raise BadRequest(f"Provider {provider!r}: the tool {tool!r} is not callable: {function!r}")


class ToolThreads:
    """Threads for tools that are plain functions. Daemons: one that never returns holds nothing open.

    Args:
        maximum: threads at the same time; further calls wait.
    """

    def __init__(self, maximum: int = 64) -> None:
        self._slots = asyncio.Semaphore(maximum)
        #: How many of them one run may hold: the others are for other runs.
        self.share = max(min(maximum, 4), maximum // 4)

    async def invoke(self, function: Tool, args: list[object], share: asyncio.Semaphore) -> object:
        """Call ``function`` where it belongs, in a copy of the caller's context, and await what it gives."""
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
            return await function(*args)
        await share.acquire()
        try:
            await self._slots.acquire()
        except BaseException:
            share.release()
            raise

        def release() -> None:  # only at the thread's end: an abandoned call still has its thread
            self._slots.release()
            share.release()

        result: object = await in_thread(function, *args, on_end=release)
        return await cast(Awaitable[object], result) if inspect.isawaitable(result) else result


def _bounded(result: bytes | None, what: str, max_bytes: int) -> bytes | None:
    if result is not None and len(result) > max_bytes:
        raise ToolFailure(
            f"the result of {what} is {len(result)} bytes long; the limit is {max_bytes} bytes"
            " (Limits.tool_result_bytes)"
        )
    return result


def _read_answer(answer: object) -> bytes | None:
    """``{"result": …}`` or ``{"error": …}`` of a dispatch coroutine."""
    if not isinstance(answer, str):
        raise ToolFailure(f"dispatch must return a JSON string, not {type(answer).__name__}")
    try:
        members = decode_json(answer.encode("utf-8", "replace"))
    except ValueRefused as error:
        raise ToolFailure(f'dispatch must return {{"result": …}} or {{"error": …}} as JSON: {error}') from error
    if not isinstance(members, dict):
        raise ToolFailure('dispatch must return a JSON object, {"result": …} or {"error": …}')
    answered = cast(dict[str, object], members)
    error = answered.get("error")
    if error:
        extra = {key: answered[key] for key in ("name", "code", "details", "cause") if key in answered}
        raise ToolFailure(str(error), encode_json(extra))
    return encode_json(answered["result"]) if "result" in answered else None


def _failure_of(error: BaseException) -> ToolFailure:
    """What the program sees of an exception. Its parts may be properties that raise; they ride along where they can."""
    extra: dict[str, msgspec.Raw] = {"name": msgspec.Raw(msgspec.json.encode(type(error).__name__))}
    for key in ("code", "details"):
        try:
            value = getattr(error, key, None)
            if value is not None and not callable(value):
                extra[key] = msgspec.Raw(encode_value(value))
        except Exception:
            _log.debug("attribute %s of a tool's %s does not cross", key, type(error).__name__, exc_info=True)
    cause = error.__cause__
    if cause is not None:
        extra["cause"] = msgspec.Raw(encode_value(f"{type(cause).__name__}: {_text_of(cause)}"))
    return ToolFailure(_text_of(error) or type(error).__name__, msgspec.json.encode(extra))


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        _log.debug("a tool's %s has no text", type(error).__name__, exc_info=True)
        return ""


def _require_array(args: bytes) -> None:
    """What a host's dispatch is handed is a JSON array, whatever the worker sent.

    Raises:
        ValueRefused: it is not.
    """
    try:
        msgspec.json.decode(args, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        decode_args(args)  # lone surrogates are accepted there


_LONE = re.compile("[\ud800-\udfff]")


def _well_formed(text: str) -> str:
    return _LONE.sub("\ufffd", text)
