"""From how a run ended to the parts of its envelope."""

from __future__ import annotations

from .contract import Usage
from .ending import Ending
from .run import HostRun
from .wire import messages as wire


def error_of(ending: Ending) -> str | None:
    """The envelope's ``error``: ``None`` for a run that answered, else never empty."""
    if ending.kind == wire.OUTCOME_RESULT:
        return None
    message = ending.message
    if ending.kind == wire.OUTCOME_TEXT and ending.name:
        message = f"{ending.name}: {message}"
    return message or "the program failed without a message"


def usage_of(run: HostRun, ending: Ending, queue_s: float) -> Usage:
    """What a run used, when it has answered."""
    return Usage(
        queue_s=queue_s,
        wall_s=run.ended - run.started,
        cpu_s=ending.cpu_s,
        tool_s=run.tool_s,
        memory_peak=run.memory_peak,
        tool_calls=run.tool_calls,
        bytes_out=run.bytes_out,
        bytes_in=run.bytes_in,
        headroom=run.headroom(len(ending.value)),
    )
