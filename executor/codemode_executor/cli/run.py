"""``codemode-executor run``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from ..contract import ExecuteResult, LogLine, Provider, Tool
from ..errors import BadRequest
from ..executor import execute_sync
from ..limits import Limits
from ..values.expansion import written_size
from .terminal import shown, shown_json

#: Longest result that is written out; bytes.
_MAX_WRITTEN = 256 * 1024 * 1024


def run(file: str, *, tools: str | None, timeout_s: float | None, memory_mb: int | None) -> bool:
    """Run the program in ``file`` and print its envelope.

    Returns:
        The program succeeded.

    Raises:
        BadRequest: a file, a limit or the tools are unusable.
        ExecutorError: a fault of the machinery.
    """
    code = _read(file)
    providers: Sequence[Provider] = () if tools is None else _load(tools)
    defaults = Limits()
    limits = Limits(
        timeout_s=defaults.timeout_s if timeout_s is None else timeout_s,
        memory_mb=defaults.memory_mb if memory_mb is None else memory_mb,
    )
    result = execute_sync(code, providers=providers, limits=limits, on_log=_show)
    result = _writable(result)
    sys.stdout.buffer.write(_encode(result) + b"\n")
    sys.stdout.flush()
    return result.error is None


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode()
    except OSError as error:
        raise BadRequest(f"the program cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise BadRequest(f"the program is not UTF-8: {error}") from error


def _load(tools: str) -> Sequence[Provider]:
    module_name, separator, path = tools.partition(":")
    if not separator or not module_name or not path:
        raise BadRequest(f"--tools must be MODULE:OBJECT, not {tools!r}")
    # As `python -m` does: a module beside the caller is found.
    sys.path.insert(0, os.getcwd())
    try:
        value: object = importlib.import_module(module_name)
        for name in path.split("."):
            value = getattr(value, name)
    except (ImportError, AttributeError) as error:
        raise BadRequest(f"--tools {tools}: {error}") from error
    if isinstance(value, Provider):
        return [value]
    if isinstance(value, Mapping):
        return [Provider("codemode", cast(Mapping[str, Tool], value))]
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        items = cast(Sequence[object], value)
        providers = [item for item in items if isinstance(item, Provider)]
        if len(providers) == len(items):
            return providers
    raise BadRequest(f"--tools {tools} is neither a Provider, nor a list of them, nor a mapping of callables")


def _show(line: LogLine) -> None:
    print(shown(str(line)), file=sys.stderr, flush=True)


def _writable(result: ExecuteResult) -> ExecuteResult:
    """A result that JSON cannot hold is the program's failure."""
    size = written_size(result.result)
    if size is not None and size <= _MAX_WRITTEN:
        return result
    what = "it holds itself" if size is None else f"it takes {size} bytes; the limit is {_MAX_WRITTEN} bytes"
    return msgspec.structs.replace(result, result=None, error=f"the result cannot be written as JSON: {what}")


def _encode(result: ExecuteResult) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(result), indent=2).decode("utf-8", "surrogatepass")
    return shown_json(text).encode("utf-8", "surrogatepass")
