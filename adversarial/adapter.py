"""What the runner needs of an executor, whatever and wherever it is.

An adapter says nothing of safety: it carries programs out and reports the envelope or the fault. An adapter for an
executor behind a URL serves the tools of ``Attack.providers`` over its connection; nothing else differs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from codemode_executor import AllowList, Connector, ExecutorError, IsolateExecutor, Limits, OutboundHandler, Provider


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """One program with what it is given.

    Attributes:
        code: the program.
        providers: its tools, served by the runner.
        limits: its bounds.
        env: what it finds as ``this.env``.
        modules: what it can import.
        outbound: its way to the network.
        retain: functions in the result are to become handles.
    """

    code: str
    providers: Sequence[Provider | Connector]
    limits: Limits
    env: Mapping[str, object]
    modules: Mapping[str, str] = {}
    outbound: OutboundHandler | AllowList | None = None
    retain: bool = False


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope, or the fault that was raised in its place.

    Attributes:
        result, error, logs: the envelope.
        name, stack: of what the program threw.
        bound: the bound that ended it; ``None`` for no bound, or where the executor does not say.
        raised: the code of the fault; empty for an envelope.
        dispose: ends what is retained.
    """

    result: object = None
    error: str | None = None
    logs: Sequence[str] = ()
    name: str = ""
    stack: str = ""
    bound: str | None = None
    raised: str = ""
    dispose: Callable[[], Awaitable[None]] | None = None


class Adapter(Protocol):
    """An executor that can be attacked.

    Attributes:
        name: for people.
        generations: how many generations of processes below this one are the executor's.
    """

    name: str
    generations: int

    async def open(self) -> None:
        """Make it ready."""
        ...

    async def execute(self, attack: Attack) -> Ended:
        """Run one program. Runs of one adapter may overlap."""
        ...

    async def close(self) -> None:
        """End it, and every process of it."""
        ...


class IsolateAdapter:
    """The engine of this repository, in this process.

    Args:
        executor: makes it, and is called by ``open``; or one that is open already, and stays so.
    """

    name = "IsolateExecutor"
    generations = 2  # what forks workers, and the workers

    def __init__(self, executor: Callable[[], IsolateExecutor] | IsolateExecutor) -> None:
        self._given = executor
        self._executor: IsolateExecutor | None = None

    @property
    def executor(self) -> IsolateExecutor:
        """The executor, once it is open."""
        assert self._executor is not None
        return self._executor

    async def open(self) -> None:
        """Start its processes."""
        given = self._given
        self._executor = given if isinstance(given, IsolateExecutor) else await given().__aenter__()

    async def execute(self, attack: Attack) -> Ended:
        """As ``IsolateExecutor.execute``."""
        try:
            outcome = await self.executor.execute(
                attack.code,
                providers=attack.providers,
                limits=attack.limits,
                env=attack.env,
                modules=attack.modules or None,
                outbound=attack.outbound,
                retain_handles=attack.retain,
            )
        except ExecutorError as error:
            logs = getattr(error, "logs", ())
            return Ended(raised=error.code, error=str(error), logs=logs)
        return Ended(
            result=outcome.result,
            error=outcome.error,
            logs=outcome.logs,
            name=outcome.detail.name,
            stack=outcome.detail.stack,
            bound=outcome.detail.bound,
            dispose=outcome.retained.dispose if outcome.retained is not None else None,
        )

    async def close(self) -> None:
        """End its processes."""
        if self._executor is not None and self._executor is not self._given:
            await self._executor.aclose()
