"""Writes the table of upstream's exports into docs/compat.md, from the data below.

python scripts/compat_exports.py            writes it
python scripts/compat_exports.py --check    fails if it is not what the data says
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "compat.md"
_BLOCK = re.compile(r"(<!-- upstream's exports -->\n).*?(<!-- end of upstream's exports -->)", re.DOTALL)


@dataclass(frozen=True)
class Mirrored:
    """Attributes:
    name: in ``codemode_compat``; of a type that Python has no need of, empty.
    how: what differs.
    """

    name: str
    how: str = ""


@dataclass(frozen=True)
class OnBridge:
    """A JavaScript host uses upstream's own, on the executor of the Node bridge."""

    why: str


@dataclass(frozen=True)
class OutOfScope:
    """Neither."""

    why: str


Place = Mirrored | OnBridge | OutOfScope

_RUNTIME = OnBridge(
    "part of the durable runtime: executions that are recorded, paused and replayed in a Durable Object"
)
_CONNECTOR = OnBridge("connectors for the durable runtime; a host in Python implements `call_tool`")
_AI = OnBridge("adapts tools of the AI SDK")
_TANSTACK = OnBridge("adapts tools of TanStack AI")
_MCP = OnBridge("builds a server of the TypeScript MCP SDK")
_BROWSER = OutOfScope("runs programs in an iframe of a browser")
_CODE_INPUT = Mirrored("", "the argument of `CodeTool.execute`")
_TOOL_OPTIONS = Mirrored("create_code_tool", "its keyword arguments")

