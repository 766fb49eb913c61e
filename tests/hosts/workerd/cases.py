"""The cases of the hosts in workerd: steps as data, in ``cases/*.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from side_by_side.corpus import differences as of_programs

HERE = Path(__file__).parent
# Of a step, what the host has no use for.
_JUDGED = {"want", "events", "ignore", "any_order"}


@dataclass(frozen=True)
class Case:
    """What a host does, the same on both executors.

    Attributes:
        id: of the case; its Durable Objects are named after it.
        group: the file that it stands in.
        steps: each with the action ``do`` and what that takes. ``want`` is what must be so on both sides, by path;
            ``events`` the names of all that the host saw meanwhile. Left to chance are the paths in ``ignore``, and
            with ``any_order`` the order of the events.
        differs: where the sides differ: path by path, the id of a difference.
        ours: what ours must be at the paths of ``differs``.
    """

    id: str
    group: str
    steps: list[dict[str, Any]]
    differs: dict[str, str]
    ours: dict[str, Any]

    def request(self) -> dict[str, Any]:
        """The case as the host is given it."""
        steps = [{key: value for key, value in step.items() if key not in _JUDGED} for step in self.steps]
        return {"id": self.id, "steps": steps}


def _load() -> list[Case]:
    made: list[Case] = []
    for path in sorted((HERE / "cases").glob("*.toml")):
        for item in tomllib.loads(path.read_text())["case"]:
            made.append(Case(item["id"], path.stem, item["steps"], item.get("differs", {}), item.get("ours", {})))
    return made


CASES = _load()

#: Differences of the hosts by id: what a host may see, and why.
DIFFERENCES: dict[str, dict[str, str]] = tomllib.loads((HERE / "differences.toml").read_text())

#: What cases may name: these, and those of programs.
KNOWN_DIFFERENCES = frozenset(DIFFERENCES) | frozenset(of_programs())
