"""What the worker lends to the platform of its runs."""

from __future__ import annotations

from . import compression, crypto, idna, text_encodings, zlib_calls
from .chunks import Chunks
from .host_calls import OPERATIONS as BASIC
from .host_calls import Operation


class Platform:
    """The chunks, and the operations that they may call. Made in the zygote: a worker opens no file."""

    def __init__(self) -> None:
        self.chunks = Chunks()
        self.operations: dict[str, Operation] = {
            **BASIC,
            **crypto.HANDLERS,
            **compression.OPERATIONS,
            **idna.OPERATIONS,
            **text_encodings.OPERATIONS,
            **zlib_calls.OPERATIONS,
        }
        crypto.preload()
        text_encodings.preload()

    def reset(self) -> None:
        """A run is over: forget everything of it."""
        compression.reset()
        crypto.reset()
        zlib_calls.reset()
