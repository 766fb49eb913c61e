"""The program's result, as the harness encodes it."""

from __future__ import annotations

from .tool_codec import decode_json


def decode_result(value: bytes | None) -> object:
    """The result as a Python value; ``None`` for undefined.

    Raises:
        ValueRefused: it is not JSON, or nests too deeply for Python.
    """
    return None if value is None else decode_json(value)
