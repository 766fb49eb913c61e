"""V8, through mini-racer's C interface. The only module that knows ``py_mini_racer``.

mini-racer's Python classes cost more than the isolate itself and need an asyncio loop, so the shared library is used
directly. It is a private interface of one exact version; ``tests/worker/test_isolate.py`` is the contract that an
upgrade must meet.

Every isolate has a thread of its own. Work is posted to it and answered in a callback *on that thread*; nothing here
ever waits for an isolate that may be running guest code, except ``free``.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import queue
import threading
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol, cast

from . import snapshots, thread_state

SUPPORTED_VERSION = "0.14.1"


class EngineError(RuntimeError):
    """The engine is not the one this module was written for, or an isolate cannot be made."""


class Kind(IntEnum):
    """Types of values in mini-racer's C interface."""

    NULL = 1
    BOOL = 2
    INTEGER = 3
    DOUBLE = 4
    STRING = 5
    ARRAY = 6
    UNDEFINED = 11
    FUNCTION = 100
    ARRAY_BUFFER = 102
    PROMISE = 103
    EXCEPTION = 200
    PARSE_EXCEPTION = 201
    OUT_OF_MEMORY = 202
    TERMINATED = 204


class _RawValue(Protocol):
    """The fields of mini-racer's value structure that are read here."""

    @property
    def contents(self) -> _RawStruct: ...


class _RawStruct(Protocol):
    value: _RawUnion
    len: int
    type: int


class _RawUnion(Protocol):
    value_ptr: int
    bytes_val: ctypes.Array[ctypes.c_char]


class Reply(NamedTuple):
    """The answer to a posted piece of work. ``text``: of a string or an exception, else empty."""

    kind: int
    text: bytes


Done = Callable[[Reply], None]

_BOOT = 1  # callback id of synchronous set-up
_DELIVERED = 2  # callback id of `deliver`
_FIRST_FREE_ID = 16
_BOOT_TIMEOUT_S = 10.0

_CALLBACKS = 64  # far more than a worker has isolates

_TEXT_KINDS = frozenset((Kind.STRING, Kind.EXCEPTION, Kind.PARSE_EXCEPTION, Kind.OUT_OF_MEMORY, Kind.TERMINATED))


class Engine:
    """V8 in this process; one per process.

    Args:
        flags: V8 flags. They hold for every isolate and cannot be changed later.

    Raises:
        EngineError: another version of mini-racer is installed, or V8 was initialised already.
    """

    def __init__(self, flags: Sequence[str]) -> None:
        installed = importlib.metadata.version("mini-racer")
        if installed != SUPPORTED_VERSION:
            raise EngineError(
                f"mini-racer {installed} is installed; this version works with mini-racer=={SUPPORTED_VERSION} only"
            )
        from py_mini_racer import _dll

        try:
            self.dll = _dll.init_mini_racer(flags=[*flags, *snapshots.FLAGS])
        except _dll.LibAlreadyInitializedError as error:
            raise EngineError("V8 was already initialised in this process, with other flags") from error
        self._callback_type = _dll.MR_CALLBACK
        # The callbacks of live isolates: V8 calls them from its threads, so they must outlive their isolate.
        self._callbacks: dict[int, object] = {}

    def reserve_callbacks(self) -> None:
        """Have ctypes take the executable memory of its callbacks now: later, a jail may allow none."""
        reserved = [self._callback_type(lambda *_: None) for _ in range(_CALLBACKS)]
        del reserved

    @property
    def version(self) -> str:
        """Version of V8."""
        return cast(bytes, self.dll.mr_v8_version()).decode()

    @property
    def sandboxed(self) -> bool:
        """V8's own heap sandbox is compiled in and on."""
        return bool(self.dll.mr_v8_is_using_sandbox())

    def open_context(self, callback: Callable[[int, _RawValue], None]) -> int:
        """A new isolate with its thread; ``callback`` is called on that thread."""
        function = self._callback_type(callback)
        context = cast(int, self.dll.mr_init_context(function))
        self._callbacks[context] = function
        return context

    def close_context(self, context: int) -> None:
        """End whatever runs in the isolate and free it. Blocks until its thread has left."""
        self.dll.mr_free_context(context)
        del self._callbacks[context]


