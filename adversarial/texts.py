"""All texts in a value that an attack has shaped: it may be shared in itself more often than anything could print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import cast

import msgspec

_MAX_CHARS = 4_000_000
_MAX_OBJECTS = 30_000


def texts_of(value: object) -> str:
    """Every string and byte string in ``value``, keys included, each object once, up to a bound."""
    found: list[str] = []
    room = _MAX_CHARS
    seen: set[int] = set()
    queue: list[object] = [value]
    while queue and room > 0 and len(seen) < _MAX_OBJECTS:
        item = queue.pop()
        if isinstance(item, bytes | bytearray):
            item = item[:room].decode("latin-1")
        if isinstance(item, str):
            found.append(item[:room])
            room -= len(item) + 1
            continue
        if id(item) in seen:
            continue
        if isinstance(item, Mapping):
            members = cast(Mapping[object, object], item)
            queue += [*members.keys(), *members.values()]
        elif isinstance(item, Sequence | Set):
            queue += list(cast(Sequence[object], item))
        elif isinstance(item, msgspec.Struct):
            queue += [getattr(item, name) for name in item.__struct_fields__]
        else:
            continue
        seen.add(id(item))
    return "\n".join(found)


def shown(value: object) -> str:
    """A value in some words, for people."""
    return _shown(value, 3)[:200]


def _shown(value: object, depth: int) -> str:
    if isinstance(value, str | bytes):
        return repr(value[:100])
    if depth == 0 and isinstance(value, Mapping | Sequence):
        return "…"
    if isinstance(value, Mapping):
        members = list(cast(Mapping[object, object], value).items())[:10]
        return "{" + ", ".join(f"{_shown(key, 0)}: {_shown(item, depth - 1)}" for key, item in members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_shown(item, depth - 1) for item in cast(Sequence[object], value)[:10]) + "]"
    return repr(value)[:100]
