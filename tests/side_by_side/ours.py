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
from codemode_executor.modules import encode_modules
from codemode_executor.outbound import open_network
from codemode_executor.request import Request
from codemode_executor.run import Ending, HostRun
from codemode_executor.tools import ToolTable
from codemode_executor.values import encode_value
from codemode_executor.wire import messages as wire
from side_by_side.corpus import HERE, Case

_LINE_LIMIT = 1024 * 1024 * 1024
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

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read(), name="witness")

    @classmethod
    async def start(cls) -> Self:
        return cls(
            await asyncio.create_subprocess_exec(
                "node",
                "src/witness.mjs",
                cwd=HERE,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LINE_LIMIT,
            )
        )

    async def ask(self, op: str, **arguments: object) -> Any:
        """Have ``op`` done. Raises WitnessFailed with its reason."""
        number = next(self._ids)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps({"id": number, "op": op, **arguments}).encode() + b"\n")
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    async def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        while line := await stdout.readline():
            answer = json.loads(line)
            future = self._waiting.get(answer["id"])
            if future is None or future.done():
                continue  # the case is over, and a tool of it has answered
            if "failure" in answer:
                future.set_exception(WitnessFailed(answer["failure"]))
            else:
                future.set_result(answer.get("value"))
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(WitnessFailed("the node process has ended"))

    async def close(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        if self._process.returncode is None:
            self._process.kill()  # a tool that never answers would keep it waiting
        await self._process.wait()
        await self._reader
        # Its transport is closed by what the loop has still to do.
        await asyncio.sleep(0)


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
        error = None if ending.kind == wire.OUTCOME_RESULT else _error(ending)
        form = getattr(ending, "form", None)
        if form is None:
            form = 0 if ending.value is None else 1
        try:
            shown = await self._witness.ask(
                "close",
                key=key,
                form=form,
                text=None if ending.value is None else ending.value.decode(),
                error=error,
                logs=[_LEVELS[line.level] + line.text for line in run.logs if line.level in _LEVELS],
            )
        except WitnessFailed as failure:
            return {"undecodable": str(failure)}
        return cast("dict[str, Any]", shown)


def _error(ending: Ending) -> str:
    named = ending.kind == wire.OUTCOME_TEXT and ending.name
    return f"{ending.name}: {ending.message}" if named else ending.message