class Isolate:
    """One isolate.

    Args:
        engine: this process's V8.
        memory_bytes: V8 ends what runs when the heap outgrows this; ``None`` for no limit of its own.
    """

    def __init__(self, engine: Engine, memory_bytes: int | None = None) -> None:
        self._engine = engine
        self._dll = engine.dll
        self._lock = threading.Lock()
        self._freed = False
        self._waiting: dict[int, Done] = {}
        self._posts: dict[int, Callable[[], None]] = {}
        self._next_id = _FIRST_FREE_ID
        self._boot: queue.SimpleQueue[tuple[int, _RawValue]] = queue.SimpleQueue()
        self._on_failed_delivery: Done = lambda _: None
        self._kept: int | None = None
        self._port: _RawValue | None = None
        self._arguments: _RawValue | None = None
        self._context = engine.open_context(self._callback)
        if memory_bytes is not None:
            self._dll.mr_set_hard_memory_limit(self._context, memory_bytes)

    # --- set-up: synchronous, before any guest code -------------------------------------------------------------------

    def load(self, source: bytes) -> None:
        """Evaluate trusted ``source``, whose value is the function that ``deliver`` and ``ask`` call from now on.

        Raises:
            EngineError: the source does not evaluate to a function, or takes longer than 10 s.
        """
        self._post_eval(source, _BOOT)
        self._post_eval(b"[]", _BOOT)
        self._port = self._boot_value(Kind.FUNCTION)
        self._arguments = self._boot_value(Kind.ARRAY)

    def attach(self, on_post: Callable[[], None]) -> memoryview:
        """Call the loaded function with a function that calls ``on_post`` on the isolate's thread.

        Returns:
            The ArrayBuffer that the loaded function answers, as shared memory. Valid until ``free``.
        """
        post_id = self._take_id()
        self._posts[post_id] = on_post
        post: _RawValue = self._dll.mr_make_js_callback(self._context, post_id)
        self._dll.mr_call_function(self._context, self._port, post, self._arguments, _BOOT)
        buffer = self._boot_value(Kind.ARRAY_BUFFER)
        self._dll.mr_free_value(self._context, post)
        length = buffer.contents.len
        array = (ctypes.c_ubyte * length).from_address(buffer.contents.value.value_ptr)
        return memoryview(array).cast("B")

    def on_failed_delivery(self, done: Done) -> None:
        """``done`` is called, on the isolate's thread, when a delivery ended in an exception or out of memory."""
        self._on_failed_delivery = done

    # --- work: posted, never waited for -------------------------------------------------------------------------------

    def evaluate(self, source: bytes, done: Done) -> None:
        """Post a script. ``done`` is called on the isolate's thread."""
        with self._lock:
            if self._freed:
                return
            self._post_eval(source, self._register(done))

    def deliver(self, text: bytes) -> None:
        """Post a call of the loaded function with ``text`` (UTF-8) as its ``this``."""
        with self._lock:
            if not self._freed:
                self._post_call(text, _DELIVERED)

    def ask(self, text: bytes | None, done: Done) -> None:
        """As ``deliver`` (``None`` gives null), with the answer to ``done`` on the isolate's thread."""
        with self._lock:
            if not self._freed:
                self._post_call(text, self._register(done))

    def memory_limit_reached(self) -> bool:
        """V8 hit the hard limit. After an ``await`` nothing else tells."""
        with self._lock:
            return not self._freed and bool(self._dll.mr_hard_memory_limit_reached(self._context))

    def free(self) -> None:
        """End whatever runs and free the isolate; further work is dropped.

        Blocks until V8 has let go: 2 ms for a loop, for ever for some native builtins. Never call it on a thread that
        has something else to do.
        """
        with self._lock:
            if self._freed:
                return
            self._freed = True
        self._engine.close_context(self._context)
        thread_state.drop(self._kept or 0)
        self._waiting.clear()
        self._posts.clear()

    # --- the C interface ----------------------------------------------------------------------------------------------

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _register(self, done: Done) -> int:
        callback_id = self._take_id()
        self._waiting[callback_id] = done
        return callback_id

    def _string(self, text: bytes) -> _RawValue:
        return self._dll.mr_alloc_string_val(self._context, text, len(text), Kind.STRING)

    def _post_eval(self, source: bytes, callback_id: int) -> None:
        script = self._string(source)
        self._dll.mr_eval(self._context, script, callback_id)
        self._dll.mr_free_value(self._context, script)

    def _post_call(self, text: bytes | None, callback_id: int) -> None:
        if text is None:
            this: _RawValue = self._dll.mr_alloc_int_val(self._context, 0, Kind.NULL)
        else:
            this = self._string(text)
        self._dll.mr_call_function(self._context, self._port, this, self._arguments, callback_id)
        self._dll.mr_free_value(self._context, this)

    def _boot_value(self, expected: Kind) -> _RawValue:
        try:
            _, raw = self._boot.get(timeout=_BOOT_TIMEOUT_S)
        except queue.Empty:
            raise EngineError(f"the isolate did not answer within {_BOOT_TIMEOUT_S:g} s") from None
        kind = raw.contents.type
        if kind != expected:
            text = self._text(raw)[:300].decode(errors="replace")
            raise EngineError(f"the isolate's set-up gave a value of type {kind} instead of {expected.name}: {text}")
        return raw

    @staticmethod
    def _text(raw: _RawValue) -> bytes:
        contents = raw.contents
        if contents.type not in _TEXT_KINDS or not contents.len:
            return b""
        return ctypes.string_at(contents.value.bytes_val, contents.len)

    def _callback(self, callback_id: int, raw: _RawValue) -> None:
        """On the isolate's thread. An exception that left this function would be an answer that never comes."""
        if self._kept is None:
            self._kept = thread_state.keep()
        if callback_id == _BOOT:
            self._boot.put((callback_id, raw))
            return
        post = self._posts.get(callback_id)
        if post is not None:
            self._dll.mr_free_value(self._context, raw)
            post()
            return
        kind = raw.contents.type
        if callback_id == _DELIVERED:
            if kind < Kind.EXCEPTION:
                self._dll.mr_free_value(self._context, raw)
                return
            done: Done | None = self._on_failed_delivery
        else:
            done = self._waiting.pop(callback_id, None)
        reply = Reply(kind, self._text(raw))
        self._dll.mr_free_value(self._context, raw)
        if done is not None:
            done(reply)
