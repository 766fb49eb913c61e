"""What goes into a run and what comes out of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from .jail import JailReport, ProbeResult, ThreadStatus

if TYPE_CHECKING:
    from .retained import Retained

#: A tool of a provider: called with the program's arguments, positionally. Its result is encoded as JSON.
Tool = Callable[..., Any]

#: Serves declared tool names: ``(provider, tool, args_json) -> '{"result": …}'`` or ``'{"error": …}'``.
Dispatch = Callable[[str, str, str], Awaitable[str]]

#: The bound of the run that ended it, or ``None``.
Bound = Literal["timeout", "cpu", "memory", "tool_calls", "result"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A namespace of tools in the program's scope.

    Attributes:
        name: the identifier under which a program finds the namespace, for example ``billing``.
        tools: callables by name (sync or async), or only names, which the run's ``dispatch`` then serves. A program may
            use a name as it is given (``codemode["issues.list"]``) or as upstream's ``sanitizeToolName`` writes it
            (``codemode.issues_list``).
        prelude: statements that run before the program, with the namespace in scope. What they assign to it comes
            before its tools.

    Mirrors upstream's ``ResolvedProvider``.
    """

    name: str
    tools: Mapping[str, Tool] | Sequence[str] = field(default_factory=dict[str, Tool])
    prelude: str = ""


#: Serves a connector: called with the method's name and the first argument of the call.
ConnectorCall = Callable[[str, Any], Any]


@dataclass(frozen=True, slots=True)
class Connector:
    """A namespace without a list of tools: every method of it is a call of ``call(method, argument)``.

    Argument and result cross as by structured clone: ``datetime``, sets, big integers and NaN survive both ways. A
    result ``{"__codemode_control__": "pause"}`` ends the call with the Error "__CODEMODE_PAUSE__", and
    ``{"__codemode_control__": "error", "message": …}`` with an Error of that message.

    Attributes:
        name: the identifier under which a program finds the namespace.
        call: sync or async; ``None`` where the run's ``dispatch`` serves it. It is then called with the argument as
            ``form`` (one digit) and text, and answers ``{"result": …}`` of that same shape; see ``values/clone_codec``.

    Mirrors upstream's ``ConnectorBinding``.
    """

    name: str
    call: ConnectorCall | None = None


#: How a module is read: ``js``, an ES module or TypeScript; ``cjs``, a CommonJS module; or what its default export is:
#: ``json`` the value, ``text`` the text, ``data`` an ``ArrayBuffer`` of the bytes.
ModuleKind = Literal["js", "cjs", "json", "text", "data"]


@dataclass(frozen=True, slots=True)
class Module:
    """A module that a program may import.

    Attributes:
        source: its text; for ``data``, its bytes.
        kind: how it is read.

    Mirrors the values of upstream's ``modules`` option, which are plain strings for ``js``.
    """

    source: str | bytes
    kind: ModuleKind = "js"


class LogLine(msgspec.Struct, frozen=True):
    """One line that the program logged.

    Attributes:
        level: ``log``, ``warn``, ``error``, ``info``, ``debug``, ``trace``, ``dir``, ``table``,
            ``assert``; ``uncaught`` for what a timer's callback threw; ``notice`` for what the harness has to say.
        text: the arguments, each as a string, joined by a space.
    """

    level: str
    text: str

    def __str__(self) -> str:
        return self.text if self.level in ("log", "dir", "table") else f"[{self.level}] {self.text}"


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """More about an outcome than upstream's envelope has room for.

    Attributes:
        name: ``name`` of the value that was thrown, for example ``TypeError``; empty if it has none.
        stack: the stack in the program's own lines and columns; empty if there is none.
        bound: the bound that ended the run, if one did.
        hint: a sentence that helps where the outcome alone does not, for example after a program that returned nothing.
    """

    name: str = ""
    stack: str = ""
    bound: Bound | None = None
    hint: str = ""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What a run used. Times in seconds, sizes in bytes.

    Attributes:
        queue_s: waiting for a worker.
        wall_s: from handing the run to its worker to its outcome.
        cpu_s: processor time of the worker for this run, as the worker measured it; 0 if it could not say.
        tool_s: time during which at least one tool call was in flight.
        memory_peak: highest growth of resident memory over the waiting worker, as sampled every 20 ms; 0 for a run that
            ended before the first sample.
        tool_calls: calls that reached the host.
        bytes_out: arguments and result, leaving the isolate.
        bytes_in: program and tool results, entering it.
        headroom: for each bound that a run uses up, by its name in ``Limits``, the part that was left: 1.0 for an
            untouched one, 0.0 for one that was reached.
    """

    queue_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    tool_s: float = 0.0
    memory_peak: int = 0
    tool_calls: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    headroom: dict[str, float] = {}


class ExecuteResult(msgspec.Struct, frozen=True, kw_only=True):
    """The envelope: all that survives a run. Read ``error`` first.

    Attributes:
        result: the value that the program returned; ``None`` if it returned nothing or failed.
        error: ``None``, or the message of what the program threw, never empty.
        logs: what it logged, in order, each line with its level unless that is ``log``.
        detail: more about how it ended.
        usage: what it used.
        retained: what holds the functions in ``result`` alive, where there are any and ``retain_handles`` was set.

    Mirrors upstream's ``ExecuteResult`` (``result``, ``error``, ``logs``); ``detail`` and ``usage`` are additions.
    """

    result: Any = None
    error: str | None = None
    logs: list[str] = []
    detail: Detail = Detail()
    usage: Usage = Usage()
    retained: Retained | None = None


class EngineReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is made of, and what its jail proved.

    Attributes:
        engine: the binding to V8.
        v8: version of V8.
        v8_sandbox: V8's own heap sandbox is in force.
        jail: the layers, in the order in which they were applied.
        probes: what the worker tried from inside; ``blocked`` false is a breach.
        without_snapshots: why isolates do not begin with V8 snapshots, which makes them slower; empty if they do.
        threads: every thread of the worker as the kernel shows it to an outsider.
    """

    engine: str
    v8: str
    v8_sandbox: bool
    jail: JailReport
    probes: list[ProbeResult]
    threads: list[ThreadStatus]
    without_snapshots: str = ""
