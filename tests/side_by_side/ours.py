"""Our engine, in process, and the node process that serves its tool calls and reads its results as JavaScript."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
from types import TracebackType
from typing import Any, Self, cast

from codemode_executor import (
    BadRequest,
    IsolateExecutor,
    Limits,
    Module,
    OutboundHandler,
    OutboundRequest,
    OutboundResponse,
    Provider,
)
from codemode_executor.contract import ModuleKind
from codemode_executor.ending import Ending
from codemode_executor.modules import encode_modules
from codemode_executor.outbound import open_network
from codemode_executor.outcome import error_of
from codemode_executor.request import Request
from codemode_executor.run import HostRun
from codemode_executor.tools import ToolTable
from codemode_executor.values import encode_value
from side_by_side.corpus import HERE, Case
from side_by_side.node_process import NodeProcess

_ANSWER_S = 60.0

#: What upstream captures of the console, and how it writes it.
_LEVELS = {"log": "", "warn": "[warn] ", "error": "[error] "}


def _modules(modules: dict[str, Any] | None) -> dict[str, Any] | None:
    """Upstream's modules, whose values are strings or objects of one member, as ours."""
    if modules is None:
        return None
    return {name: _module(value) if isinstance(value, dict) else value for name, value in modules.items()}


def _module(value: dict[str, Any]) -> Module:
    ((kind, source),) = value.items()
    return Module(json.dumps(source) if kind == "json" else source, cast("ModuleKind", kind))


class WitnessFailed(AssertionError):
    """The node process could not do what it was asked, for example decode a result."""


class Witness:
    """The node process of ``src/witness.mjs``."""

    def __init__(self, process: NodeProcess) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> Self:
        return cls(await NodeProcess.start("src/witness.mjs", failure=WitnessFailed, cwd=HERE))

    async def ask(self, op: str, **arguments: object) -> Any:
        """Have ``op`` done. Raises WitnessFailed with its reason."""
        return await self._process.ask(op=op, **arguments)

    async def close(self) -> None:
        await self._process.close(grace_s=0)  # a tool that never answers would keep it waiting


def network(witness: Witness, key: int, site: str | None) -> OutboundHandler | None:
    """The network of a case: a site of the witness."""
    if site is None:
        return None

    async def handler(request: OutboundRequest) -> OutboundResponse:
        answer = cast(
            "dict[str, Any]",
            await witness.ask(
                "request",
                key=key,
                site=site,
                method=request.method,
                url=request.url,
                headers=request.headers,
                body=None if request.body is None else base64.b64encode(request.body).decode(),
            ),
        )
        if "thrown" in answer:
            raise type(answer["thrown"]["name"], (Exception,), {})(answer["thrown"]["message"])
        return OutboundResponse(
            status=answer["status"],
            status_text=answer["statusText"],
            headers=answer["headers"],
            body=base64.b64decode(answer["body"]),
        )

    return handler


class Ours:
    """The engine, asked for its raw results: the bytes, before Python makes values of them."""

    def __init__(self, executor: IsolateExecutor, witness: Witness) -> None:
        self._executor = executor
        self._witness = witness
        self._keys = itertools.count(1)

    @classmethod
    async def start(cls) -> Self:
        return cls(IsolateExecutor(limits=Limits(), min_workers=2), await Witness.start())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._executor.aclose()
        await self._witness.close()

    async def run(self, case: Case) -> dict[str, Any]:
        """The envelope that the engine answered, described; or ``{"refused": text}`` for a request it would not take;
        or ``{"undecodable": text}`` for a result that JavaScript's decoder does not accept.
        """
        key = next(self._keys)
        spaces = cast(
            "list[tuple[str, list[str]]]",
            await self._witness.ask("open", key=key, providers=case.request()["providers"]),
        )

        async def dispatch(provider: str, tool: str, args_json: str) -> str:
            return await self._witness.ask("call", key=key, provider=provider, tool=tool, args=args_json)

        engine = self._executor.engine()
        async with contextlib.AsyncExitStack() as life:  # a handler holds nothing that its end would close
            outbound = await open_network(network(self._witness, key, case.outbound), Limits(), life)
        try:
            request = Request(
                code=case.code.encode("utf-8", "replace").decode(),
                table=ToolTable(
                    [Provider(name, tools) for name, tools in spaces], dispatch, engine.threads, outbound=outbound
                ),
                env=encode_value(case.bindings or {}),
                limits=Limits(timeout_s=case.timeout_ms / 1000),
                on_log=None,
                tenant=None,
                modules=encode_modules(_modules(case.modules), Limits()),
            )
        except BadRequest as error:
            await self._witness.ask("close", key=key, form=0, text=None, error=None, logs=[])
            return {"refused": str(error)}
        run, ending, _ = await asyncio.wait_for(engine.execute(request), _ANSWER_S)
        return await self._close(key, run, ending, settle="calls" in case.parts)

    async def _close(self, key: int, run: HostRun, ending: Ending, *, settle: bool) -> dict[str, Any]:
        if settle:
            await asyncio.sleep(0.06)  # as long as upstream's host waits for calls that nobody awaits
        try:
            shown = await self._witness.ask(
                "close",
                key=key,
                form=ending.form,
                text=ending.value.decode(),
                error=error_of(ending),
                logs=[_LEVELS[line.level] + line.text for line in run.logs if line.level in _LEVELS],
            )
        except WitnessFailed as failure:
            return {"undecodable": str(failure)}
        return cast("dict[str, Any]", shown)
