"""Tool calls as strings, for hosts that carry them themselves."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

from codemode_executor import BadRequest, Tool, ValueRefused, decode_args, encode_value
from codemode_executor.threads import in_thread
from codemode_executor.values.tool_codec import encode_json


class ToolDispatcher:
    """Serves calls whose arguments and results are JSON, for example as ``IsolateExecutor.execute(dispatch=…)``.

    Args:
        fns: functions by name, sync or async.

    Raises:
        BadRequest: ``fns`` is not a mapping of names to functions.

    Mirrors upstream's ``ToolDispatcher``. Only what is in ``fns`` can be called, and an error is never empty; upstream
    runs functions of ``Object.prototype`` as well, and passes ``Error("")`` off as a success. Data that holds the key
    ``__codemode_binary_v1__`` is escaped (see "Values").
    """

    def __init__(self, fns: Mapping[str, Tool]) -> None:
        self._fns = dict(checked_functions(fns, "fns"))

    async def call(self, name: str, args_json: str | None = None) -> str:
        """Call a function.

        Args:
            name: its name in ``fns``.
            args_json: JSON array of the arguments, with bytes as upstream tags them. What is no array is the only
                argument; ``None`` and empty text are none.

        Returns:
            JSON: ``{"result": …}``, or ``{"error": message}`` if there is no such function, if it failed, or if its
            arguments or its result cannot cross.
        """
        function = self._fns.get(name)
        if function is None:
            return _error(f'Tool "{name}" not found')
        try:
            result = await invoke(function, _arguments(args_json))
            return f'{{"result":{encode_value(result).decode()}}}'
        except Exception as error:
            return _error(str(error) or type(error).__name__)


def checked_functions(fns: object, what: str) -> Mapping[str, Tool]:
    """``fns``, which is a mapping of names to functions.

    Raises:
        BadRequest: it is not; the message begins with ``what``.
    """
    if not isinstance(fns, Mapping):
        raise BadRequest(f"{what} must be a mapping of names to functions, not {type(fns).__name__}")
    for name, function in cast("Mapping[object, object]", fns).items():
        if not isinstance(name, str):
            raise BadRequest(f"{what} has the name {name!r}: names of tools are strings, not {type(name).__name__}")
        if not callable(function):
            raise BadRequest(f"{what}: the tool {name!r} is not callable: {function!r}")
    return cast("Mapping[str, Tool]", fns)


async def invoke(function: Tool, args: list[object]) -> Any:
    """Call a function of the host where it belongs: on the event loop if it is ``async``, else on a thread."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await function(*args)
    result = await in_thread(function, *args)
    return await result if inspect.isawaitable(result) else result


def _arguments(args_json: str | None) -> list[object]:
    if not args_json:
        return []
    try:
        return decode_args(args_json)
    except ValueRefused:
        if args_json.lstrip().startswith("["):
            raise
    return decode_args(f"[{args_json}]")


def _error(message: str) -> str:
    return encode_json({"error": message}).decode()
