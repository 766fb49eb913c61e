"""Runs attacks against an executor, one after the other, and watches from outside."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, cast

import msgspec

from codemode_executor import Connector, HandleCallFailed, HandleDisposed, Limits, Provider

from .adapter import Adapter, Attack, Ended
from .cases import Case
from .judge import Observation, Verdict, classify, judge, spent
from .surroundings import Surroundings, Watch, descriptors, look, own_children, settle
from .texts import shown, texts_of

#: Far above any deadline and the noise of a busy machine; an executor that is held up exceeds it.
GUARD_S = 20.0
#: A run that ends so long after its deadline was not ended by it.
LATE_S = 6.0
LIMITS = Limits(timeout_s=10, memory_mb=64)
_KEPT_CHARS = 1_000_000
_SAMPLE_S = 0.02
_SAMPLE_TOGETHER_S = 0.06
_BIG = 8 * 2**20


class _Tools:
    """The tools of an attack, on the host's side, and what reached them."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self.calls = 0
        self.breaches = 0
        self._kept = 0

    def _note(self, args: object) -> None:
        self.calls += 1
        if self._kept < _KEPT_CHARS:
            text = texts_of(args)
            self.arguments.append(text)
            self._kept += len(text)

    async def echo(self, *args: object) -> object:
        self._note(args)
        return args[0] if len(args) == 1 else list(args)

    async def shape(self, *args: object) -> object:
        """What Python has made of the arguments, by type."""
        self._note(args)
        return [type(arg).__name__ for arg in args]

    async def fail(self, *args: object) -> object:
        self._note(args)
        raise ValueError("the tool fails")

    async def slow(self, *args: object) -> object:
        self._note(args)
        await asyncio.sleep(0.05)
        return "slow"

    async def hang(self, *args: object) -> object:
        self._note(args)
        await asyncio.Event().wait()
        return None

    async def big(self, *args: object) -> object:
        self._note(args)
        return "x" * _BIG

    async def breach(self, *args: object) -> object:
        self._note(args)
        self.breaches += 1
        return None

    def _connected(self, method: str, argument: object) -> object:
        self._note((method, argument))
        return argument

    @property
    def providers(self) -> list[Provider | Connector]:
        names = ("echo", "shape", "fail", "slow", "hang", "big")
        tools: dict[str, Callable[..., Any]] = {name: getattr(self, name) for name in names}
        return [
            Provider("t", tools),
            Provider("canary", {"breach": self.breach}),
            Connector("c", self._connected),
        ]


class _Carried:
    """What is known of an attack that was carried out, beside what it has cost."""

    def __init__(self, case: Case, limits: Limits) -> None:
        self.case = case
        self.limits = limits
        self.tools = _Tools()
        self.ends: list[Ended | None] = []
        self.handle = "none"
        self.harm: list[str] = []
        self.calls = 0

    def verdict(self, secret: str) -> Verdict:
        """By all that has happened up to now."""
        harm, tools = list(self.harm), self.tools
        if tools.calls > self.limits.tool_calls:
            harm.append(f"{tools.calls} tool calls reached the host; the limit is {self.limits.tool_calls}")
        if tools.calls != self.calls:
            harm.append(f"{tools.calls - self.calls} tool calls were made after the end")
        observed = Observation(self.ends, self.handle, "\n".join(tools.arguments), tools.breaches, harm)
        return judge(self.case, self.limits, secret, observed)


class _Neighbour:
    """A run of somebody else, which waits for its tool while the attack goes on."""

    def __init__(self, adapter: Adapter, guard_s: float) -> None:
        self._guard_s = guard_s
        self._gate = asyncio.Event()
        self._entered = asyncio.Event()
        attack = Attack(
            code="async () => [await n.wait('mine'), typeof globalThis.stolen, ({}).polluted === undefined]",
            providers=[Provider("n", {"wait": self._wait})],
            limits=msgspec.structs.replace(LIMITS, timeout_s=120),
            env={},
        )
        self._run = asyncio.ensure_future(adapter.execute(attack))

    async def _wait(self, token: str) -> str:
        self._entered.set()
        await self._gate.wait()
        return token

    async def arrived(self) -> None:
        """Wait until it is in its tool."""
        entered = asyncio.ensure_future(self._entered.wait())
        await asyncio.wait((entered, self._run), timeout=self._guard_s, return_when=asyncio.FIRST_COMPLETED)
        entered.cancel()

    async def harm(self) -> list[str]:
        """Let it go on; what has become of it."""
        self._gate.set()
        ended = await _within_guard(self._run, self._guard_s)
        if ended is not None and (ended.result, ended.error) == (["mine", "undefined", True], None):
            return []
        return [f"another run was harmed: it {_how(ended)}"]


def _how(ended: Ended | None) -> str:
    return "did not end" if ended is None else f"ended as {classify(ended)}: {ended.error or shown(ended.result)}"


async def _within_guard(run: asyncio.Future[Ended], guard_s: float) -> Ended | None:
    done, _ = await asyncio.wait((run,), timeout=guard_s)
    if not done:
        run.cancel()
        await asyncio.wait((run,), timeout=guard_s)
        return None
    if run.cancelled():
        return None
    error = run.exception()
    # An executor may only raise its own faults, which the adapter reports.
    return run.result() if error is None else Ended(raised=type(error).__name__, error=str(error))


