"""Calls whose values cross as by structured clone: of connectors, of functions of ``this.env``, to the network."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import cast

from .contract import Connector, ConnectorCall, Dispatch, Tool
from .errors import BadRequest
from .threads import beside_loop
from .tool_failure import ToolFailure, failure_of, read_answer
from .tool_threads import ToolThreads
from .values import ValueRefused, decode_result
from .values.clone_codec import encode_clone
from .values.tool_codec import encode_json

#: The provider of calls through ``this.env``: no identifier, so no provider has this name.
ENV = "this.env"
#: The provider of requests to the network.
OUTBOUND = "this.outbound"

_CLONE_TEXT = re.compile(rb'"[012]')
_SHOWN_NAME = 256

#: Serves a request to the network, both as the guest's platform writes them.
Outbound = Callable[[object], Awaitable[object]]


class CloneCalls:
    """Args:
    dispatch: serves what is given without a callable.
    threads, share: for plain functions.
    functions: what a program may call through ``this.env``, by path; ``None`` for one that ``dispatch`` serves.
    outbound: serves requests to the network; ``None`` where ``dispatch`` does, if anybody does.
    served_elsewhere: whoever takes the run's calls serves all that only has a name.
    services: paths in ``this.env`` under which a program may call any member; all of them are served elsewhere.
    """

    def __init__(
        self,
        dispatch: Dispatch | None,
        threads: ToolThreads,
        share: asyncio.Semaphore,
        functions: Mapping[str, Tool | None],
        outbound: Outbound | None,
        served_elsewhere: bool,
        services: Collection[str] = (),
    ) -> None:
        self._dispatch = dispatch
        self._served_elsewhere = served_elsewhere
        self._threads = threads
        self._share = share
        self._functions = dict(functions)
        self._services = tuple(f"{path}." for path in services)
        self._outbound = outbound
        self._connectors: dict[str, ConnectorCall | None] = {}

    def __contains__(self, provider: str) -> bool:
        return provider in (ENV, OUTBOUND) or provider in self._connectors

    def __bool__(self) -> bool:
        return bool(self._connectors or self._functions or self._services)

    def add(self, connector: Connector) -> None:
        """Raises:
        BadRequest: nobody serves it.
        """
        if connector.call is None:
            if self._dispatch is None and not self._served_elsewhere:
                raise BadRequest(
                    f"Connector {connector.name!r} has no call; pass dispatch= to serve it, or give a callable"
                )
        elif not callable(connector.call):
            raise BadRequest(f"Connector {connector.name!r}: call is not callable: {connector.call!r}")
        self._connectors[connector.name] = connector.call

    def check(self, provider: str, method: str, args: bytes) -> None:
        """Raises:
        ToolFailure: nobody serves the call, or its argument has no form.
        """
        if not args[:1].isdigit():
            raise ToolFailure(f"the argument of {provider}.{method} has no form")
        if provider == ENV and method not in self._functions and not method.startswith(self._services):
            raise ToolFailure(_no_method(method))

    async def call(self, provider: str, method: str, args: bytes) -> bytes:
        """Serve one call: a JSON string of the digit of a form and text.

        Raises:
            ToolFailure: it failed, or nobody serves it.
        """
        self.check(provider, method, args)
        try:
            target = self._target(provider, method)
            if target is None:
                return await self._by_dispatch(provider, method, args)
            form, text = encode_clone(
                await target(await beside_loop(len(args), decode_result, int(args[:1]), args[1:]))
            )
            return encode_json(f"{form}{text.decode('utf-8', 'surrogatepass')}")
        except ToolFailure:
            raise
        except ValueRefused as error:
            raise ToolFailure(f"{provider}.{method}: {error}") from error
        except (Exception, SystemExit) as error:
            raise failure_of(error) from error

    def _target(self, provider: str, method: str) -> Outbound | None:
        if provider == OUTBOUND:
            return self._outbound
        if provider == ENV:
            if method not in self._functions:
                raise ToolFailure(_no_method(method))
            function = self._functions[method]
            if function is None:
                return None
            return lambda args: self._threads.invoke(function, cast("list[object]", args), self._share)
        call = self._connectors[provider]
        if call is None:
            return None
        return lambda argument: self._threads.invoke(call, [method, argument], self._share)

    async def _by_dispatch(self, provider: str, method: str, args: bytes) -> bytes:
        dispatch = self._dispatch
        if dispatch is None:
            raise ToolFailure(f"nobody serves {provider}.{method[:_SHOWN_NAME]}")
        answer = read_answer(cast(object, await dispatch(provider, method, args.decode("utf-8", "surrogatepass"))))
        if answer is None or not _CLONE_TEXT.match(answer):
            raise ToolFailure(f"dispatch must answer {provider} with a string of form and text")
        return answer


def _no_method(method: str) -> str:
    return f'The RPC receiver does not implement the method "{method[:_SHOWN_NAME]}".'
