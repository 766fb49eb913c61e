"""The bounds of a run, in one typed place. Units are in the names."""

from __future__ import annotations

import math

import msgspec

from .errors import BadRequest

MIB = 1024 * 1024

#: Over and above the deadline, how long a program that cannot be ended from inside V8 may hold on.
GRACE_S = 0.25


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bounds of every run of an executor. A run may be given tighter ones, never looser.

    Attributes:
        timeout_s: wall time from the moment a worker accepts the run, waiting for tools included. Seconds.
        cpu_s: processor time of the run's worker. Seconds; ``None`` for no bound but ``timeout_s``.
        memory_mb: heap and off-heap memory together. MiB. V8 ends a program whose heap outgrows it; for what is
            outside the heap the process is watched, which may hold twice the largest message besides, for messages on
            their way.
        program_bytes: program text as UTF-8.
        module_bytes: names and sources of all modules of a run together.
        argument_bytes: JSON of one tool call's argument list, UTF-8.
        tool_result_bytes: JSON of one tool call's result, UTF-8.
        result_bytes: the encoded result, UTF-8.
        log_bytes: all log lines of a run together.
        log_lines: number of log lines of a run.
        tool_calls: tool calls of a run in all.
        tool_calls_in_flight: tool calls of a run that wait at the same time; further ones wait in the isolate.

    Raises:
        BadRequest: a bound is not a positive number, or beyond what the machinery carries.
    """

    timeout_s: float = 60.0
    cpu_s: float | None = None
    memory_mb: int = 128
    program_bytes: int = MIB
    module_bytes: int = 8 * MIB
    argument_bytes: int = 32 * MIB
    tool_result_bytes: int = 32 * MIB
    result_bytes: int = 32 * MIB
    log_bytes: int = 8 * MIB
    log_lines: int = 100_000
    tool_calls: int = 100_000
    tool_calls_in_flight: int = 1_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: object = getattr(self, name)
            if name == "cpu_s" and value is None:
                continue
            real = name in ("timeout_s", "cpu_s")
            if isinstance(value, bool) or not isinstance(value, (int, float) if real else int):
                kind = "number of seconds" if real else "whole number"
                raise BadRequest(f"Limits.{name} must be a {kind}, not {value!r}")
            if (isinstance(value, float) and not math.isfinite(value)) or not value > 0:
                raise BadRequest(f"Limits.{name} must be greater than 0 and finite, not {value!r}")
            top = _MAXIMUM[name]
            if value > top:
                raise BadRequest(f"Limits.{name} is {value!r}; the largest value that is carried is {top!r}")
            low = _MINIMUM.get(name, 0)
            if value < low:
                raise BadRequest(f"Limits.{name} is {value!r}; the smallest value that works is {low!r}")

    def tightened(self, run: Limits) -> Limits:
        """These limits with every bound that ``run`` sets lower."""
        values: dict[str, float | int | None] = {}
        for name in self.__struct_fields__:
            mine: float | int | None = getattr(self, name)
            theirs: float | int | None = getattr(run, name)
            values[name] = theirs if mine is None else mine if theirs is None else min(mine, theirs)
        return msgspec.structs.replace(self, **values)


_SECONDS_MAX = 2_147_483.0  # a timer of the event loop and upstream's setTimeout both end there
_FRAME_MAX = 512 * MIB

_MAXIMUM: dict[str, float] = {
    "timeout_s": _SECONDS_MAX,
    "cpu_s": _SECONDS_MAX,
    "memory_mb": 4096,
    "program_bytes": 64 * MIB,
    "module_bytes": 64 * MIB,
    "argument_bytes": _FRAME_MAX,
    "tool_result_bytes": _FRAME_MAX,
    "result_bytes": _FRAME_MAX,
    "log_bytes": _FRAME_MAX,
    "log_lines": 10_000_000,
    "tool_calls": 100_000_000,
    "tool_calls_in_flight": 100_000,
}
_MINIMUM: dict[str, float] = {"memory_mb": 16}
