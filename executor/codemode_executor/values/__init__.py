"""Values across the boundary, Python's side."""

from .names import sanitize_tool_name
from .result_codec import decode_result
from .tool_codec import ValueRefused, decode_args, encode_value

__all__ = ["ValueRefused", "decode_args", "decode_result", "encode_value", "sanitize_tool_name"]
