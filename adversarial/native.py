"""Native attacks: on the jail as it is, and on the jail without one layer after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from .cases import Case
from .escape import EscapeAdapter, Preparation
from .judge import Verdict
from .runner import opened

#: Layers that all workers of a zygote share.
_BEFORE_THE_FORK = ("network_namespace",)


class _Attack(NamedTuple):
    """A case, and what is taken away from the worker that it meets."""

    case: Case
    disabled: Sequence[str]

    @property
    def engine(self) -> tuple[bool, list[str]]:
        """What the engine has to be told: whether layers are missing, and those that are made before the fork."""
        return bool(self.disabled), [layer for layer in _BEFORE_THE_FORK if layer in self.disabled]

    @property
    def needs(self) -> tuple[object, ...]:
        # What kills the zygote comes last: another one takes its time to start.
        kills = "dies_with_its_parent" in self.case.look
        return *self.engine, kills, sorted(self.disabled), sorted(self.case.setup)


async def run_native(cases: Iterable[Case], disabled: Sequence[str] = ()) -> list[Verdict]:
    """Run native cases.

    Args:
        cases: any number.
        disabled: layers of the jail that are taken away from all of them, beside what they take away themselves.

    Raises:
        LeftBehind: descriptors or processes of an executor are still there after its end.
    """
    return await _run(_Attack(case, [*case.without, *disabled]) for case in cases)


async def what_each_layer_stops(cases: Iterable[Case], layers: Iterable[str]) -> Mapping[str, list[str]]:
    """For each layer, the ids of the cases that get through when it is taken away."""
    held = list(cases)
    table: dict[str, list[str]] = {layer: [] for layer in layers}
    attacks = [
        (layer, _Attack(case, [*case.without, layer])) for layer in table for case in held if layer in case.layers
    ]
    attacks.sort(key=lambda attack: attack[1].needs)
    for (layer, _), verdict in zip(attacks, await _run(attack for _, attack in attacks), strict=True):
        if not verdict.held:
            table[layer].append(verdict.case.id)
    return table


async def _run(attacks: Iterable[_Attack]) -> list[Verdict]:
    """In the order of their needs: attacks with the same share workers, and all share what forks these."""
    verdicts: list[Verdict] = []
    ordered = sorted(attacks, key=lambda attack: attack.needs)
    for (incomplete, shared), part in groupby(ordered, lambda attack: attack.engine):
        adapter = EscapeAdapter("used" if incomplete else "required", shared)
        async with opened(adapter, neighbours=False) as runner:
            secret = f"{runner.surroundings.env['dir']}/secret"
            for _, group in groupby(part, lambda attack: attack.needs):
                alike = list(group)
                await adapter.prepare(Preparation(list(alike[0].disabled), alike[0].case.setup, secret))
                verdicts += [await runner.run(attack.case) for attack in alike]
    return verdicts
