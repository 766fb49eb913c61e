"""A corpus against several executors at once, each of which knows nothing of the others.

Attacks share a watch and a neighbour with some others. If these see anything, each of them is carried out once more,
alone: what was seen is then laid to one of them, or to all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from .cases import Case
from .judge import Verdict
from .runner import Runner

_TOGETHER = 6
#: What takes much of the machine is seen best when nothing else goes on.
_ALONE = ("exhaustion", "memory")


async def run_all(runners: Sequence[Runner], cases: Iterable[Case], report: Callable[[Verdict], None]) -> None:
    """Carry all attacks out.

    Args:
        runners: one for each executor.
        report: called with each verdict as soon as it is known, in any order.
    """
    alone: list[Case] = []
    together: list[Case] = []
    for case in cases:
        (alone if case.kind in _ALONE or case.is_costly else together).append(case)
    waiting = [together[start : start + _TOGETHER] for start in range(0, len(together), _TOGETHER)]
    waiting.reverse()
    suspects: list[tuple[list[Verdict], list[str]]] = []

    async def lane(runner: Runner) -> None:
        while waiting:
            verdicts, harm = await runner.run_in_turn(waiting.pop())
            if harm:
                suspects.append((verdicts, harm))
                continue
            for verdict in verdicts:
                report(verdict)

    async with asyncio.TaskGroup() as lanes:
        for runner in runners:
            lanes.create_task(lane(runner))
    for case in alone:
        report(await runners[0].run(case))
    for verdicts, harm in suspects:
        await _one_by_one(runners[0], verdicts, harm, report)


async def _one_by_one(
    runner: Runner, verdicts: Sequence[Verdict], harm: Sequence[str], report: Callable[[Verdict], None]
) -> None:
    again = [await runner.run(verdict.case) for verdict in verdicts]
    costs_only = all(text.startswith(("the host gained", "the host computed", "a process had")) for text in harm)
    if costs_only or any(not verdict.held for verdict in again):
        harm = ()  # costs of several together are no one's breach
    for verdict, second in zip(verdicts, again, strict=True):
        report(second._replace(against=tuple(dict.fromkeys((*verdict.against, *second.against, *harm)))))
