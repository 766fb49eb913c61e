"""The compat layer as a second side of ours: the same corpus, through ``codemode_compat.DynamicWorkerExecutor``.

Names, modules, bindings, preludes, timeouts, errors and logs are what the compat layer makes of them. Two things stay
those of the native comparison, so that what differs is the compat layer's: the fixture tools are served as strings by
the node process, and the result is looked at as it left the isolate, before Python makes values of it.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

import msgspec

from codemode_compat import DynamicWorkerExecutor, ResolvedProvider
from codemode_executor import BadRequest, Connector, ExecuteResult, IsolateExecutor, Limits, Provider
from codemode_executor.contract import Dispatch
from codemode_executor.ending import Ending
from codemode_executor.engine import Engine
from codemode_executor.request import Request
from codemode_executor.run import HostRun
from side_by_side.compare import Finding, judge
from side_by_side.corpus import Case
from side_by_side.ours import Witness, WitnessFailed, network

_ANSWER_S = 60.0
_SETTLE_S = 0.06
_DROPPED = "[notice] Further log output was dropped"


#: What a case says otherwise through this layer.
THROUGH_COMPAT: dict[str, dict[str, Any]] = {
    "X020": {"ours": {"refused": "timeout is 0 ms; it must be greater than 0 and at most 2147483647 ms (2^31 - 1)"}},
    "X021": {"ours": {"refused": "timeout is -1 ms; it must be greater than 0 and at most 2147483647 ms (2^31 - 1)"}},
    "X023": {
        "ours": {
            "refused": "timeout is 1000000000000 ms; it must be greater than 0 and at most 2147483647 ms (2^31 - 1)"
        }
    },
}


def as_compat(case: Case) -> Case:
    """The case with this layer's marks."""
    return msgspec.structs.replace(case, **THROUGH_COMPAT.get(case.id, {}))


def judged(case: Case, upstream: dict[str, Any] | None, ours: dict[str, Any]) -> Finding:
    """The verdict on a case through this layer."""
    return judge(as_compat(case), upstream, ours)


@dataclass
class _Run:
    """What the engine is told of a run beside what the compat layer says, and what it answered."""

    dispatch: Dispatch
    endings: list[tuple[HostRun, Ending]] = field(default_factory=list[tuple[HostRun, Ending]])


_run: contextvars.ContextVar[_Run] = contextvars.ContextVar("side_by_side_compat_run")


class _RecordingEngine:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    async def execute(self, request: Request) -> tuple[HostRun, Ending, float]:
        run, ending, waited = await self._engine.execute(request)
        _run.get().endings.append((run, ending))
        return run, ending, waited


class _RecordingExecutor(IsolateExecutor):
    """Keeps the raw endings, and has declared tools served by the run's dispatch."""

    async def execute(
        self,
        code: str,
        *,
        providers: Sequence[Provider | Connector] = (),
        **options: Any,
    ) -> ExecuteResult:
        declared = [
            Provider(it.name, list(it.tools), it.prelude) if isinstance(it, Provider) else it for it in providers
        ]
        return await super().execute(code, providers=declared, **{**options, "dispatch": _run.get().dispatch})

    def engine(self) -> Engine:
        return cast(Engine, _RecordingEngine(super().engine()))


class ThroughCompat:
    """The compat layer, and the node process that serves its fixture tools and reads its results."""

    def __init__(self, engine: IsolateExecutor, witness: Witness) -> None:
        self._engine = engine
        self._witness = witness
        self._keys = itertools.count(1)

    @classmethod
    async def start(cls) -> Self:
        return cls(_RecordingExecutor(limits=Limits(timeout_s=2_147_483), min_workers=2), await Witness.start())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._engine.aclose()
        await self._witness.close()

    async def run(self, case: Case) -> dict[str, Any]:
        """As ``Ours.run``."""
        key = next(self._keys)
        spaces = cast(
            "list[tuple[str, list[str]]]",
            await self._witness.ask("open", key=key, providers=case.request()["providers"]),
        )

        async def dispatch(provider: str, tool: str, args_json: str) -> str:
            return await self._witness.ask("call", key=key, provider=provider, tool=tool, args=args_json)

        run = _Run(dispatch)
        _run.set(run)
        try:
            executor = DynamicWorkerExecutor(
                timeout=case.timeout_ms,
                global_outbound=network(self._witness, key, case.outbound),
                modules=case.modules,
                bindings=case.bindings,
                engine=self._engine,
            )
            providers = [ResolvedProvider(name, dict.fromkeys(tools, _never), case.prelude) for name, tools in spaces]
            outcome = await asyncio.wait_for(executor.execute(case.code, providers), _ANSWER_S)
        except BadRequest as error:
            await self._witness.ask("close", key=key, form=0, text=None, error=None, logs=[])
            return {"refused": str(error)}
        if "calls" in case.parts:
            await asyncio.sleep(_SETTLE_S)  # as long as upstream's host waits for calls that nobody awaits
        form, text = 0, None
        if outcome.error is None:
            ((_, ending),) = run.endings
            form, text = ending.form, ending.value.decode()
        # Upstream drops nothing, so it has no word for it.
        logs = outcome.logs[:-1] if outcome.logs and outcome.logs[-1].startswith(_DROPPED) else outcome.logs
        try:
            shown = await self._witness.ask("close", key=key, form=form, text=text, error=outcome.error, logs=logs)
        except WitnessFailed as failure:
            return {"undecodable": str(failure)}
        return cast("dict[str, Any]", shown)


def _never(*_: object) -> object:
    raise AssertionError("the run's dispatch serves the fixture tools")
