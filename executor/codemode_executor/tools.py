"""The host's table of tools: who answers a call that left the isolate."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import cast

import msgspec

from .clone_calls import CloneCalls, Outbound
from .contract import Connector, Dispatch, Provider, Tool
from .errors import BadRequest
from .threads import beside_loop
from .tool_failure import ToolFailure, failure_of, read_answer
from .tool_threads import ToolThreads
from .values import ValueRefused, decode_args, encode_value, sanitize_tool_name
from .values.names import is_identifier, is_reserved_word
from .wire.messages import ProviderSpec

#: Longest name of a provider or tool, in characters.
MAX_NAME = 256
_MAX_SUGGESTIONS = 16  # a program that guesses names does not get to use the host's time
_MAX_SUGGESTED_FROM = 200


class ToolTable:
    """Every tool that a run may call, by provider. Names are looked up in these tables and nowhere else.

    Args:
        providers: the namespaces.
        dispatch: serves providers that only declare names.
        functions: what a program may call through ``this.env``, by path; ``None`` for one that ``dispatch`` serves.
        services: paths in ``this.env`` under which it may call any member; served elsewhere.
        cloned_env: ``this.env`` is clone text.
        outbound: serves requests to the network; ``None`` where it is blocked, or ``dispatch`` serves them.
        opens_network: requests to the network are served.
        served_elsewhere: whoever takes the run's calls serves all that only has a name; see ``resolve``.

    Raises:
        BadRequest: a name is not usable, two collide, a tool is not callable, or nobody serves declared names.
    """

    def __init__(
        self,
        providers: Sequence[Provider | Connector],
        dispatch: Dispatch | None,
        threads: ToolThreads,
        functions: Mapping[str, Tool | None] | None = None,
        outbound: Outbound | None = None,
        *,
        opens_network: bool | None = None,
        services: Collection[str] = (),
        cloned_env: bool = False,
        served_elsewhere: bool = False,
    ) -> None:
        self._threads = threads
        self._share = asyncio.Semaphore(threads.share)
        self._clone_calls = CloneCalls(
            dispatch, threads, self._share, functions or {}, outbound, served_elsewhere, services
        )
        self._cloned_env = cloned_env
        self.services = bool(services)
        self.outbound = outbound is not None if opens_network is None else opens_network
        self._suggestions = _MAX_SUGGESTIONS
        self._dispatch = dispatch
        self._served_elsewhere = served_elsewhere
        self._tables: dict[str, dict[str, tuple[str, Tool | None]]] = {}
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
        """Some calls, or ``this.env``, cross as by structured clone."""
        return self._cloned_env or bool(self._clone_calls)

    def resolve(self, provider: str, tool: str, args: bytes) -> str:
        """The name that was declared for what a program calls; its arguments have the form that they must have.

        Raises:
            ToolFailure: there is no such tool, or these are no arguments.
        """
        if provider in self._clone_calls:
            self._clone_calls.check(provider, tool, args)
            return tool
        table = self._tables.get(provider)
        entry = None if table is None else table.get(tool)
        if entry is None:
            raise ToolFailure(self._not_found(tool, list(table or ())))
        try:
            _require_array(args)
        except ValueRefused as error:
            raise ToolFailure(f"{provider}.{entry[0]}: {error}") from error
        return entry[0]

    async def call(self, provider: str, tool: str, args: bytes, max_bytes: int) -> bytes | None:
        """Serve one call.

        Returns:
            JSON of the result; ``None`` for undefined.

        Raises:
            ToolFailure: the tool failed, does not exist, or answered what cannot cross.
        """
        if provider in self._clone_calls:
            return bounded(await self._clone_calls.call(provider, tool, args), f"{provider}.{tool}", max_bytes)
        table = self._tables.get(provider)
        entry = None if table is None else table.get(tool)
        if entry is None:
            raise ToolFailure(self._not_found(tool, list(table or ())))
        name, function = entry
        try:
            if function is None:
                result = await self._by_dispatch(provider, name, args)
            else:
                arguments = cast("list[object]", await beside_loop(len(args), decode_args, args))
                result = encode_value(await self._threads.invoke(function, arguments, self._share))
        except ToolFailure:
            raise
        except ValueRefused as error:
            raise ToolFailure(f"{provider}.{name}: {error}") from error
        except (Exception, SystemExit) as error:
            # A tool that calls sys.exit has failed; it does not end its host.
            raise failure_of(error) from error
        return bounded(result, f"{provider}.{name}", max_bytes)

    async def _by_dispatch(self, provider: str, tool: str, args: bytes) -> bytes | None:
        _require_array(args)
        dispatch = self._dispatch
        if dispatch is None:  # the constructor refuses this
            raise ToolFailure(f'Tool "{tool}" not found')
        answer = cast(object, await dispatch(provider, tool, args.decode("utf-8", "surrogatepass")))
        return read_answer(answer)

    def _not_found(self, tool: str, known: list[str]) -> str:
        text = f'Tool "{tool[:MAX_NAME]}" not found'
        if not self._suggestions or len(known) > _MAX_SUGGESTED_FROM or len(tool) > 64:
            return text
        self._suggestions -= 1
        close = difflib.get_close_matches(tool, known, n=3, cutoff=0.7)
        return f"{text}. Did you mean {', '.join(close)}?" if close else text

    def _add(self, provider: Provider) -> None:
        name = provider.name
        if name in self._clone_calls:
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
        if name in self._tables or name in self._clone_calls:
            raise BadRequest(f"Duplicate name {name!r} (connector clashes with provider)")
        self._clone_calls.add(connector)
        self._specs.append(ProviderSpec(name, False, True))

    def _check(self, provider: str, tool: object, function: object) -> None:
        if not isinstance(tool, str) or not tool or len(tool) > MAX_NAME:
            raise BadRequest(
                f"Provider {provider!r}: tool names must be strings of 1 to {MAX_NAME} characters, not {tool!r}"
            )
        if function is None:
            if self._dispatch is None and not self._served_elsewhere:
                raise BadRequest(
                    f"Provider {provider!r} only declares {tool!r}; pass dispatch= to serve it, or give a callable"
                )
        elif not callable(function):
            raise BadRequest(f"Provider {provider!r}: the tool {tool!r} is not callable: {function!r}")


def _require_array(args: bytes) -> None:
    """What a host's dispatch is handed is a JSON array, whatever the worker sent.

    Raises:
        ValueRefused: it is not.
    """
    try:
        msgspec.json.decode(args, type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        decode_args(args)  # lone surrogates are accepted there


def bounded(result: bytes | None, what: str, max_bytes: int) -> bytes | None:
    """The result of a tool.

    Raises:
        ToolFailure: it is longer than ``max_bytes``.
    """
    if result is not None and len(result) > max_bytes:
        raise ToolFailure(
            f"the result of {what} is {len(result)} bytes long; the limit is {max_bytes} bytes"
            " (Limits.tool_result_bytes)"
        )
    return result
