"""Upstream's names on our engine, for hosts that know ``@cloudflare/codemode``.

Start with :class:`DynamicWorkerExecutor`; :func:`create_code_tool` is for hosts that give a model one tool.
"""

from codemode_executor.values import sanitize_tool_name

from .code_tool import (
    DEFAULT_DESCRIPTION,
    CodeExecutionFailed,
    CodeTool,
    create_code_tool,
    normalize_providers,
    resolve_provider,
    run_code,
)
from .contract import (
    CallsTools,
    CodeOutput,
    ConnectorBinding,
    ExecuteOptions,
    ExecuteResult,
    Executor,
    ResolvedProvider,
    RetainedExecuteResult,
    ToolDescriptor,
    ToolProvider,
    ToolRecord,
)
from .dispatcher import ToolDispatcher
from .executor import DynamicWorkerExecutor
from .normalize import normalize_code
from .schema_types import generate_types_from_json_schema, json_schema_to_type
from .truncate import truncate_response, truncate_result

__all__ = [
    "DEFAULT_DESCRIPTION",
    "CallsTools",
    "CodeExecutionFailed",
    "CodeOutput",
    "CodeTool",
    "ConnectorBinding",
    "DynamicWorkerExecutor",
    "ExecuteOptions",
    "ExecuteResult",
    "Executor",
    "ResolvedProvider",
    "RetainedExecuteResult",
    "ToolDescriptor",
    "ToolDispatcher",
    "ToolProvider",
    "ToolRecord",
    "create_code_tool",
    "generate_types_from_json_schema",
    "json_schema_to_type",
    "normalize_code",
    "normalize_providers",
    "resolve_provider",
    "run_code",
    "sanitize_tool_name",
    "truncate_response",
    "truncate_result",
]
