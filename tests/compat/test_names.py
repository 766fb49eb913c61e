"""Names of namespaces and tools: what upstream refuses, in its words, and what it should have refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode_compat import ConnectorBinding, ResolvedProvider
from codemode_compat.names import refusal
from compat.functions import Functions

_UPSTREAMS = """__dispatchers __connectors __logs __CODEMODE_BINARY_TAG __bytesToBase64 __base64ToBytes
    __encodeCodemodeValue __decodeCodemodeValue __stringifyForCodemode __parseForCodemode WorkerEntrypoint CodeExecutor
    Promise setTimeout Error console""".split()
_FURTHER = """ArrayBuffer JSON Object Proxy String Uint8Array arguments await break case catch class const continue
    debugger default delete do else enum eval export extends false finally for function if implements import in
    instanceof interface let new null package private protected public return static super switch this throw true try
    typeof var void while with yield""".split()

_NAMES = (
    st.sampled_from(
        [*_UPSTREAMS, "a", "b", "codemode", "my-ns", "1a", "a.b", "ünï", "", "a b", "a\n", "$", "_x1", "\ud800"]
    )
    | st.text(max_size=6)
).filter(lambda name: name not in _FURTHER)
_TOOLS = st.lists(
    st.sampled_from(
        ["issues.list", "issues_list", "issues-list", "1", "_1", "2fa", "_2fa", "delete", "delete_", "名前"]
    )
    | st.text(min_size=1, max_size=5),
    unique=True,
    max_size=4,
)


class _Binding:
    async def call_tool(self, method: str, args: object) -> object:
        return [method, args]


def _connectors(names: list[str]) -> list[ConnectorBinding]:
    return [ConnectorBinding(name, _Binding()) for name in names]


def _provider(name: str, tools: list[str]) -> ResolvedProvider:
    return ResolvedProvider(name, dict.fromkeys(tools, len))


@settings(deadline=None, max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(providers=st.lists(st.tuples(_NAMES, _TOOLS), max_size=3), connectors=st.lists(_NAMES, max_size=2))
def test_names_are_refused_as_upstream_refuses_them(
    upstream: Functions, providers: list[tuple[str, list[str]]], connectors: list[str]
) -> None:
    ours = refusal([_provider(name, tools) for name, tools in providers], _connectors(connectors))
    asked = [{"name": name, "tools": tools} for name, tools in providers]
    assert ours == upstream("names", providers=asked, connectors=connectors)


@pytest.mark.parametrize("name", _FURTHER)
def test_words_and_globals_that_upstream_breaks_on_are_reserved(name: str) -> None:
    assert refusal([_provider(name, [])], []) == f'Provider name "{name}" is reserved'
    assert refusal([], _connectors([name])) == f'Connector name "{name}" is reserved'
