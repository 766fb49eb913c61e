"""Native attacks: on the jail as it is, and on the jail without one layer after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from .cases import Case
from .escape import EscapeAdapter
from .judge import Verdict
from .runner import Runner
from .surroundings import Surroundings, descendants, descriptors, settle


class LeftBehind(AssertionError):
    """An executor that was closed has left something."""


async def run_native(cases: Iterable[Case], disabled: Sequence[str] = ()) -> list[Verdict]:
    """Run native cases.

    Args:
        cases: any number; those that need the same worker share an executor.
        disabled: layers of the jail that are taken away from all of them, beside what they take away themselves.

    Raises:
        LeftBehind: descriptors or processes of an executor are still there after its end.
    """
    verdicts: list[Verdict] = []

    def needs(case: Case) -> tuple[list[str], list[str], bool]:
        return sorted(case.without), sorted(case.setup), "dies_with_its_parent" in case.look

    for (without, setup, orphans), group in groupby(sorted(cases, key=needs), needs):
        async with Surroundings() as surroundings:
            before, processes = descriptors(), len(descendants())
            secret = f"{surroundings.env['dir']}/secret"
            adapter = EscapeAdapter([*without, *disabled], setup, secret)
            await adapter.open()
            try:
                runner = Runner(adapter, surroundings, neighbours=False)
                verdicts += [await runner.run(case) for case in group]
            finally:
                await adapter.close()
            left = await settle(before, processes)
            if left and not orphans:
                raise LeftBehind(left)
    return verdicts


async def what_each_layer_stops(cases: Iterable[Case], layers: Iterable[str]) -> Mapping[str, list[str]]:
    """For each layer, the ids of the cases that get through when it is taken away."""
    table: dict[str, list[str]] = {}
    held = list(cases)
    for layer in layers:
        attacks = [case for case in held if layer in case.layers]
        verdicts = await run_native(attacks, [layer])
        table[layer] = [verdict.case.id for verdict in verdicts if not verdict.held]
    return table
