"""The workloads, read from workloads.json: what is run, how often, and what each number means."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

FILE = Path(__file__).with_name("workloads.json")

#: How it is measured: see ``bench/measure.py``, one function a kind.
Kind = Literal["serial", "burst", "saturate", "arrivals", "cold", "memory", "growth"]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a program must answer: one of the three.

    Attributes:
        number_plus: the run's ``$N`` plus this.
        text_of: a string of this many "x".
        exactly: this value.
    """

    number_plus: int | None = None
    text_of: int | None = None
    exactly: str | int | bool | msgspec.UnsetType = msgspec.UNSET


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the report.

    Attributes:
        id: its name in results.json and on the command line.
        section: of the page.
        title: its name on the page.
        method: what exactly is measured, for the page.
        unit: of its numbers.
        more_is_better: a rate; otherwise the number is a cost.
        runs, seconds, pause_ms, at_once: see ``protocol.Command``.
        rounds: how often each peer is measured; ``None`` for what the command line says.
        load: share of the peer's own saturated rate at which runs arrive.
    """

    id: str
    section: str
    title: str
    method: str
    kind: Kind
    unit: str
    program: str
    answer: Answer
    more_is_better: bool = False
    runs: int = 1
    seconds: float = 0.0
    pause_ms: float = 0.0
    at_once: int = 0
    rounds: int | None = None
    load: float = 0.0


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workloads: list[Workload]


def read(file: Path = FILE) -> list[Workload]:
    """Every workload in the order of the report. Raises ``msgspec.ValidationError`` for a file of another shape."""
    workloads = msgspec.json.decode(file.read_bytes(), type=_File).workloads
    for workload in workloads:
        answer = workload.answer
        given = [answer.number_plus is not None, answer.text_of is not None, answer.exactly is not msgspec.UNSET]
        if sum(given) != 1:
            raise msgspec.ValidationError(f"{workload.id}: its answer needs one of number_plus, text_of and exactly")
    return workloads
