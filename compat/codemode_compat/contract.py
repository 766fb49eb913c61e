"""The shapes of upstream's contract, as Python has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from codemode_executor import Retained, Tool


@dataclass(frozen=True, slots=True)
class ExecuteResult:
    """What a program came to. Read ``error`` first.

    Attributes:
        result: the value that it returned, as the native ``ExecuteResult`` has it; ``None`` if it returned nothing or
            failed.
        error: ``None``, or the message of what failed, never empty.
        logs: what it wrote to ``console.log``, ``console.warn`` (``[warn] …``) and ``console.error`` (``[error] …``),
            in order. If it wrote more than is kept, the last line says so (``[notice] …``).

    Mirrors upstream's ``ExecuteResult``. Upstream leaves ``error`` out of a success, and ``logs`` out where names are
    refused; here they are ``None`` and an empty list.
    """

    result: Any = None
    error: str | None = None
    logs: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class RetainedExecuteResult(ExecuteResult):
    """What a program came to whose host asked for handles.

    Attributes:
        retained: holds the functions in ``result`` alive, if there are any: dispose it.
    """

    retained: Retained | None = None


@dataclass(frozen=True, slots=True)
class ResolvedProvider:
    """A namespace of tools, ready to be executed.

    Attributes:
        name: the identifier under which a program finds it.
        fns: functions by name, sync or async. They are called with the program's arguments, positionally; most programs
            pass one object, which is a ``dict`` here.
        prelude: statements of JavaScript that run before the program, with every namespace in scope. What they assign
            to this one comes before its tools.

    Mirrors upstream's ``ResolvedProvider``. A function that is not ``async`` runs on a thread.
    """

    name: str
    fns: Mapping[str, Tool]
    prelude: str | None = None


class CallsTools(Protocol):
    """What serves a connector."""

    def call_tool(self, method: str, args: Any) -> Any:
        """Serve one call.

        Args:
            method: the name that the program called.
            args: its first argument, as by structured clone; ``None`` if there is none.

        Returns:
            What the program gets, or something to be awaited for it. ``{"__codemode_control__": "pause"}`` and
            ``{"__codemode_control__": "error", "message": …}`` end the call with an Error in the program.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConnectorBinding:
    """A namespace without a list of tools: every method of it is a call of ``binding.call_tool(method, args)``.

    Attributes:
        name: the identifier under which a program finds it.
        binding: serves the calls.

    Mirrors upstream's ``ConnectorBinding``, whose binding has ``callTool``.
    """

    name: str
    binding: CallsTools


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """Options of one ``execute``.

    Attributes:
        connectors: further namespaces.
        retain_handles: functions in the result become handles, which the host can call until it disposes
            ``RetainedExecuteResult.retained``. Without it a function in a result is an error.

    Mirrors upstream's ``ExecuteOptions``, which has no ``retain_handles``: there, functions in a result are stubs of
    Workers RPC, which live until they are disposed or the host's own request ends.
    """

    connectors: Sequence[ConnectorBinding] = ()
    retain_handles: bool = False


class Executor(Protocol):
    """Runs programs. ``DynamicWorkerExecutor`` is one; ``run_code`` and ``create_code_tool`` take any.

    Mirrors upstream's ``Executor``.
    """

    def execute(
        self,
        code: str,
        providers_or_fns: Sequence[ResolvedProvider] | Mapping[str, Tool],
        options: ExecuteOptions | None = None,
    ) -> Awaitable[ExecuteResult]:
        """Run one program. What a program did is never raised."""
        ...


@dataclass(frozen=True, slots=True)
class ToolDescriptor:
    """A tool, as ``resolve_provider`` and ``create_code_tool`` take it.

    Attributes:
        execute: called with the program's arguments, sync or async. A tool without is shown to the model, and cannot be
            called.
        description: for the model.
        input_schema: JSON Schema of its argument, or a pydantic model class. It is written as a type for the model;
            arguments are not checked against it.
        output_schema: the same of what it returns.
        needs_approval: ``True``, or a function: a program cannot call it, nor is it shown.

    Mirrors upstream's ``JsonSchemaToolDescriptor`` with the parts of a ``ToolSet`` that matter. Wherever one is taken,
    a mapping with upstream's keys (``inputSchema``, ``needsApproval``, …) will do.
    """

    execute: Tool | None = None
    description: str | None = None
    input_schema: object = None
    output_schema: object = None
    needs_approval: bool | Callable[..., object] = False


#: Tools by name: ``ToolDescriptor`` objects, or mappings with upstream's keys.
ToolRecord = Mapping[str, ToolDescriptor | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ToolProvider:
    """Tools under a namespace.

    Attributes:
        tools: by name.
        name: the namespace; ``codemode`` if it is ``None``.
        types: TypeScript declarations for the model; made from the tools' schemas if they are ``None``.

    Mirrors upstream's ``ToolProvider``.
    """

    tools: ToolRecord
    name: str | None = None
    types: str | None = None


class _Logs(TypedDict, total=False):
    logs: list[str]


class CodeOutput(_Logs):
    """What ``run_code`` returns: ``result``, and ``logs`` if there are any.

    Mirrors upstream's ``CodeOutput``.
    """

    result: Any
