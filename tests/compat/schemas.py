"""Generated JSON Schemas: mostly sound, sometimes not."""

from __future__ import annotations

from hypothesis import strategies as st

# Without surrogates: the pairing of two that stand apart is JavaScript's alone.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_ODD = st.sampled_from(["", "*/", 'a"b', "line\r\nbreak", "\u2028", "\\", "\x00\x7f", "0", "10", "2", "a b", "ok", "$"])
NAMES = TEXT | _ODD
NUMBERS = (
    st.integers(-(10**22), 10**22)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, 1e21, 1e-7, 123456789012345680000, 0.1, 5e-324, 1.7976931348623157e308])
)
SCALARS = st.none() | st.booleans() | NUMBERS | NAMES
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
_KINDS = st.sampled_from(["string", "number", "integer", "boolean", "null", "array", "object", "other"])
_REFERENCES = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/a~1b", "#/properties/0", "#/anyOf/0", "#/none", "x.json", "#/"]
)


def _schema(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    described = {
        "description": NAMES,
        "format": NAMES,
        "nullable": st.booleans(),
        "required": st.lists(NAMES, max_size=3),
    }
    members = {
        "type": _KINDS | st.lists(_KINDS, min_size=1, max_size=3),
        "properties": st.dictionaries(NAMES, inner, max_size=4),
        "items": inner | st.lists(inner, max_size=3),
        "prefixItems": st.lists(inner, max_size=3),
        "additionalProperties": inner,
        "anyOf": st.lists(inner, min_size=1, max_size=3),
        "oneOf": st.lists(inner, min_size=1, max_size=3),
        "allOf": st.lists(inner, min_size=1, max_size=3),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "$ref": _REFERENCES,
    }

    def with_some(names: list[str]) -> st.SearchStrategy[object]:
        chosen = {name: members[name] for name in names}
        return st.fixed_dictionaries(chosen, optional=described)

    return st.lists(st.sampled_from(sorted(members)), unique=True, max_size=3).flatmap(with_some)


SCHEMAS: st.SearchStrategy[object] = st.recursive(
    st.booleans() | st.fixed_dictionaries({"type": _KINDS}) | st.just({}), _schema, max_leaves=12
).flatmap(
    lambda schema: (
        st.fixed_dictionaries({"$defs": st.fixed_dictionaries({"a": st.just(schema), "a/b": st.booleans()})}).map(
            lambda defined: {**schema, **defined}
        )
        if isinstance(schema, dict)
        else st.just(schema)
    )
)

#: With values of any type in the place of any other.
MALFORMED = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "anyOf", "allOf", "enum", "const", "$ref", "required", "description"]
            ),
            inner | _KINDS,
            max_size=4,
        )
    ),
    max_leaves=10,
)
