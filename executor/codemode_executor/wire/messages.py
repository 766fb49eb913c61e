"""Messages between the supervisor and a worker. msgpack, one struct per message, tagged.

Guest payloads (arguments, results) travel as UTF-8 bytes that nobody on the way decodes. Each message of a run names
it: a message for another run than the current one is a fault of the sender.
"""

from __future__ import annotations

import msgspec

from ..jail.report import JailReport, ProbeResult

# --- supervisor to worker ---------------------------------------------------------------------------------------------


class ProviderSpec(msgspec.Struct, array_like=True, frozen=True):
    """A namespace as the guest sees it.

    ``has_then``: a tool named ``then`` is declared. ``connector``: values cross as by structured clone. ``prelude``:
    statements that run before the program.
    """

    name: str
    has_then: bool
    connector: bool = False
    prelude: str = ""


class ModuleSource(msgspec.Struct, array_like=True, frozen=True):
    """A module that the program may import. ``kind``: ``js``, ``cjs``, ``json``, ``text``, or ``data`` (base64)."""

    name: str
    kind: str
    source: str


class RunLimits(msgspec.Struct, array_like=True, frozen=True):
    """The bounds that the worker or the harness enforces."""

    timeout_s: float
    argument_bytes: int
    result_bytes: int
    log_bytes: int
    log_lines: int
    tool_calls: int
    tool_calls_in_flight: int


class Run(msgspec.Struct, tag="run", array_like=True, frozen=True):
    """Run ``code``. ``env`` is a JSON object that the program finds as ``this.env``, or that holds it as clone text.

    ``normalize``: do not run it; the result is upstream's normalised text of it. ``clones``: some of its calls answer
    values as structured clone carries them, or ``env`` holds some. ``retain``: functions in the result become handles.
    ``outbound``: the host serves the program's requests to the network. ``services``: ``env`` holds services of the
    host.
    """

    run: int
    code: str
    providers: list[ProviderSpec]
    env: bytes
    limits: RunLimits
    modules: list[ModuleSource] = []
    normalize: bool = False
    clones: bool = False
    retain: bool = False
    outbound: bool = False
    services: bool = False


class ToolDone(msgspec.Struct, tag="ok", array_like=True, frozen=True):
    """A tool call succeeded.

    ``value`` is JSON, ``None`` for undefined; for a connector, a JSON string of the digit of a form and text.
    """

    run: int
    call: int
    value: bytes | None


class ToolFailed(msgspec.Struct, tag="err", array_like=True, frozen=True):
    """A tool call failed. ``extra`` is a JSON object with any of ``name``, ``code``, ``details``, ``cause``."""

    run: int
    call: int
    message: str
    extra: bytes


class Cancel(msgspec.Struct, tag="cancel", array_like=True, frozen=True):
    """End the run; its outcome is wanted for nothing but the worker's next state."""

    run: int


class Invoke(msgspec.Struct, tag="invoke", array_like=True, frozen=True):
    """Call a function of a retained run; ``args`` is the digit of a form and the text of an array."""

    run: int
    invocation: int
    handle: int
    args: bytes
    timeout_s: float


class Release(msgspec.Struct, tag="release", array_like=True, frozen=True):
    """The host will not call these functions any more."""

    run: int
    handles: list[int]


ToWorker = Run | ToolDone | ToolFailed | Cancel | Invoke | Release

# --- worker to supervisor ---------------------------------------------------------------------------------------------


class Ready(msgspec.Struct, tag="ready", array_like=True, frozen=True):
    """The worker is sealed, has proved it, and has a warm isolate.

    ``without_snapshots``: why its isolates do not begin with snapshots; empty if they do.
    """

    engine: str
    v8: str
    v8_sandbox: bool
    jail: JailReport
    probes: list[ProbeResult]
    without_snapshots: str = ""


class StartFailed(msgspec.Struct, tag="start_failed", array_like=True, frozen=True):
    """The worker cannot serve and leaves. ``hardening``: because of the jail."""

    message: str
    hardening: bool


class Accepted(msgspec.Struct, tag="accepted", array_like=True, frozen=True):
    """The run has reached the worker: its time runs. Without this message, nothing of the program has run."""

    run: int


class Call(msgspec.Struct, array_like=True, frozen=True):
    """One tool call; ``args`` is JSON, an array; for a connector, the digit of a form and text."""

    call: int
    provider: str
    tool: str
    args: bytes


class Calls(msgspec.Struct, tag="calls", array_like=True, frozen=True):
    """Tool calls made in the same turn of the program."""

    run: int
    calls: list[Call]


class CancelCall(msgspec.Struct, tag="cancel_call", array_like=True, frozen=True):
    """Nobody wants the answer to this call any more."""

    run: int
    call: int


class Logs(msgspec.Struct, tag="logs", array_like=True, frozen=True):
    """Log lines, each ``(level, text)``."""

    run: int
    lines: list[tuple[int, str]]


#: How a run ended, as the worker saw it.
OUTCOME_RESULT = 0
OUTCOME_THROWN = 1
OUTCOME_ANSWER = 2  # the program's answer cannot be returned
OUTCOME_TIMEOUT = 3
OUTCOME_CANCELLED = 4
OUTCOME_MEMORY = 5
OUTCOME_TOOL_CALLS = 6
OUTCOME_RESULT_SIZE = 7
OUTCOME_TEXT = 8  # the text is not a program


class Outcome(msgspec.Struct, tag="outcome", array_like=True, frozen=True):
    """The run is over. ``value`` is the result in ``form``: 0 none, 1 plain JSON, 2 rich (``values.result_codec``).

    ``retained``: the program has answered and goes on, until the host ends it; a second outcome says that it is over.
    """

    run: int
    kind: int
    form: int
    value: bytes
    name: str
    message: str
    stack: str
    cpu_s: float
    hint: str = ""
    retained: bool = False


class Invoked(msgspec.Struct, tag="invoked", array_like=True, frozen=True):
    """A function of a retained run has answered."""

    run: int
    invocation: int
    form: int
    value: bytes


class InvokeFailed(msgspec.Struct, tag="invoke_failed", array_like=True, frozen=True):
    """A function of a retained run has thrown."""

    run: int
    invocation: int
    name: str
    message: str
    stack: str


class Idle(msgspec.Struct, tag="idle", array_like=True, frozen=True):
    """The isolate of the run is gone and a fresh one waits. ``retire``: take no further run to this worker."""

    run: int
    retire: bool


ToSupervisor = Ready | StartFailed | Accepted | Calls | CancelCall | Logs | Outcome | Invoked | InvokeFailed | Idle

LEVELS = ("log", "warn", "error", "info", "debug", "trace", "dir", "table", "notice", "uncaught", "assert")

#: In msgpack: bytes, none; and what stands before a length of four bytes.
_NO_BYTES = b"\xc4\x00"
_BYTES_32 = b"\xc6"
_LONG_BYTES = 64 * 1024

encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(ToWorker).decode
decode_to_supervisor = msgspec.msgpack.Decoder(ToSupervisor).decode


def encode_parts(message: ToWorker) -> tuple[bytes, bytes]:
    """As ``encode``, in two parts: the value of a tool that is long is the second, and not copied."""
    if not isinstance(message, ToolDone) or message.value is None or len(message.value) < _LONG_BYTES:
        return encode(message), b""
    without = encode(ToolDone(message.run, message.call, b""))
    return without[: -len(_NO_BYTES)] + _BYTES_32 + len(message.value).to_bytes(4), message.value
