"""The public names of the compat layer, exactly. A change here is a change of the API."""

from __future__ import annotations

import inspect
import subprocess
import sys

import codemode_compat

PUBLIC = """
CallsTools CodeExecutionFailed CodeOutput CodeTool ConnectorBinding DEFAULT_DESCRIPTION DynamicWorkerExecutor
ExecuteOptions ExecuteResult Executor ResolvedProvider RetainedExecuteResult ToolDescriptor ToolDispatcher
ToolProvider ToolRecord create_code_tool generate_types_from_json_schema json_schema_to_type normalize_code
normalize_providers resolve_provider run_code sanitize_tool_name truncate_response truncate_result
"""
#: What has no counterpart upstream, and says so by not naming one.
_OURS = {"CallsTools", "CodeExecutionFailed", "RetainedExecuteResult"}


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(codemode_compat.__all__) == sorted(PUBLIC.split())


def test_everything_public_says_what_it_mirrors() -> None:
    for name in codemode_compat.__all__:
        value = getattr(codemode_compat, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            text = inspect.getdoc(value) or ""
            assert text, name
            assert "Mirrors upstream's" in text or name in _OURS, name


def test_it_is_imported_without_starting_anything() -> None:
    code = "import sys, codemode_compat; print('py_mini_racer' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False False\n", "")
