"""A run as it was asked for, validated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .call_server import CallServer
from .contract import LogLine
from .limits import Limits
from .tools import ToolTable
from .wire.messages import ModuleSource

OnLog = Callable[[LogLine], None]


@dataclass(frozen=True)
class Request:
    """Everything in it has been checked and encoded.

    Attributes:
        code: the program, well-formed.
        table: who serves its tool calls.
        env: JSON object.
        limits: of this run.
        on_log: called with every line as it arrives.
        tenant: on whose behalf.
        modules: what the program may import.
        normalize: do not run it, say what upstream's normalised text of it is.
        retain: functions in its result become handles.
        on_admitted: called once, when a worker is there and before the run is handed to it. Until then a refusal means
            that nothing has run.
        calls: serves its calls; ``None`` where ``table`` does.
    """

    code: str
    table: ToolTable
    env: bytes
    limits: Limits
    on_log: OnLog | None
    tenant: str | None
    modules: list[ModuleSource] = field(default_factory=list[ModuleSource])
    normalize: bool = False
    retain: bool = False
    on_admitted: Callable[[], None] | None = None
    calls: CallServer | None = None
