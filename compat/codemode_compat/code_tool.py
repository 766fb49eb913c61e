"""One tool for a model that executes programs: what to tell it, and what to do with its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from codemode_executor import BadRequest, Tool

from .contract import (
    CodeOutput,
    ConnectorBinding,
    ExecuteOptions,
    Executor,
    ResolvedProvider,
    ToolDescriptor,
    ToolProvider,
    ToolRecord,
)
from .executor import DynamicWorkerExecutor
from .names import collision
from .normalize import normalize_code
from .schema_types import generate_types_from_json_schema, member

#: The description of ``create_code_tool`` unless another is given; ``{{types}}`` stands for the tools.
#: Upstream's ``DEFAULT_DESCRIPTION``, to the letter: models are tuned to it.
DEFAULT_DESCRIPTION = """\
Execute code to achieve a goal.

Available:
{{types}}

Write an async arrow function in JavaScript that returns the result.
Do NOT use TypeScript syntax — no type annotations, interfaces, or generics.
Do NOT define named functions then call them — just write the arrow function body directly.

Example: async () => { const r = await codemode.searchWeb({ query: "test" }); return r; }"""


class CodeExecutionFailed(Exception):
    """A program failed. The message is for the model: it has the error, and what was logged.

    Attributes:
        error: the program's error.
        logs: what it logged.
    """

    def __init__(self, error: str, logs: Sequence[str] = ()) -> None:
        printed = "\n\nConsole output:\n" + "\n".join(logs) if logs else ""
        super().__init__(f"Code execution failed: {error}{printed}")
        self.error = error
        self.logs = list(logs)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.error, self.logs)


async def run_code(
    *,
    code: str,
    executor: Executor,
    providers: Sequence[ResolvedProvider],
    connectors: Sequence[ConnectorBinding] | None = None,
) -> CodeOutput:
    """Run one program, and raise if it fails.

    Args:
        code: what the model sent.
        executor: runs it. One that is not ours gets the text as ``normalize_code`` gives it.
        providers: the namespaces of tools.
        connectors: further namespaces.

    Returns:
        ``{"result": …}``, with ``logs`` if there are any.

    Raises:
        CodeExecutionFailed: the program failed.
        ExecutorError: as ``DynamicWorkerExecutor.execute``.

    Mirrors upstream's ``runCode``, whose argument is one object.
    """
    program = code if isinstance(executor, DynamicWorkerExecutor) else await normalize_code(code)
    outcome = await executor.execute(program, providers, ExecuteOptions(connectors) if connectors else None)
    if outcome.error:
        raise CodeExecutionFailed(outcome.error, outcome.logs)
    if outcome.logs:
        return {"result": outcome.result, "logs": outcome.logs}
    return {"result": outcome.result}


def resolve_provider(provider: ToolProvider) -> ResolvedProvider:
    """A provider ready to be executed: the functions of its tools.

    Tools that need approval are dropped, and those that have nothing to execute. Arguments are not checked against
    schemas.

    Raises:
        BadRequest: ``provider`` is not a ``ToolProvider``, or a tool of it is unusable.

    Mirrors upstream's ``resolveProvider``.
    """
    if not isinstance(provider, ToolProvider):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadRequest(f"provider must be a ToolProvider, not {type(provider).__name__}")
    return ResolvedProvider(_name(provider), _functions(_without_approval(provider.tools)))


def normalize_providers(tools: ToolRecord | Sequence[ToolProvider]) -> list[ToolProvider]:
    """``tools`` as a list of providers; tools by name are one provider without a name.

    Mirrors upstream's ``normalizeProviders``.
    """
    if isinstance(tools, Mapping):
        return [ToolProvider(tools)]
    for index, provider in enumerate(tools):
        if not isinstance(provider, ToolProvider):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"tools[{index}] must be a ToolProvider, not {type(provider).__name__}")
    return list(tools)


@dataclass(frozen=True, slots=True)
class CodeTool:
    """A tool for any framework.

    Attributes:
        name: ``codemode``.
        description: for the model, with the types of the tools in it.
        input_schema: JSON Schema of the argument: an object with ``code``.
        output_schema: JSON Schema of what ``execute`` returns.

    Mirrors upstream's ``BrowserCodeToolDescriptor``.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    _executor: Executor
    _providers: tuple[ResolvedProvider, ...]

    async def execute(self, code: str) -> CodeOutput:
        """Run what the model sent: ``await tool.execute(**arguments)``.

        Returns, raises: as ``run_code``.
        """
        return await run_code(code=code, executor=self._executor, providers=self._providers)


