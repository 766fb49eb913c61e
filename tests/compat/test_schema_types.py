"""Schemas as TypeScript: what upstream's functions write, but for the faults that are not repeated."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode_compat import ToolDescriptor, generate_types_from_json_schema, json_schema_to_type, schema_types
from compat.functions import Functions, UpstreamThrew
from compat.schemas import MALFORMED, NAMES, SCHEMAS

SIDE_BY_SIDE = settings(
    deadline=None,
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
def without_parentheses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unions inside arrays and intersections as upstream writes them, so that everything else can be compared."""
    monkeypatch.setattr(schema_types, "_grouped", lambda text: text)


@SIDE_BY_SIDE
@given(schema=SCHEMAS, name=st.sampled_from(["T", "GetUserInput"]))
def test_a_type_is_upstreams(without_parentheses: None, upstream: Functions, schema: object, name: str) -> None:
    schema = json.loads(json.dumps(schema))  # as below
    assert json_schema_to_type(schema, name) == upstream("jsonSchemaToType", schema=schema, typeName=name)


@SIDE_BY_SIDE
@given(schema=MALFORMED)
def test_a_malformed_schema_is_unknown_where_upstream_throws(
    without_parentheses: None, upstream: Functions, schema: object
) -> None:
    ours = json_schema_to_type(schema, "T")
    try:
        theirs = upstream("jsonSchemaToType", schema=schema, typeName="T")
    except UpstreamThrew:
        assert ours == "type T = unknown"
        return
    if not _has_nothing_to_join(schema):
        assert ours == theirs


def _has_nothing_to_join(schema: object) -> bool:
    """An empty list of alternatives somewhere, for which upstream writes nothing."""
    if isinstance(schema, dict):
        return any(schema.get(key) == [] for key in ("anyOf", "oneOf", "allOf", "type")) or any(
            map(_has_nothing_to_join, schema.values())
        )
    return isinstance(schema, list) and any(map(_has_nothing_to_join, schema))


_TOOLS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {}, optional={"description": NAMES, "inputSchema": SCHEMAS | MALFORMED, "outputSchema": SCHEMAS}
    ),
    max_size=3,
)


@SIDE_BY_SIDE
@given(tools=_TOOLS)
def test_declarations_are_upstreams(
    without_parentheses: None, upstream: Functions, tools: dict[str, dict[str, Any]]
) -> None:
    tools = json.loads(json.dumps(tools))  # a part of a schema that is also above itself is taken for a recursion
    theirs = upstream("generateTypesFromJsonSchema", tools=tools)
    if not _has_nothing_to_join([list(tool.values()) for tool in tools.values()]):
        assert generate_types_from_json_schema(tools) == theirs


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        # cloudflare/agents#2308: upstream writes `string | null[]`, which is something else.
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "(string | null)[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "(string | null)[]"),
        ({"type": "array", "items": {"type": "string", "nullable": True}}, "(string | null)[]"),
        ({"type": "array", "items": {"allOf": [{"type": "string"}, {"type": "number"}]}}, "(string & number)[]"),
        (
            {"type": "array", "items": {"type": "array", "items": {"enum": [1, 2]}}, "nullable": True},
            "(1 | 2)[][] | null",
        ),
        ({"allOf": [{"enum": [1, 2]}, {"type": "number"}]}, "(1 | 2) & number"),
        ({"anyOf": [{"allOf": [{"type": "string"}, {"type": "null"}]}, {"type": "number"}]}, "string & null | number"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}]}}, "string[]"),
        ({"type": "array", "items": {"const": "a | b"}}, '"a | b"[]'),
        ({"type": "array", "prefixItems": [{"enum": [1, 2]}]}, "[1 | 2]"),
        ({"anyOf": []}, "unknown"),
        ({"type": "array", "items": {"type": []}}, "unknown[]"),
    ],
)
def test_unions_stand_in_parentheses_where_they_have_to(schema: object, expected: str) -> None:
    assert json_schema_to_type(schema, "T") == f"type T = {expected}"


def test_a_recursive_schema_ends() -> None:
    node = {"$ref": "#/$defs/N", "$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}}}}
    assert json_schema_to_type(node, "T") == "type T = {\n    next?: unknown;\n}"
    itself: dict[str, object] = {"type": "array"}
    itself["items"] = itself
    assert json_schema_to_type(itself, "T") == "type T = unknown[]"


def test_a_deep_schema_ends() -> None:
    schema: dict[str, object] = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    assert json_schema_to_type(schema, "T") == "type T = unknown" + "[]" * 20


def test_a_description_cannot_close_its_comment() -> None:
    tools = {"t": ToolDescriptor(description="x */ y", input_schema={"properties": {"a": {"description": "*/"}}})}
    text = generate_types_from_json_schema(tools)
    assert text.count("*/") == 2  # the ends of the two comments
    assert "x *\\/ y" in text


def test_one_bad_schema_does_not_hide_the_others() -> None:
    text = generate_types_from_json_schema({"bad": {"inputSchema": {"$ref": 5}}, "good": {"inputSchema": True}})
    assert "bad: (input: BadInput)" in text
    assert "good: (input: GoodInput)" in text


def test_a_descriptor_and_a_mapping_say_the_same() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "description": "what"}}, "required": ["q"]}
    mapping = {"description": "Search", "inputSchema": schema, "outputSchema": {"type": "string"}}
    descriptor = ToolDescriptor(description="Search", input_schema=schema, output_schema={"type": "string"})
    assert generate_types_from_json_schema({"s": mapping}) == generate_types_from_json_schema({"s": descriptor})


def test_a_namespace_of_another_name() -> None:
    assert generate_types_from_json_schema({}, "db") == "declare const db: {}"


def test_a_model_class_gives_its_own_schema() -> None:
    class Model:
        @classmethod
        def model_json_schema(cls) -> dict[str, object]:
            return {"type": "object", "properties": {"n": {"type": "integer"}}}

    text = generate_types_from_json_schema({"t": ToolDescriptor(input_schema=Model)})
    assert "type TInput = {\n    n?: number;\n}" in text
