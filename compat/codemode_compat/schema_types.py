"""JSON Schema as TypeScript, which tells a model what a tool takes and gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from codemode_executor.values import sanitize_tool_name

from . import javascript as js

_MAX_DEPTH = 20
_IDENTIFIER = re.compile(r"[a-zA-Z_$][a-zA-Z0-9_$]*\Z")
_NEW_LINE = re.compile(r"\r?\n")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPED = re.compile('[\\\\"\x00-\x1f\x7f\u2028\u2029]')
_SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
_IN_LISTS = {**_SIMPLE, "array": "unknown[]", "object": "Record<string, unknown>"}

# What binds how tightly in TypeScript: an array's brackets only to what stands alone.
_ALONE, _INTERSECTION, _UNION = range(3)


class Malformed(ValueError):
    """Something in a schema is of a type that it must not be. Upstream raises a ``TypeError`` at these places."""


class _Type(NamedTuple):
    text: str
    binding: int = _ALONE


class _Missing:
    pass


_MISSING: Final = _Missing()


def json_schema_to_type(schema: object, type_name: str) -> str:
    """A TypeScript declaration of what a JSON Schema describes.

    Args:
        schema: a JSON Schema as ``json.loads`` gives it: a dict, or ``True`` or ``False``. ``$ref`` is followed within
            it; what is recursive, or nested deeper than 20 levels, is ``unknown``.
        type_name: the name that is declared.

    Returns:
        ``type NAME = …``. A schema that is none (``None``, a ``$ref`` that is a number) gives ``unknown``.

    Mirrors upstream's ``jsonSchemaToType``, with three faults of it removed: a union inside an array or an intersection
    is put in parentheses (``(string | null)[]``; cloudflare/agents#2308), an empty ``anyOf`` is ``unknown`` instead of
    nothing, and a malformed schema never raises.
    """
    try:
        return _declaration(schema, type_name)
    except Malformed:
        return f"type {type_name} = unknown"


def _declaration(schema: object, type_name: str) -> str:
    return f"type {type_name} = {_Converter(schema).convert(schema, '', 0).text}"


def generate_types_from_json_schema(tools: Mapping[str, object], namespace: str = "codemode") -> str:
    """TypeScript declarations of tools, for the description that a model reads.

    Args:
        tools: by name, ``ToolDescriptor`` objects or mappings with ``inputSchema`` and optionally ``outputSchema`` and
            ``description``, as an MCP server lists them.
        namespace: the identifier under which a program finds them.

    Returns:
        Two types for every tool, and one ``declare const`` with a function for each. A tool whose schema is malformed
        or missing takes and gives ``unknown``; the others are not affected.

    Mirrors upstream's ``generateTypesFromJsonSchema``, and with ``namespace`` its ``generateTypes`` of
    ``@cloudflare/codemode/ai``.
    """
    types = ""
    functions = ""
    for name, tool in js.entries(tools):
        safe = sanitize_tool_name(name)
        type_name = to_pascal_case(safe)
        try:
            declared, comment = _declared(name, type_name, tool)
        except Malformed:
            declared = f"\ntype {type_name}Input = unknown\ntype {type_name}Output = unknown"
            comment = [name]
        types += declared
        lines = "\n".join(f"\t * {_escape_comment(line)}" for line in comment)
        functions += f"\n\t/**\n{lines}\n\t */"
        functions += f"\n\t{safe}: (input: {type_name}Input) => Promise<{type_name}Output>;\n"
    return js.trim(f"{types}\n\ndeclare const {namespace}: {{{functions}}}")


def _declared(name: str, type_name: str, tool: object) -> tuple[str, list[str]]:
    """The declarations of a tool's types, and the lines of its comment."""
    if tool is None:
        raise Malformed("a tool is null")
    input_schema = schema_of(member(tool, "input_schema", "inputSchema"))
    output_schema = schema_of(member(tool, "output_schema", "outputSchema"))
    description = member(tool, "description")
    taken = js.trim(_declaration(input_schema, f"{type_name}Input"))
    given = f"type {type_name}Output = unknown"
    if js.truthy(output_schema):
        given = js.trim(_declaration(output_schema, f"{type_name}Output"))
    if description is not None and not isinstance(description, str):
        raise Malformed("a description is no text")
    about = js.trim(description or "")
    lines = [_one_line(about) if about else name]
    lines += [_one_line(line) for line in _parameters(input_schema)]
    return f"\n{taken}\n{given}", lines


def _parameters(schema: object) -> list[str]:
    found: list[str] = []
    for name, described in _entries(_present(schema, "properties")):
        text = _present(described, "description")
        if text is not _MISSING:
            found.append(f"@param input.{name} - {_as_text(text)}")
    return found


def member(tool: object, name: str, theirs: str = "") -> object:
    """An attribute of a descriptor, or an entry of one that is a mapping, by our name or by upstream's."""
    if isinstance(tool, Mapping):
        members = cast("Mapping[str, object]", tool)
        return members.get(theirs or name, members.get(name))
    return getattr(tool, name, None)


def schema_of(value: object) -> object:
    """A JSON Schema; of a pydantic model, its own."""
    make = getattr(value, "model_json_schema", None)
    return make() if callable(make) else value


def to_pascal_case(name: str) -> str:
    """``get_user`` as ``GetUser``."""
    joined = re.sub("_([a-z])", lambda match: match[1].upper(), name)
    return joined[:1].upper() + joined[1:] if "a" <= joined[:1] <= "z" else joined


def _one_line(text: str) -> str:
    return _NEW_LINE.sub(" ", text)


def _escape_comment(text: str) -> str:
    return text.replace("*/", "*\\/")


def _escape_text(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", text)


def _property(name: str) -> str:
    return name if _IDENTIFIER.match(name) else f'"{_escape_text(name)}"'


def _as_text(value: object) -> str:
    """``String(value)``, of what JSON holds."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return js.number_text(value)
    if isinstance(value, list):
        return ",".join("" if item is None else _as_text(item) for item in cast("list[object]", value))
    return "[object Object]" if isinstance(value, Mapping) else str(value)


def _get(schema: object, key: str) -> object:
    return cast("Mapping[str, object]", schema).get(key, _MISSING) if isinstance(schema, Mapping) else _MISSING


def _present(schema: object, key: str) -> object:
    """A member that counts as one: not missing, ``null``, ``false``, 0 or empty text."""
    value = _get(schema, key)
    return value if value is not _MISSING and js.truthy(value) else _MISSING


def _list(value: object) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise Malformed(f"a list is a {type(value).__name__}")
    return list(cast("list[object]", value))


def _entries(value: object) -> list[tuple[str, object]]:
    """``Object.entries`` of any value of JSON."""
    if isinstance(value, Mapping):
        return js.entries(cast("Mapping[str, object]", value))
    if isinstance(value, str):
        return [(str(index), "") for index in range(js.length(value))]
    if isinstance(value, list):
        return [(str(index), item) for index, item in enumerate(cast("list[object]", value))]
    return []


def _joined(members: list[_Type], operator: str, binding: int) -> _Type:
    if not members:
        return _Type("unknown")
    if len(members) == 1:
        return members[0]
    texts = [_grouped(it.text) if it.binding > binding else it.text for it in members]
    return _Type(operator.join(texts), binding)


def _grouped(text: str) -> str:
    return f"({text})"


@dataclass
class _Converter:
    """One schema with what its references refer to."""

    root: object

    def __post_init__(self) -> None:
        self._above: set[int] = set()

    def convert(self, schema: object, indent: str, depth: int) -> _Type:
        if isinstance(schema, bool):
            return _Type("unknown" if schema else "never")
        identity = id(schema)
        if depth >= _MAX_DEPTH or identity in self._above:
            return _Type("unknown")
        if schema is None or schema is _MISSING:
            raise Malformed("a schema is null")
        if not isinstance(schema, Mapping):
            return _Type("unknown")
        members = cast("Mapping[str, object]", schema)
        self._above.add(identity)
        try:
            return self._type(members, indent, depth + 1)
        finally:
            self._above.discard(identity)

    def _type(self, schema: Mapping[str, object], indent: str, depth: int) -> _Type:
        for convert in (self._reference, self._combined, self._literals, _simple, self._array, self._object):
            found = convert(schema, indent, depth)
            if found is not None:
                return found if convert is _simple and found.text == "null" else _nullable(found, schema)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            listed = [_Type(_IN_LISTS.get(str(kind), "unknown")) for kind in cast("list[object]", kinds)]
            return _nullable(_joined(listed, " | ", _UNION), schema)
        return _Type("unknown")

    def _reference(self, schema: Mapping[str, object], indent: str, depth: int) -> _Type | None:
        reference = _present(schema, "$ref")
        if reference is _MISSING:
            return None
        if not isinstance(reference, str):
            raise Malformed("a $ref is no text")
        target = self._resolve(reference)
        if target is _MISSING or not js.truthy(target):
            return _Type("unknown")
        return self.convert(target, indent, depth)

    def _resolve(self, reference: str) -> object:
        if reference == "#":
            return self.root
        if not reference.startswith("#/"):
            return _MISSING
        found = self.root
        for segment in reference[2:].split("/"):
            key = segment.replace("~1", "/").replace("~0", "~")
            if isinstance(found, (list, dict)):
                found = dict(_entries(cast("list[object]", found))).get(key, _MISSING)
            else:
                return _MISSING
        return cast(object, found) if isinstance(found, (bool, list, dict)) else _MISSING

    def _combined(self, schema: Mapping[str, object], indent: str, depth: int) -> _Type | None:
        for key, operator, binding in (
            ("anyOf", " | ", _UNION),
            ("oneOf", " | ", _UNION),
            ("allOf", " & ", _INTERSECTION),
        ):
            members = _present(schema, key)
            if members is not _MISSING:
                return _joined([self.convert(it, indent, depth) for it in _list(members)], operator, binding)
        return None

    def _literals(self, schema: Mapping[str, object], indent: str, depth: int) -> _Type | None:
        values = _present(schema, "enum")
        if values is not _MISSING:
            literals = [_literal(value) for value in _list(values)]
            return _joined(literals, " | ", _UNION) if literals else _Type("never")
        return _literal(schema["const"]) if "const" in schema else None

    def _array(self, schema: Mapping[str, object], indent: str, depth: int) -> _Type | None:
        if schema.get("type") != "array":
            return None
        items = _get(schema, "items")
        for fixed in (_get(schema, "prefixItems"), items):
            if isinstance(fixed, list):
                members = [self.convert(it, indent, depth).text for it in cast("list[object]", fixed)]
                return _Type(f"[{', '.join(members)}]")
        if items is _MISSING or not js.truthy(items):
            return _Type("unknown[]")
        item = self.convert(items, indent, depth)
        return _Type(f"{_grouped(item.text) if item.binding > _ALONE else item.text}[]")

    def _object(self, schema: Mapping[str, object], indent: str, depth: int) -> _Type | None:
        properties = _present(schema, "properties")
        if schema.get("type") != "object" and properties is _MISSING:
            return None
        required = _required(schema)
        inner = indent + "    "
        lines: list[str] = []
        for name, described in [] if properties is _MISSING else _entries(properties):
            optional = "" if name in required else "?"
            kind = self.convert(described, inner, depth)
            if not isinstance(described, bool):
                lines += _comment(described, inner)
            lines.append(f"{inner}{_property(name)}{optional}: {kind.text};")
        further = _present(schema, "additionalProperties")
        if further is not _MISSING:
            lines.append(f"{inner}[key: string]: {self.convert(further, inner, depth).text};")
        if lines:
            text = "\n".join(lines)
            return _Type(f"{{\n{text}\n{indent}}}")
        return _Type("{}" if schema.get("additionalProperties") is False else "Record<string, unknown>")


def _simple(schema: Mapping[str, object], indent: str, depth: int) -> _Type | None:
    kind = schema.get("type")
    return _Type(_SIMPLE[kind]) if isinstance(kind, str) and kind in _SIMPLE else None


def _nullable(found: _Type, schema: Mapping[str, object]) -> _Type:
    if schema.get("nullable") is not True or found.text in ("unknown", "never"):
        return found
    return _Type(f"{found.text} | null", _UNION)


def _literal(value: object) -> _Type:
    if isinstance(value, str):
        return _Type(f'"{_escape_text(js.paired(value))}"')
    if isinstance(value, (list, dict)):
        try:
            return _Type(js.stringify(cast("list[object]", value)))
        except js.NotJSON as error:
            raise Malformed(str(error)) from None
    return _Type(_as_text(value))


def _required(schema: Mapping[str, object]) -> frozenset[object]:
    names = _present(schema, "required")
    if names is _MISSING:
        return frozenset()
    if not isinstance(names, (list, str)):
        raise Malformed("required is no list")
    listed = cast("Iterable[object]", names)
    return frozenset(name for name in listed if isinstance(name, str))


def _comment(described: object, indent: str) -> list[str]:
    texts: list[str] = []
    for key, prefix in (("description", ""), ("format", "@format ")):
        text = _present(described, key)
        if text is _MISSING:
            continue
        if not isinstance(text, str):
            raise Malformed(f"a {key} is no text")
        texts.append(prefix + _escape_comment(_one_line(text) if key == "description" else text))
    if len(texts) == 2:
        return [f"{indent}/**", *(f"{indent} * {text}" for text in texts), f"{indent} */"]
    return [f"{indent}/** {text} */" for text in texts]
