"""The corpus: one JSON object a line, one attack each, read and checked before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from .ways_out import Way

CORPUS = Path(__file__).with_name("corpus")

#: In an attack, stands for the function in ``corpus/exploit.js``.
EXPLOIT = "__EXPLOIT__"

Class = Literal[
    "time",
    "cpu",
    "memory",
    "stack",
    "logs",
    "messages",
    "tools",
    "harness",
    "primordials",
    "deadline",
    "forgery",
    "pollution",
    "realm",
    "stacktraces",
    "modules",
    "text",
    "json",
    "afterlife",
    "leakage",
    "exhaustion",
    "platform",
    "network",
    "native",
]

#: What an attack wants to get across.
Boundary = Literal["bounds", "harness", "isolate", "worker", "jail", "supervisor", "host", "network", "next run"]

#: How a run ended, as the host saw it: an envelope without or with an error, the bound that ended it, the code of a
#: fault that was raised (``raised:WORKER_CRASHED``), or no end within the guard.
Outcome = Literal[
    "value",
    "error",
    "bound:timeout",
    "bound:cpu",
    "bound:memory",
    "bound:tool_calls",
    "bound:result",
    "raised:BAD_REQUEST",
    "raised:WORKER_CRASHED",
    "raised:WORKER_START_FAILED",
    "raised:HARDENING_UNAVAILABLE",
]

#: How the call of a returned function may end; ``none``: the run was not retained.
HandleOutcome = Literal["none", "value", "HANDLE_CALL_FAILED", "HANDLE_DISPOSED"]


_HOST_MB = 96
_HOST_CPU_S = 3.0
_WORKER_MB = 512


class Handles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run is retained; the host calls ``result[0]`` once. ``outcome``: how that may end."""

    outcome: list[HandleOutcome]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"kind": "class"}):
    """One attack.

    Attributes:
        id: unique in the corpus, ``class-what``.
        kind: the class of attack; ``class`` in the file.
        boundary: what it wants to get across.
        attack: the program, or programs that run in turn on one executor. Of the class ``native``, Python that runs
            inside a jailed worker, as if V8 had been broken out of.
        outcome: how each program may end.
        result: what the last program returns, exactly.
        distinct: no two programs return the same.
        error: a regular expression that is found in the last program's error.
        limits: bounds by their names in ``Limits``, for every program of the case.
        modules: what the programs can import.
        outbound: the way to the network that the host opens, see ``ways_out.py``.
        handles: see ``Handles``.
        after_s: seconds for which the host goes on looking after the last outcome.
        host_mb: memory that the host may gain, MiB.
        host_cpu_s: processor time that the host may spend, seconds.
        worker_mb: memory that any process of the executor may have, MiB.
        layers: layers of the jail; without any one of them the attack gets through. ``native`` only.
        without: layers that are taken away before, so that one behind them is attacked. ``native`` only.
        setup: what the worker starts with, see ``escape.py``. ``native`` only.
        look: what the host has to find when it looks at the worker, see ``surroundings.look``. ``native`` only.
        source: the public report or family that it follows.
        open: the finding that this case is, while the engine has not been changed.
    """

    id: str
    kind: Class
    boundary: Boundary
    attack: str | list[str]
    outcome: list[Outcome]
    result: object = msgspec.UNSET
    distinct: bool = False
    error: str = ""
    limits: dict[str, int | float] = {}
    modules: dict[str, str] = {}
    outbound: Way = ""
    handles: Handles | None = None
    after_s: float = 0.0
    host_mb: int = _HOST_MB
    host_cpu_s: float = _HOST_CPU_S
    worker_mb: int = _WORKER_MB
    layers: list[str] = []
    without: list[str] = []
    setup: list[str] = []
    look: dict[str, object] = {}
    source: str = ""
    open: str = ""

    @property
    def is_costly(self) -> bool:
        """It is allowed more than others are."""
        return (self.host_mb, self.host_cpu_s, self.worker_mb) != (_HOST_MB, _HOST_CPU_S, _WORKER_MB)

    @property
    def programs(self) -> list[str]:
        """The programs, complete."""
        programs = [self.attack] if isinstance(self.attack, str) else self.attack
        return [program.replace(EXPLOIT, _exploit()) for program in programs]


class CorpusError(ValueError):
    """A line of the corpus is no case; the message names file and line."""


@cache
def _exploit() -> str:
    return (CORPUS / "exploit.js").read_text("utf-8").strip()


def load(paths: Iterable[Path] | None = None) -> list[Case]:
    """All cases, in the order of files and lines.

    Raises:
        CorpusError: a line is no case, or an id is there twice.
    """
    decode = msgspec.json.Decoder(Case).decode
    cases: dict[str, Case] = {}
    for path in sorted(CORPUS.glob("*.jsonl")) if paths is None else paths:
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            where = f"{path.name}:{number}"
            try:
                case = decode(line)
                re.compile(case.error)
            except (msgspec.MsgspecError, re.error) as error:
                raise CorpusError(f"{where}: {error}") from error
            if case.id in cases:
                raise CorpusError(f"{where}: the id {case.id!r} is there twice")
            if not case.id.startswith(f"{case.kind}-"):
                raise CorpusError(f"{where}: the id {case.id!r} does not begin with its class, {case.kind}-")
            if case.kind != "native" and (case.layers or case.without or case.setup or case.look):
                raise CorpusError(f"{where}: only a native case can change the worker, or look at it")
            cases[case.id] = case
    return list(cases.values())


def by_id(cases: Iterable[Case]) -> Mapping[str, Case]:
    """The cases by their ids."""
    return {case.id: case for case in cases}
