"""TypeScript to JavaScript, in an isolate that only a program that may be TypeScript brings about."""

from __future__ import annotations

from collections.abc import Callable

from .isolate import Engine, Isolate, Kind, Reply

Answered = Callable[[bytes | None], None]


class Transpiler:
    """Nothing is made before the first request: a worker that meets no TypeScript pays nothing.

    Args:
        engine: this process's V8.
        source, wasm: the two parts of the bundle. Every worker has them from its zygote, in the same memory.
        memory_bytes: V8's limit for the isolate's heap, in which the WebAssembly's own memory does not count.
    """

    def __init__(self, engine: Engine, source: bytes, wasm: bytes, memory_bytes: int | None) -> None:
        self._engine = engine
        self._source = source
        self._wasm = wasm
        self._memory_bytes = memory_bytes
        self._isolate: Isolate | None = None

    def ask(self, request: bytes, done: Answered) -> None:
        """Post a request, as executor/guest/src/typescript/index.js describes it.

        Never waits for the transpiler. A text can keep it busy for ever: the caller has a deadline, and gives up the
        process when that is over.

        Args:
            request: JSON.
            done: called on the isolate's thread with JSON, or with ``None`` if a text has broken the isolate, which
                cannot be used any more.

        Raises:
            EngineError: the isolate cannot be made.
        """
        if self._isolate is None:
            self._isolate = self._open()
        self._isolate.ask(request, lambda reply: done(_answer(reply)))

    def close(self) -> None:
        """End whatever it does. Blocks as ``Isolate.free`` does."""
        if self._isolate is not None:
            self._isolate.free()

    def _open(self) -> Isolate:
        isolate = Isolate(self._engine, self._memory_bytes)
        isolate.load(self._source)
        # As bytes, because a script that holds them takes longer to read than to compile what they say.
        isolate.attach(_nothing)[:] = self._wasm
        return isolate


def _answer(reply: Reply) -> bytes | None:
    return reply.text if reply.kind == Kind.STRING else None


def _nothing() -> None:
    """It has nothing to say but its answers."""
