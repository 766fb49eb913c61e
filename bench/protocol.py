"""What the runner and a host say to each other: a JSON object a line, commands down, answers up."""

from __future__ import annotations

import msgspec

from .workloads import Answer


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ask a host to run programs.

    Attributes:
        do: ``serial``, ``burst``, ``saturate``, ``arrivals``, ``hold``; or ``release``, which ends a ``hold``
            and has no answer.
        program: its text; ``$N`` becomes a number that the host has not used before.
        answer: what a run must answer.
        runs: the number of runs; for ``serial`` and ``saturate`` the largest.
        seconds: no run starts later than this.
        pause_ms: before each run of ``serial``, outside of what is timed.
        at_once: runs of ``saturate`` that are going on at any time.
        due_ms: when each run of ``arrivals`` is due, in milliseconds from the command.
    """

    id: int
    do: str
    program: str = ""
    answer: Answer = Answer()
    runs: int = 0
    seconds: float = 0.0
    pause_ms: float = 0.0
    at_once: int = 0
    due_ms: tuple[float, ...] = ()


class Times(msgspec.Struct, frozen=True):
    """The answer to ``serial``, ``burst`` and ``saturate``: runs, and their time in milliseconds."""

    runs: int
    total_ms: float


class Latencies(msgspec.Struct, frozen=True):
    """The answer to ``arrivals``: from due to answered, in milliseconds."""

    latencies_ms: list[float]


class Held(msgspec.Struct, frozen=True):
    """The answer to ``hold``, once it is released."""

    runs: int


class Message(msgspec.Struct, frozen=True):
    """A line of a host: its versions when it is ready, or about a command.

    Attributes:
        ready: what the host runs on, versions by name.
        id: of the command that this is about.
        ok: the answer, one of the shapes above.
        error: why there is none.
        holding: runs that wait for the tool ``hold``.
    """

    ready: dict[str, str] | None = None
    id: int = 0
    ok: msgspec.Raw = msgspec.Raw()
    error: str | None = None
    holding: int = 0
