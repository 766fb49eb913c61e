"""Modules as upstream takes them, as the engine takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast, get_args

from codemode_executor import BadRequest, Limits, Module, ModuleKind
from codemode_executor.modules import encode_modules

_KINDS: tuple[str, ...] = get_args(ModuleKind)
# The name that upstream gives the program's own module.
_RESERVED = "executor.js"


def checked_modules(modules: object) -> dict[str, str | Module]:
    """``modules`` without the reserved name.

    Raises:
        BadRequest: a name or a source is unusable, or all are too long. Whether a source parses is not looked at.
    """
    if modules is None:
        return {}
    if not isinstance(modules, Mapping):
        raise BadRequest(f"modules must be a mapping of names to sources, not {type(modules).__name__}")
    given = cast("Mapping[str, object]", modules)
    checked = {name: _module(name, source) for name, source in given.items() if name != _RESERVED}
    encode_modules(checked, Limits())
    return checked


def _module(name: str, source: object) -> str | Module:
    """A source; or upstream's object of one member, whose name is the kind."""
    if not isinstance(source, Mapping):
        return cast("str | Module", source)
    members = cast("Mapping[str, object]", source)
    kind = next(iter(members), "")
    if len(members) != 1 or kind not in _KINDS:
        raise BadRequest(
            f"module {name!r} must have one member that says what it is, one of {', '.join(_KINDS)}; it has"
            f" {', '.join(map(repr, members)) or 'none'}"
        )
    value = members[kind]
    if kind == "json" and not isinstance(value, str):
        value = json.dumps(value)
    return Module(cast("str | bytes", value), cast(ModuleKind, kind))
