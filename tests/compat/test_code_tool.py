"""``create_code_tool`` and what it is made of."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from codemode_compat import (
    DEFAULT_DESCRIPTION,
    CodeExecutionFailed,
    ConnectorBinding,
    DynamicWorkerExecutor,
    ExecuteOptions,
    ExecuteResult,
    ResolvedProvider,
    ToolDescriptor,
    ToolProvider,
    create_code_tool,
    normalize_providers,
    resolve_provider,
    run_code,
)
from codemode_executor import BadRequest, Tool
from compat.functions import Functions

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "where"}}, "required": ["city"]}


class Recorder:
    """An executor of somebody else's."""

    def __init__(self, outcome: ExecuteResult) -> None:
        self.seen: list[tuple[str, list[str], list[str]]] = []
        self._outcome = outcome

    async def execute(
        self,
        code: str,
        providers_or_fns: Sequence[ResolvedProvider] | Mapping[str, Tool],
        options: ExecuteOptions | None = None,
    ) -> ExecuteResult:
        assert not isinstance(providers_or_fns, Mapping)
        self.seen.append((code, [it.name for it in providers_or_fns], [] if options is None else ["connectors"]))
        return self._outcome


class Binding:
    def call_tool(self, method: str, args: Any) -> Any:
        return [method, args]


@pytest.mark.parametrize("connectors", [[], [ConnectorBinding("c", Binding())]])
@pytest.mark.parametrize(
    "outcome",
    [
        ExecuteResult(1, None, []),
        ExecuteResult([1], None, ["a", "b"]),
        ExecuteResult(None, "it failed", []),
        ExecuteResult(None, "it failed", ["a", "[warn] b"]),
    ],
)
async def test_run_code_is_upstreams(
    upstream: Functions, outcome: ExecuteResult, connectors: list[ConnectorBinding]
) -> None:
    theirs = upstream(
        "runCode",
        outcome={"result": outcome.result, "error": outcome.error, "logs": outcome.logs},
        connectors=[{"name": it.name} for it in connectors],
    )
    executor = Recorder(outcome)
    running = run_code(
        code="async () => 1", executor=executor, providers=[ResolvedProvider("p", {})], connectors=connectors
    )
    if "message" in theirs:
        with pytest.raises(CodeExecutionFailed) as caught:
            await running
        assert str(caught.value) == theirs["message"]
        assert (caught.value.error, caught.value.logs) == (outcome.error, outcome.logs)
        assert str(pickle.loads(pickle.dumps(caught.value))) == theirs["message"]
    else:
        assert await running == theirs["value"]
    assert executor.seen == [(code, names, options or []) for code, names, options in theirs["seen"]]


async def test_an_executor_of_somebody_elses_gets_a_function() -> None:
    executor = Recorder(ExecuteResult(1))
    await run_code(code="```js\n1 + 1\n```", executor=executor, providers=[])
    assert executor.seen[0][0] == "async () => {\nreturn (1 + 1)\n}"


_TOOLS: dict[str, dict[str, Any]] = {
    "get-weather": {"description": "Weather", "inputSchema": SCHEMA, "functions": ["execute"]},
    "plain": {"inputSchema": True, "functions": ["execute"]},
    "shown.only": {"inputSchema": {}, "outputSchema": {"type": "string"}},
    "asked": {"inputSchema": {}, "needsApproval": True, "functions": ["execute"]},
    "asks": {"inputSchema": {}, "functions": ["execute", "needsApproval"]},
    "not asked": {"inputSchema": {}, "needsApproval": False, "functions": ["execute"]},
}


def _with_functions(tools: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        name: {key: value for key, value in tool.items() if key != "functions"}
        | dict.fromkeys(tool.get("functions", []), len)
        for name, tool in tools.items()
    }


@pytest.mark.parametrize("name", [None, "weather", ""])
def test_resolving_is_upstreams(upstream: Functions, name: str | None) -> None:
    theirs = upstream("resolveProvider", provider={"tools": _TOOLS, **({} if name is None else {"name": name})})
    ours = resolve_provider(ToolProvider(_with_functions(_TOOLS), name))
    assert [ours.name, list(ours.fns)] == theirs


