"""The names of namespaces, checked as upstream does before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codemode_executor.values import sanitize_tool_name
from codemode_executor.values.names import is_identifier, is_reserved_word

from . import javascript as js
from .contract import ConnectorBinding, ResolvedProvider

# What upstream refuses.
_UPSTREAMS = frozenset((
    "__dispatchers",
    "__connectors",
    "__logs",
    "__CODEMODE_BINARY_TAG",
    "__bytesToBase64",
    "__base64ToBytes",
    "__encodeCodemodeValue",
    "__decodeCodemodeValue",
    "__stringifyForCodemode",
    "__parseForCodemode",
    "WorkerEntrypoint",
    "CodeExecutor",
    "Promise",
    "setTimeout",
    "Error",
    "console",
))  # fmt: skip
# What upstream takes, and where every tool call then fails inside its harness. Here they would work, and leave the
# program without the global that it is written for.
_GLOBALS = frozenset(("ArrayBuffer", "JSON", "Object", "Proxy", "String", "Uint8Array"))


def is_reserved(name: str) -> bool:
    """No namespace can have this name: upstream's harness or the language needs it."""
    return name in _UPSTREAMS or name in _GLOBALS or is_reserved_word(name)


def refusal(providers: Sequence[ResolvedProvider], connectors: Sequence[ConnectorBinding]) -> str | None:
    """Why these names cannot be used together, in upstream's words; ``None`` if they can."""
    seen: set[str] = set()
    for provider in providers:
        reason = _unusable("Provider", provider.name)
        if reason is None and provider.name in seen:
            reason = f'Duplicate provider name "{provider.name}"'
        if reason is not None:
            return reason
        seen.add(provider.name)
    for connector in connectors:
        reason = _unusable("Connector", connector.name)
        if reason is None and connector.name in seen:
            reason = f'Duplicate name "{connector.name}" (connector clashes with provider)'
        if reason is not None:
            return reason
        seen.add(connector.name)
    for provider in providers:
        clash = collision(provider.fns)
        if clash is not None:
            return f'{clash} in provider "{provider.name}"'
    return None


def collision(tools: Mapping[str, object]) -> str | None:
    """Two tools that a program would find under one name, in upstream's words; ``None`` if there are none."""
    seen: dict[str, str] = {}
    for name, _ in js.entries(tools):
        short = sanitize_tool_name(name)
        other = seen.setdefault(short, name)
        if other != name:
            return f'Tool names "{other}" and "{name}" both sanitize to "{short}"'
    return None


def _unusable(kind: str, name: str) -> str | None:
    if is_reserved(name):
        return f'{kind} name "{name}" is reserved'
    if not is_identifier(name):
        return f'{kind} name "{name}" is not a valid JavaScript identifier'
    return None
