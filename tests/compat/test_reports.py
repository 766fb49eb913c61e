"""Public reports about executors of programs: each is a test here or elsewhere, a documented decision, or still open.

``reports.jsonl`` is the list. Reports are numbered as in the project's collection of them; ``corpus`` are cases of
``tests/side_by_side``, ``tests`` are tests by file and name, ``pending`` is the issue that will bring one.
"""

from __future__ import annotations

import ast
import asyncio
import functools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codemode_compat import (
    ConnectorBinding,
    DynamicWorkerExecutor,
    ExecuteOptions,
    ResolvedProvider,
    ToolDescriptor,
    create_code_tool,
    normalize_code,
    run_code,
)
from codemode_executor import execute_sync
from side_by_side.corpus import cases

ROOT = Path(__file__).parents[2]
ALL = """
R001 R002 R003 R004 R005 R006 R007 R008 R009 R010 R020 R021 R023 R024 R025 R026 R027 R029 R030 R031 R032 R033 R034 R037
R040 R041 R043 R045 R046 R048 R052 R053 R054 R056 R060 R061 R062 R063 R064 R065 R071 R072 R075 R076 R077 R080 R081 R082
R085 R086 R088 R090 R091 R092 R093 R094 R095 R101 R102 R105 R106 R107 R108 R109 R110 R115 R116 R120 R122 R123 R126 R130
R131 R132 R141 R142 R143 R150 R151 R152 R153 R155 R156 R161 R162 R163 R164 R165 R166
U03 U04 U05 U06 U07 U08 U09 U11 U12 U13 U17 U18 U19 U20 U21 U22 U23 U24
"""


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    report: str
    about: str
    corpus: list[str] = []
    tests: list[str] = []
    decision: str = ""
    pending: int | None = None


REPORTS = [
    msgspec.json.decode(line, type=Report)
    for line in Path(__file__).with_name("reports.jsonl").read_bytes().splitlines()
]


def test_every_report_is_in_the_list_once() -> None:
    assert [report.report for report in REPORTS] == ALL.split()


@functools.cache
def _tests_of(path: Path) -> frozenset[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, functions)]
    return frozenset(name for name in found if name.startswith("test_"))


@pytest.mark.parametrize("report", [pytest.param(report, id=report.report) for report in REPORTS])
def test_a_report_is_tested_decided_or_open(report: Report) -> None:
    assert bool(report.corpus or report.tests or report.decision) != (report.pending is not None)
    assert report.pending in (None, 8, 9)
    assert set(report.corpus) <= {case.id for case in cases()}
    for name in report.tests:
        path, _, function = name.partition("::")
        assert function in _tests_of(ROOT / path), name


# --- those that no other test shows -----------------------------------------------------------------------------------


async def test_every_entry_path_reads_programs() -> None:
    program = "```js\nlet x = 1; x + 1\n```"
    async with DynamicWorkerExecutor() as executor:
        assert (await executor.execute(program, [])).result == 2
        assert (await executor.execute(await normalize_code(program), [])).result == 2
        assert await run_code(code=program, executor=executor, providers=[]) == {"result": 2}
        assert await create_code_tool(tools={}, executor=executor).execute(program) == {"result": 2}
        nested = ResolvedProvider("codemode", {"run": lambda code: execute_sync(code).result})
        assert (await executor.execute("async () => codemode.run('let x = 1; x + 1')", [nested])).result == 2


async def _result(code: str, *providers: ResolvedProvider, **options: Any) -> Any:
    async with DynamicWorkerExecutor(**options) as executor:
        outcome = await executor.execute(code, providers)
        assert outcome.error is None
        return outcome.result


async def test_proto_is_a_key_in_python_too() -> None:
    seen: list[Any] = []

    def keep(value: Any) -> Any:
        seen.append(value)
        return value

    code = """async () => {
        const given = JSON.parse('{"__proto__": {"polluted": 1}}')
        const back = await codemode.keep(given)
        return [given, Object.keys(back), back.polluted, ({}).polluted]
    }"""
    result = await _result(code, ResolvedProvider("codemode", {"keep": keep}))
    assert seen == [{"__proto__": {"polluted": 1}}]
    assert result == [{"__proto__": {"polluted": 1}}, ["__proto__"], None, None]


