"""The modules that a request brings along, checked before anything runs."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import get_args

import msgspec

from .contract import Module, ModuleKind
from .errors import BadRequest
from .limits import Limits
from .wire.messages import ModuleSource

_KINDS: tuple[str, ...] = get_args(ModuleKind)
_BY_SUFFIX: dict[str, ModuleKind] = {"json": "json", "cjs": "cjs", "txt": "text", "md": "text", "html": "text"}
_MAX_MODULES = 1000
_MAX_NAME = 512
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


def encode_modules(modules: Mapping[str, str | Module] | None, limits: Limits) -> list[ModuleSource]:
    """``modules`` as they are sent to a worker.

    A plain string is read by the end of its name: ``.json``, ``.cjs``, ``.txt``, ``.md`` and ``.html`` say what it is;
    any other is an ES module.

    Raises:
        BadRequest: a name, a source or a kind is unusable, or all together are beyond ``Limits.module_bytes``.
    """
    if modules is None:
        return []
    if not isinstance(modules, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadRequest(f"modules must be a mapping of names to sources, not {type(modules).__name__}")
    if len(modules) > _MAX_MODULES:
        raise BadRequest(f"{len(modules)} modules were given; the limit is {_MAX_MODULES}")
    encoded = [_encode(name, module) for name, module in modules.items()]
    size = sum(len(module.name.encode()) + len(module.source.encode()) for module in encoded)
    if size > limits.module_bytes:
        raise BadRequest(
            f"the modules are {size} bytes long; the limit is {limits.module_bytes} bytes (Limits.module_bytes)"
        )
    return encoded


def _encode(name: object, module: object) -> ModuleSource:
    if not isinstance(name, str):
        raise BadRequest(f"the name of a module must be a string, not {type(name).__name__}")
    if not 0 < len(name) <= _MAX_NAME or _UNUSABLE.search(name):
        raise BadRequest(
            f"module name {name[:60]!r} is unusable: it must have 1 to {_MAX_NAME} characters, and no control character"
        )
    if isinstance(module, str):
        module = Module(module, _BY_SUFFIX.get(name.rpartition(".")[2], "js"))
    if not isinstance(module, Module):
        raise BadRequest(f"module {name!r} must be a string or a Module, not {type(module).__name__}")
    if module.kind not in _KINDS:
        raise BadRequest(f"module {name!r}: kind must be one of {', '.join(map(repr, _KINDS))}, not {module.kind!r}")
    return ModuleSource(name, module.kind, _source(name, module))


def _source(name: str, module: Module) -> str:
    source: object = module.source
    if module.kind == "data":
        if not isinstance(source, (bytes, bytearray, memoryview)):
            raise BadRequest(
                f"module {name!r} is of kind 'data': its source must be bytes, not {type(source).__name__}"
            )
        return base64.b64encode(source).decode()
    if not isinstance(source, str):
        raise BadRequest(f"module {name!r}: its source must be a string, not {type(source).__name__}")
    text = source.encode("utf-8", "replace").decode()
    if module.kind == "json":
        try:
            msgspec.json.decode(text)
        except msgspec.MsgspecError as error:
            raise BadRequest(f"module {name!r} is not JSON: {error}") from error
    return text