def create_code_tool(
    *,
    tools: ToolRecord | Sequence[ToolProvider],
    executor: Executor | None = None,
    description: str | None = None,
) -> CodeTool:
    """One tool that executes programs, which call ``tools``.

    Args:
        tools: by name, which makes them the namespace ``codemode``; or a list of providers. Tools that need approval
            are left out.
        executor: runs the programs; a ``DynamicWorkerExecutor`` if none is given.
        description: for the model; ``{{types}}`` in it is replaced by the TypeScript declarations of the tools.

    Raises:
        BadRequest: an argument is unusable, or two tools of a provider have one name for programs.

    Mirrors upstream's ``createBrowserCodeTool``, with the providers of ``createCodeTool`` of
    ``@cloudflare/codemode/ai``. Upstream reads ``$&`` and ``$$`` in the declarations as instructions; here they are
    text.
    """
    if description is not None and not isinstance(description, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadRequest(f"description must be a string, not {type(description).__name__}")
    blocks: list[str] = []
    resolved: list[ResolvedProvider] = []
    for provider in normalize_providers(tools):
        name = _name(provider)
        usable = _without_approval(provider.tools)
        blocks.append(generate_types_from_json_schema(usable, name) if provider.types is None else provider.types)
        functions = _functions(usable)
        clash = collision(functions)
        if clash is not None:
            raise BadRequest(clash)
        resolved.append(ResolvedProvider(name, functions))
    types = "\n\n".join(block for block in blocks if block)
    text = DEFAULT_DESCRIPTION if description is None else description
    return CodeTool(
        name="codemode",
        description=text.replace("{{types}}", types, 1),
        input_schema={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "JavaScript async arrow function to execute"}},
            "required": ["code"],
        },
        output_schema={
            "type": "object",
            "properties": {
                "result": {"description": "The return value of the executed code"},
                "logs": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Console output captured during execution",
                },
            },
            "required": ["result"],
        },
        _executor=DynamicWorkerExecutor() if executor is None else executor,
        _providers=tuple(resolved),
    )


def _name(provider: ToolProvider) -> str:
    return "codemode" if provider.name is None else provider.name


def _without_approval(tools: object) -> dict[str, ToolDescriptor | Mapping[str, Any]]:
    if not isinstance(tools, Mapping):
        raise BadRequest(f"tools must be a mapping of names to tools, not {type(tools).__name__}")
    usable: dict[str, ToolDescriptor | Mapping[str, Any]] = {}
    for name, tool in cast("Mapping[object, object]", tools).items():
        if not isinstance(name, str):
            raise BadRequest(f"tools has the name {name!r}: names of tools are strings, not {type(name).__name__}")
        if not isinstance(tool, (ToolDescriptor, Mapping)):
            raise BadRequest(
                f"the tool {name!r} must be a ToolDescriptor or a mapping, not {type(tool).__name__}:"
                " ToolDescriptor(execute=…)"
            )
        approval = member(cast(object, tool), "needs_approval", "needsApproval")
        if approval is not True and not callable(approval):
            usable[name] = cast("ToolDescriptor | Mapping[str, Any]", tool)
    return usable


def _functions(tools: ToolRecord) -> dict[str, Tool]:
    functions: dict[str, Tool] = {}
    for name, tool in tools.items():
        execute = member(tool, "execute")
        if execute is None:
            continue
        if not callable(execute):
            raise BadRequest(f"the tool {name!r} has an execute that is not callable: {execute!r}")
        functions[name] = execute
    return functions