async def test_a_loop_harms_no_other_run() -> None:
    async with DynamicWorkerExecutor(timeout=500) as executor:
        loop = executor.execute("async () => /^(a+)+$/.test('a'.repeat(40) + '!')", [])
        other = executor.execute("async () => 'alive'", [])
        ended, alive = await asyncio.gather(loop, other)
        assert (ended.error, alive.result) == ("Execution timed out", "alive")
        assert (await executor.execute("async () => 'alive'", [])).result == "alive"


async def test_the_default_timeout_is_upstreams() -> None:
    assert DynamicWorkerExecutor.__init__.__defaults__ == (60_000, None, None, None)


async def test_modules_by_every_specifier() -> None:
    modules = {
        "lib.js": "export const x = 5",
        "dir/a.js": "import { b } from './b.js'; export const y = b + 1",
        "dir/b.js": "export const b = 1",
        "executor.js": "syntax ( error",
    }
    code = """async () => [
        (await import('lib.js')).x, (await import('./lib.js')).x, (await import('/lib.js')).x,
        (await import('dir/a.js')).y,
    ]"""
    assert await _result(code, modules=modules) == [5, 5, 5, 2]


class Graph:
    """A binding that lets queries pass, and pauses at mutations: from then on it pauses at everything."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self._paused = False

    async def call_tool(self, method: str, args: Any) -> Any:
        document = args["document"]
        if not document.startswith(("query", "mutation")):
            return {"__codemode_control__": "error", "message": "not a document"}
        self._paused = self._paused or document.startswith("mutation")
        if self._paused:
            return {"__codemode_control__": "pause"}
        self.done.append(document)
        return {"data": 1}


async def _with_graph(code: str) -> tuple[Graph, Any]:
    graph = Graph()
    async with DynamicWorkerExecutor() as executor:
        outcome = await executor.execute(code, [], ExecuteOptions([ConnectorBinding("api", graph)]))
    return graph, outcome


async def test_a_binding_decides_from_the_arguments() -> None:
    code = """async () => {
        const answers = []
        for (const document of ['query { x }', 'nonsense', 'mutation { x }'])
            answers.push(await api.graphql({ document }).catch((e) => e.message))
        return answers
    }"""
    graph, outcome = await _with_graph(code)
    assert outcome.result == [{"data": 1}, "not a document", "__CODEMODE_PAUSE__"]
    assert graph.done == ["query { x }"]


async def test_a_binding_can_refuse_everything_after_a_pause() -> None:
    code = """async () => {
        try { await api.graphql({ document: 'mutation { remove }' }) } catch {}
        await api.graphql({ document: 'query { write }' })
        return 'done'
    }"""
    graph, outcome = await _with_graph(code)
    assert outcome.error == "__CODEMODE_PAUSE__"
    assert graph.done == []


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}])
async def test_a_tool_without_parameters_can_be_called_in_all_ways(schema: Any) -> None:
    calls: list[tuple[Any, ...]] = []
    async with DynamicWorkerExecutor() as executor:
        tools = {"t": ToolDescriptor(lambda *args: calls.append(args), input_schema=schema)}
        tool = create_code_tool(tools=tools, executor=executor)
        assert "t: (input: TInput) => Promise<TOutput>;" in tool.description
        await tool.execute("async () => { await codemode.t(); await codemode.t({}); await codemode.t(undefined) }")
    assert calls == [(), ({},), (None,)]


async def test_the_envelope_has_three_parts() -> None:
    async with DynamicWorkerExecutor() as executor:
        outcome = await executor.execute("async () => 'x'", [])
    assert [name for name in dir(outcome) if not name.startswith("_")] == ["error", "logs", "result"]


async def test_what_a_tool_returned_is_the_programs_own_copy() -> None:
    spec = {"paths": {"/a": {"get": {}}}}
    code = """async () => {
        const s = await codemode.spec()
        s.paths['/a'].get.x = 1
        return [s.paths['/a'].get.x, (await codemode.spec()).paths['/a'].get.x]
    }"""
    assert await _result(code, ResolvedProvider("codemode", {"spec": lambda: spec})) == [1, None]
    assert spec == {"paths": {"/a": {"get": {}}}}