EXPORTS: dict[str, dict[str, Place]] = {
    ".": {
        "CodemodeApproveOptions": _RUNTIME,
        "CodemodeConnector": _CONNECTOR,
        "CodemodeExpireOptions": _RUNTIME,
        "CodemodeRejectOptions": _RUNTIME,
        "CodemodeRollbackOptions": _RUNTIME,
        "CodemodeRuntime": _RUNTIME,
        "CodemodeRuntimeHandle": _RUNTIME,
        "CodemodeRuntimeToolOptions": _RUNTIME,
        "ConnectorBinding": Mirrored("ConnectorBinding", "`binding` has `call_tool`, sync or async"),
        "ConnectorDescription": _CONNECTOR,
        "ConnectorTool": _CONNECTOR,
        "ConnectorTools": _CONNECTOR,
        "CreateCodemodeRuntimeOptions": _RUNTIME,
        "DEFAULT_MAX_EXECUTIONS": _RUNTIME,
        "DEFAULT_PAUSED_TTL_MS": _RUNTIME,
        "DescribeOutput": _RUNTIME,
        "DynamicWorkerExecutor": Mirrored("DynamicWorkerExecutor", "no `loader`; `engine`, `aclose`"),
        "DynamicWorkerExecutorOptions": Mirrored("DynamicWorkerExecutor", "its arguments"),
        "ExecuteOptions": Mirrored("ExecuteOptions"),
        "ExecuteResult": Mirrored(
            "ExecuteResult", "`error` is `None` and `logs` a list where upstream leaves them out"
        ),
        "ExecutionEndStatus": _RUNTIME,
        "ExecutionState": _RUNTIME,
        "ExecutionStatus": _RUNTIME,
        "Executor": Mirrored("Executor", "a protocol"),
        "JsonSchemaToolDescriptor": Mirrored("ToolDescriptor", "or a mapping with upstream's keys"),
        "JsonSchemaToolDescriptors": Mirrored("ToolRecord"),
        "MAX_DURABLE_VALUE_BYTES": _RUNTIME,
        "McpConnectionLike": _CONNECTOR,
        "McpConnector": _CONNECTOR,
        "OpenApiConnector": _CONNECTOR,
        "OpenApiRequestOptions": _CONNECTOR,
        "PassEndStatus": _RUNTIME,
        "PendingAction": _RUNTIME,
        "ProxyToolInput": _RUNTIME,
        "ProxyToolOutput": _RUNTIME,
        "ResolvedProvider": Mirrored("ResolvedProvider", "functions may be sync"),
        "SaveSnippetOptions": _RUNTIME,
        "SearchOutput": _RUNTIME,
        "SearchResult": _RUNTIME,
        "Snippet": _RUNTIME,
        "ToolAnnotations": _CONNECTOR,
        "ToolDecision": _RUNTIME,
        "ToolDispatcher": Mirrored("ToolDispatcher", "only what it was given can be called"),
        "ToolExecuteContext": _CONNECTOR,
        "ToolLogEntry": _RUNTIME,
        "ToolProvider": Mirrored("ToolProvider"),
        "TransformResult": _RUNTIME,
        "TruncateOptions": Mirrored("truncate_result", "its keyword arguments"),
        "createCodemodeRuntime": _RUNTIME,
        "generateTypesFromJsonSchema": Mirrored("generate_types_from_json_schema", "takes a `namespace`"),
        "jsonSchemaToType": Mirrored("json_schema_to_type", "unions in arrays are in parentheses; never raises"),
        "normalizeCode": Mirrored("normalize_code", "a coroutine"),
        "resolveProvider": Mirrored("resolve_provider"),
        "runCode": Mirrored("run_code", "keyword arguments; raises `CodeExecutionFailed`"),
        "sanitizeToolName": Mirrored("sanitize_tool_name"),
        "truncateResponse": Mirrored("truncate_response", "keyword arguments; cuts no character in half"),
        "truncateResult": Mirrored("truncate_result", "keyword arguments"),
    },
    "./ai": {
        "CodeInput": _CODE_INPUT,
        "CodeOutput": Mirrored("CodeOutput"),
        "CreateCodeToolOptions": _TOOL_OPTIONS,
        "ToolDescriptor": Mirrored("ToolDescriptor", "JSON Schema or a pydantic model instead of Zod"),
        "ToolDescriptors": Mirrored("ToolRecord"),
        "ToolSetConnector": _AI,
        "ToolSetConnectorOptions": _AI,
        "aiTools": _AI,
        "createCodeTool": Mirrored("create_code_tool", "a plain object for any framework; arguments are not checked"),
        "generateTypes": Mirrored("generate_types_from_json_schema", "from JSON Schema only"),
        "resolveProvider": Mirrored("resolve_provider", "arguments are not checked against schemas"),
        "toolSetConnector": _AI,
    },
    "./browser": {
        "BrowserCodeToolDescriptor": Mirrored("CodeTool", "`execute(code)` instead of `execute({ code })`"),
        "CreateBrowserCodeToolOptions": _TOOL_OPTIONS,
        "ExecuteResult": Mirrored("ExecuteResult"),
        "Executor": Mirrored("Executor"),
        "IframeSandboxExecutor": _BROWSER,
        "IframeSandboxExecutorOptions": _BROWSER,
        "JsonSchemaExecutableToolDescriptor": Mirrored("ToolDescriptor"),
        "JsonSchemaExecutableToolDescriptors": Mirrored("ToolRecord"),
        "JsonSchemaToolDescriptor": Mirrored("ToolDescriptor"),
        "JsonSchemaToolDescriptors": Mirrored("ToolRecord"),
        "ResolvedProvider": Mirrored("ResolvedProvider"),
        "createBrowserCodeTool": Mirrored("create_code_tool", "its executor is a `DynamicWorkerExecutor`"),
    },
    "./mcp": {
        "CodeMcpServerOptions": _MCP,
        "OpenApiMcpRequestContext": _MCP,
        "OpenApiMcpServerOptions": _MCP,
        "RequestOptions": _MCP,
        "codeMcpServer": _MCP,
        "openApiMcpServer": _MCP,
    },
    "./tanstack-ai": {
        "CodeInput": _CODE_INPUT,
        "CodeOutput": Mirrored("CodeOutput"),
        "CreateCodeToolOptions": _TOOL_OPTIONS,
        "DEFAULT_DESCRIPTION": Mirrored("DEFAULT_DESCRIPTION"),
        "createCodeTool": Mirrored("create_code_tool"),
        "generateTypes": Mirrored("generate_types_from_json_schema", "from JSON Schema only"),
        "normalizeProviders": Mirrored("normalize_providers"),
        "resolveProvider": Mirrored("resolve_provider"),
        "tanstackTools": _TANSTACK,
    },
    "./vite": {"default": OutOfScope("a plugin that adds the durable runtime's class to a Worker's exports")},
}


def table() -> Iterator[str]:
    """The lines of the table."""
    for entry, names in EXPORTS.items():
        yield ""
        yield f"**`@cloudflare/codemode{entry[1:]}`**"
        yield ""
        yield "| TypeScript | Python | |"
        yield "| --- | --- | --- |"
        yield from (f"| `{name}` | {_cells(place)} |" for name, place in names.items())
    yield ""


def _cells(place: Place) -> str:
    if isinstance(place, Mirrored):
        return f"{f'`{place.name}`' if place.name else '—'} | {place.how}"
    if isinstance(place, OnBridge):
        return f"upstream's own, on the Node bridge | {place.why}"
    return f"out of scope | {place.why}"


def render(text: str) -> str:
    """``text`` with the table as the data has it."""
    return _BLOCK.sub(lambda match: match[1] + "\n".join(table()) + "\n" + match[2], text)


def main() -> int:
    text = PAGE.read_text()
    fresh = render(text)
    if fresh == text:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{PAGE.name} is not up to date: run python scripts/compat_exports.py")
        return 1
    PAGE.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
