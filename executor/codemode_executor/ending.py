"""How a run ended: from what its worker said of it, or from how its worker process ended."""

from __future__ import annotations

import signal

import msgspec

from .contract import Bound
from .limits import MIB, Limits
from .wire import messages as wire
from .zygote import Exit

#: Hint of a run whose process was ended with it.
CUT_OFF = "The process was ended with the program: log lines of its last 10 ms may be missing."

_HINT_CHARS = 500
_NOTHING_RETURNED = "The program returned nothing: end it with `return value`, or with an expression."
_NEARLY = 0.8

_BOUNDS: dict[int, Bound] = {
    wire.OUTCOME_TIMEOUT: "timeout",
    wire.OUTCOME_MEMORY: "memory",
    wire.OUTCOME_TOOL_CALLS: "tool_calls",
    wire.OUTCOME_RESULT_SIZE: "result",
}

_OUT_OF_MEMORY = ("out of memory", "MemoryError", "OOM error", "Allocation failed", "Array buffer allocation failed")


class Ending(msgspec.Struct, frozen=True):
    """How a run ended. ``kind`` is one of ``wire.OUTCOME_*``."""

    kind: int
    form: int = 0
    value: bytes = b""
    name: str = ""
    message: str = ""
    stack: str = ""
    bound: Bound | None = None
    cpu_s: float = 0.0
    hint: str = ""


def ending_of(outcome: wire.Outcome, limits: Limits, open_calls: int) -> Ending:
    """The end as the worker saw it.

    Args:
        outcome: within its bounds.
        limits: of the run.
        open_calls: tool calls that had not been answered by then.
    """
    if outcome.kind == wire.OUTCOME_MEMORY:
        return memory_ending(limits, None, outcome.cpu_s)
    return Ending(
        kind=outcome.kind,
        hint=_hint(outcome, open_calls),
        form=outcome.form,
        value=outcome.value,
        name=outcome.name,
        message=outcome.message,
        stack=outcome.stack,
        bound=_BOUNDS.get(outcome.kind),
        cpu_s=outcome.cpu_s,
    )


def memory_ending(limits: Limits, growth: int | None, cpu_s: float = 0.0) -> Ending:
    """The program used too much memory.

    Args:
        limits: of the run.
        growth: what it was seen to use, in bytes; ``None`` if nobody looked.
        cpu_s: processor time, in seconds.
    """
    seen = f"the program used {growth // MIB} MiB, " if growth is not None else ""
    text = f"memory limit exceeded: {seen}the limit is {limits.memory_mb} MiB (Limits.memory_mb)"
    return Ending(wire.OUTCOME_MEMORY, message=text, bound="memory", cpu_s=cpu_s)


def ran_out_of_memory(exit: Exit, *, accepted: bool) -> bool:
    """The worker process ended because V8 could get no more memory.

    Args:
        exit: how it ended.
        accepted: it had begun with the run.
    """
    if any(mark in exit.stderr for mark in _OUT_OF_MEMORY):
        return True
    # V8's allocator of array buffers traps without a word when the kernel gives no more. Its other aborts say why.
    return accepted and exit.status == -signal.SIGTRAP and not exit.stderr.strip()


def killed_for_memory(exit: Exit, limits: Limits, memory_peak: int) -> bool:
    """Nobody here killed the process, and it was about to be: the kernel was short of memory first.

    Args:
        exit: how it ended.
        limits: of the run.
        memory_peak: the most that it was seen to use, in bytes.
    """
    return exit.status == -signal.SIGKILL and memory_peak > _NEARLY * limits.memory_mb * MIB


def _hint(outcome: wire.Outcome, open_calls: int) -> str:
    """What helps the author of a program whose outcome alone does not."""
    if outcome.kind != wire.OUTCOME_RESULT:
        # The reader saw what the text looks like; the error may be the consequence.
        return outcome.hint[:_HINT_CHARS] if outcome.kind == wire.OUTCOME_THROWN else ""
    hints = [outcome.hint[:_HINT_CHARS]] if outcome.hint and outcome.form == 0 else []
    if open_calls:
        hints.append(f"{open_calls} tool calls had not been answered when the program ended: await every call.")
    elif outcome.form == 0 and not hints:
        hints.append(_NOTHING_RETURNED)
    return " ".join(hints)