async def _call_handle(ended: Ended) -> str:
    handle = ended.result[0] if isinstance(ended.result, list) and ended.result else None
    if not callable(handle):
        return "no handle"
    call: asyncio.Future[object] = asyncio.ensure_future(cast(Callable[[], Awaitable[object]], handle)())
    done, _ = await asyncio.wait((call,), timeout=GUARD_S)
    if not done:
        call.cancel()
        await asyncio.wait((call,), timeout=GUARD_S)
        return "no end"
    error = call.exception()
    if error is None:
        return "value"
    return error.code if isinstance(error, HandleCallFailed | HandleDisposed) else type(error).__name__


class Runner:
    """Args:
    adapter: an open executor.
    surroundings: what the attacks can touch.
    guard_s: when an executor counts as held up.
    neighbours: another run is in flight during each attack, which takes a second worker.
    """

    def __init__(
        self, adapter: Adapter, surroundings: Surroundings, *, guard_s: float = GUARD_S, neighbours: bool = True
    ) -> None:
        self._adapter = adapter
        self.surroundings = surroundings
        self._guard_s = guard_s
        self._neighbours = neighbours

    async def run(self, case: Case) -> Verdict:
        """Carry one attack out."""
        (verdict,), harm = await self.run_in_turn([case])
        return verdict._replace(against=(*verdict.against, *harm))

    async def run_in_turn(self, cases: Sequence[Case]) -> tuple[list[Verdict], list[str]]:
        """Carry attacks out, one after the other, with one watch and one neighbour for all of them.

        Returns:
            The verdicts, and what was seen that cannot be laid to one of them.
        """
        neighbour = _Neighbour(self._adapter, self._guard_s) if self._neighbours else None
        if neighbour is not None:
            await neighbour.arrived()
        watch = Watch(_SAMPLE_S if len(cases) == 1 else _SAMPLE_TOGETHER_S)
        carried = [await self._carry_out(case) for case in cases]
        harm = spent(cases, watch.stop())
        if neighbour is not None:
            harm += await neighbour.harm()
        return [one.verdict(self.surroundings.secret) for one in carried], harm

    async def _carry_out(self, case: Case) -> _Carried:
        limits = LIMITS if not case.limits else msgspec.convert(msgspec.to_builtins(LIMITS) | case.limits, Limits)
        ways = self.surroundings.ways
        carried = _Carried(case, limits)
        for program in case.programs:
            attack = Attack(
                code=ways.fill(program) if case.kind == "network" else program,
                providers=carried.tools.providers,
                limits=limits,
                env=self.surroundings.env,
                modules=case.modules,
                outbound=ways.open(case.outbound),
                retain=case.handles is not None,
            )
            began = time.monotonic()
            ended = await _within_guard(asyncio.ensure_future(self._adapter.execute(attack)), self._guard_s)
            late_s = time.monotonic() - began - limits.timeout_s
            if late_s > LATE_S:
                carried.harm.append(f"it ended {late_s:.0f} s after its deadline")
            carried.ends.append(ended)
            if ended is not None and ended.dispose is not None:
                carried.handle = await _call_handle(ended)
                await ended.dispose()
        await asyncio.sleep(case.after_s)
        await ways.settle()
        carried.calls = carried.tools.calls
        carried.harm += self.surroundings.touched()
        strangers = self.surroundings.strangers(self._adapter.generations)
        if "seccomp" not in case.without:  # else the right to start one is what was taken for granted
            carried.harm += strangers
        if case.look:
            # The loop stands still meanwhile: what happens, the supervisor has not done.
            carried.harm += look(case.look)
        if "raised:HARDENING_UNAVAILABLE" not in case.outcome:  # else there is no worker that could serve anybody
            # The neighbour still has its worker: where there are two, this run has the attack's.
            carried.harm += await self._next_run()
        return carried

    async def _next_run(self) -> list[str]:
        """Whoever comes next gets a right answer from a clean realm."""
        attack = Attack(
            code="async () => [6 * 7, ({}).polluted === undefined, typeof stolen, [1, 2].map(String).join()]",
            providers=[],
            limits=LIMITS,
            env={},
        )
        ended = await _within_guard(asyncio.ensure_future(self._adapter.execute(attack)), self._guard_s)
        if ended is not None and (ended.result, ended.error) == ([42, True, "undefined", "1,2"], None):
            return []
        return [f"the next run {_how(ended)}"]


class LeftBehind(AssertionError):
    """Executors were closed, and something of them is still there."""


@contextlib.asynccontextmanager
async def opened(adapter: Adapter, **options: Any) -> AsyncIterator[Runner]:
    """A runner on an executor that is opened here and closed in the end.

    Args:
        adapter: not open yet.
        options: of the ``Runner``.

    Raises:
        LeftBehind: it has left descriptors or processes to this process.
    """
    async with opened_side_by_side([adapter], **options) as (runner,):
        yield runner


@contextlib.asynccontextmanager
async def opened_side_by_side(adapters: Iterable[Adapter], **options: Any) -> AsyncIterator[list[Runner]]:
    """As ``opened``, for several at once, each with surroundings of its own."""
    async with contextlib.AsyncExitStack() as places:
        surroundings = [(adapter, await places.enter_async_context(Surroundings())) for adapter in adapters]
        before = descriptors()
        children = own_children()
        async with contextlib.AsyncExitStack() as executors:
            for adapter, _ in surroundings:
                executors.push_async_callback(adapter.close)
                await adapter.open()
            yield [Runner(adapter, place, **options) for adapter, place in surroundings]
        left = await settle(before, children)
        if left:
            raise LeftBehind(left)