@pytest.mark.parametrize("description", [None, "Use {{types}}, and {{types}}."])
def test_a_tool_is_upstreams(upstream: Functions, description: str | None) -> None:
    theirs = upstream("createBrowserCodeTool", tools=_TOOLS, description=description)
    ours = create_code_tool(tools=_with_functions(_TOOLS), description=description)
    assert theirs == {
        "name": ours.name,
        "description": ours.description,
        "inputSchema": ours.input_schema,
        "outputSchema": ours.output_schema,
    }


def test_the_usual_description_is_upstreams(upstream: Functions) -> None:
    theirs = upstream("createBrowserCodeTool", tools={}, description=None)["description"]
    assert theirs == DEFAULT_DESCRIPTION.replace("{{types}}", "declare const codemode: {}")


async def test_a_tool_executes_programs() -> None:
    def weather(query: dict[str, str]) -> str:
        return f"sunny in {query['city']}"

    async with DynamicWorkerExecutor() as executor:
        tool = create_code_tool(
            tools=[
                ToolProvider({"get-weather": ToolDescriptor(weather, "Weather", SCHEMA)}),
                ToolProvider({"get": {"execute": lambda: 1}}, name="db", types="declare const db: { get(): number }"),
            ],
            executor=executor,
        )
        assert "get_weather: (input: GetWeatherInput)" in tool.description
        assert "declare const db: { get(): number }" in tool.description
        arguments = {"code": "async () => [await codemode.get_weather({city: 'Oslo'}), await db.get()]"}
        assert await tool.execute(**arguments) == {"result": ["sunny in Oslo", 1]}
        assert await tool.execute("console.log('x'); 5") == {"result": 5, "logs": ["x"]}
        with pytest.raises(CodeExecutionFailed, match=r"^Code execution failed: no\n\nConsole output:\nbefore$"):
            await tool.execute("async () => { console.log('before'); throw new Error('no') }")


async def test_a_tool_has_an_executor_of_its_own_unless_one_is_given() -> None:
    tool = create_code_tool(tools={"f": ToolDescriptor(lambda: 5)})
    assert await asyncio.gather(tool.execute("codemode.f()"), tool.execute("async () => 1")) == [
        {"result": 5},
        {"result": 1},
    ]


def test_types_are_text_and_no_instructions() -> None:
    tool = create_code_tool(tools=[ToolProvider({}, types="$& $$ $1 \\1")], description="[{{types}}]")
    assert tool.description == "[$& $$ $1 \\1]"


def test_providers_without_types_leave_no_gap() -> None:
    providers = [ToolProvider({}, "a", ""), ToolProvider({}, "b", "B"), ToolProvider({}, "c", "C")]
    assert create_code_tool(tools=providers, description="{{types}}").description == "B\n\nC"


def test_tools_by_name_are_one_provider() -> None:
    tools = {"f": ToolDescriptor(len)}
    assert normalize_providers(tools) == [ToolProvider(tools)]
    assert normalize_providers([ToolProvider(tools, "a")]) == [ToolProvider(tools, "a")]


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({"a": 5}, "the tool 'a' must be a ToolDescriptor or a mapping, not int: ToolDescriptor(execute=…)"),
        (
            {"a": len},
            "the tool 'a' must be a ToolDescriptor or a mapping, not builtin_function_or_method:"
            " ToolDescriptor(execute=…)",
        ),
        ({1: ToolDescriptor(len)}, "tools has the name 1: names of tools are strings, not int"),
        ({"a": {"execute": 5}}, "the tool 'a' has an execute that is not callable: 5"),
        ([5], "tools[0] must be a ToolProvider, not int"),
        ([ToolProvider(5)], "tools must be a mapping of names to tools, not int"),  # pyright: ignore[reportArgumentType]
        (
            {"a.b": ToolDescriptor(len), "a_b": ToolDescriptor(len)},
            'Tool names "a.b" and "a_b" both sanitize to "a_b"',
        ),
    ],
)
def test_unusable_tools_are_refused(tools: Any, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        create_code_tool(tools=tools)
    assert str(caught.value) == message


def test_other_unusable_arguments_are_refused() -> None:
    with pytest.raises(BadRequest, match="description must be a string, not int"):
        create_code_tool(tools={}, description=5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadRequest, match="provider must be a ToolProvider, not dict"):
        resolve_provider({})  # pyright: ignore[reportArgumentType]
