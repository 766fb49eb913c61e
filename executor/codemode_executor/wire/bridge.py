"""Messages between the daemon and its clients: ``docs/protocol.md`` as types.

A frame holds messages, a message one or two lines: a header, which is a JSON object with the tag ``t``, and for some
types a payload, which neither end parses for the other. Headers are read here, payloads only cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Final, Literal, get_args

import msgspec

from ..contract import Bound, ModuleKind, Usage
from ..limits import Limits

#: Name and version of the WebSocket subprotocol.
PROTOCOL: Final = "codemode-executor.v1"
#: What a token is preceded by where it is offered as a second subprotocol.
TOKEN_PREFIX: Final = "codemode-executor.token."

#: Messages in one frame.
MAX_MESSAGES: Final = 1000
#: A sender joins messages to frames of this size, in bytes.
JOIN_BYTES: Final = 256 * 1024

Number = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]

#: What kind of function a program called: a declared tool, a connector's method, a function of ``this.env``, ``fetch``.
CallKind = Literal["tool", "connector", "env", "outbound"]


# --- client to daemon -------------------------------------------------------------------------------------------------


class ProviderDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace: the names of its tools, or ``connector``, whose methods have no names in advance."""

    name: str
    tools: list[str] = []
    prelude: str = ""
    connector: bool = False


class ModuleDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """A module that the program may import; ``data`` is base64. Without a kind, the end of the name says it."""

    name: str
    source: str
    kind: ModuleKind | None = None


class Run(msgspec.Struct, tag="run", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Run ``code``. Payload: ``this.env``, a JSON object; or one that holds it as clone text.

    Attributes:
        run: number of the run, larger than all before on this connection.
        providers: namespaces, in their order.
        functions: paths in ``this.env`` that the program may call.
        services: paths in ``this.env`` under which the program may call any member.
        limits: bounds of the daemon by name, lowered.
        outbound: who serves ``fetch``; ``None`` if it is blocked.
        retain: functions in the result become handles.
        parent: token of the run from whose tool call this one is started; empty if there is none.
        normalize: do not run it; the result is upstream's normalised text of it.
    """

    run: Number
    code: str
    providers: list[ProviderDeclaration] = []
    functions: list[str] = []
    services: list[str] = []
    modules: list[ModuleDeclaration] = []
    limits: dict[str, int | float | None] = {}
    outbound: Literal["client"] | None = None
    retain: bool = False
    parent: str = ""
    normalize: bool = False


class Answer(msgspec.Struct, tag="answer", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """A call succeeded. Payload: its result, tool JSON or clone text."""

    run: Number
    call: Number


class AnswerError(msgspec.Struct, tag="answer_error", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """A call failed. All but the numbers are members of the Error that the program gets."""

    run: Number
    call: Number
    message: str = ""
    name: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    code: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    details: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    cause: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Cancel(msgspec.Struct, tag="cancel", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """End the run, whatever it does."""

    run: Number


class Invoke(msgspec.Struct, tag="invoke", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Call a function of a retained run. Payload: clone text of its arguments, an array."""

    run: Number
    invocation: Number
    handle: Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=1e6)] | None = None


class Release(msgspec.Struct, tag="release", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """These functions of a retained run will not be called any more."""

    run: Number
    handles: list[Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]]


class Ping(msgspec.Struct, tag="ping", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Asks for a ``pong``, on platforms without WebSocket pings."""

    n: int


ToDaemon = Run | Answer | AnswerError | Cancel | Invoke | Release | Ping

# --- daemon to client -------------------------------------------------------------------------------------------------


class Hello(msgspec.Struct, tag="hello", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """The first message: the bounds that hold here.

    Attributes:
        version: of the daemon.
        protocol: version of the protocol.
        limits: the widest that a run gets.
        max_message_bytes: longest frame that the daemon takes.
        heartbeat_s: between two WebSocket pings.
        retained_idle_s: how long a retained run lives without a call.
    """

    version: str
    protocol: int
    limits: Limits
    max_message_bytes: int
    heartbeat_s: float
    retained_idle_s: float


class Accepted(msgspec.Struct, tag="accepted", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """A worker takes the run. ``token`` names it as the parent of runs that its tools start."""

    run: int
    token: str


class Refused(msgspec.Struct, tag="refused", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Nothing has run. ``retry_after_s``: when it is likely to be taken."""

    run: int
    code: str
    message: str
    retry_after_s: float | None = None


class Call(msgspec.Struct, tag="call", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """The program calls. Payload: its arguments, a JSON array for a tool, else clone text."""

    run: int
    call: int
    kind: CallKind
    provider: str
    tool: str


class CancelCall(msgspec.Struct, tag="cancel_call", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Nobody wants the answer to this call any more."""

    run: int
    call: int


class Logs(msgspec.Struct, tag="logs", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Lines that the program logged, each ``[level, text]``."""

    run: int
    lines: list[tuple[str, str]]


class Result(msgspec.Struct, tag="result", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """The program has answered. Payload: clone text."""

    run: int
    usage: Usage
    retained: bool = False
    hint: str = ""


class Failed(msgspec.Struct, tag="error", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """The program failed: ``message`` is the ``error`` of its envelope."""

    run: int
    message: str
    usage: Usage
    name: str = ""
    stack: str = ""
    bound: Bound | None = None
    hint: str = ""


class Fault(msgspec.Struct, tag="fault", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """The machinery failed after it had accepted the run."""

    run: int
    code: str
    message: str


class Invoked(msgspec.Struct, tag="invoked", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """A function has answered. Payload: clone text."""

    run: int
    invocation: int


class InvokeFailed(msgspec.Struct, tag="invoke_failed", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """A function threw, or could not be called."""

    run: int
    invocation: int
    code: str
    message: str
    name: str = ""
    stack: str = ""


class Over(msgspec.Struct, tag="over", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """A retained run is over; ``message`` says why its handles are dead."""

    run: int
    message: str


class Draining(msgspec.Struct, tag="draining", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """No further run is accepted here; one that goes on has ``drain_s`` seconds."""

    drain_s: float


class Pong(msgspec.Struct, tag="pong", tag_field="t", frozen=True, kw_only=True, omit_defaults=True):
    """Answers a ``ping``."""

    n: int


ToClient = (
    Hello
    | Accepted
    | Refused
    | Call
    | CancelCall
    | Logs
    | Result
    | Failed
    | Fault
    | Invoked
    | InvokeFailed
    | Over
    | Draining
    | Pong
)

WithPayload = Run | Answer | Invoke | Call | Result | Invoked

_encode = msgspec.json.Encoder().encode
_decode_to_daemon = msgspec.json.Decoder(ToDaemon).decode
_SHOWN = 200
_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
#: A high one without a low one after it, or a low one without a high one before it.
_LONE = re.compile(rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!%b)|(?<!%b\\u[dD])[c-fC-F][0-9a-fA-F]{2})" % (_LOW, _HIGH))
#: A header that is not longer cannot hold much that is small.
_LONG_BYTES = 64 * 1024
#: Bounds of the parts of a longer one, which are looked at before anything is made of them: in bytes, or where texts
#: are long, in strings.
_MOST_BYTES = {"limits": 64 * 1024, "functions": 4 * 1024 * 1024, "services": 4 * 1024 * 1024, "handles": 1024 * 1024}
_MOST_STRINGS = {"providers": 50_000, "modules": 100_000}


class BadFrame(ValueError):
    """A frame is not what the protocol says; the text says where."""


def has_payload(message: ToDaemon | ToClient) -> bool:
    """A second line belongs to this message."""
    return isinstance(message, WithPayload)


def encode_message(message: ToDaemon | ToClient, payload: bytes = b"") -> bytes:
    """The lines of one message, without a line feed at their end.

    Args:
        message: its header.
        payload: of one that has one. A line feed in JSON can only be white space, and becomes a blank.
    """
    return b"".join(encode_parts(message, payload))


def encode_parts(message: ToDaemon | ToClient, payload: bytes = b"", form: bytes = b"") -> tuple[bytes, bytes]:
    """As ``encode_message``, in two parts: a payload of ``JOIN_BYTES`` or more is the second, and not copied.

    Args:
        message, payload: as there.
        form: what stands before the payload.
    """
    header = _encode(message)
    if not isinstance(message, WithPayload):
        return header, b""
    if b"\n" in payload:
        payload = payload.replace(b"\n", b" ")
    head = b"%b\n%b" % (header, form)
    return (head + payload, b"") if len(payload) < JOIN_BYTES else (head, payload)


def decode_frame(frame: bytes) -> Iterator[tuple[ToDaemon, bytes]]:
    """The messages that a client sent, each with its payload.

    Raises:
        BadFrame: at the first message that is none. Those before it have been given.
    """
    position = 0
    end = len(frame)
    for _ in range(MAX_MESSAGES):
        header, position = _line(frame, position)
        message = _read_header(header)
        payload = b""
        if has_payload(message):
            if position > end:
                raise BadFrame(f"the payload of a message {type(message).__struct_config__.tag!r} is missing")
            payload, position = _line(frame, position)
        yield message, payload
        if position > end:
            return
    raise BadFrame(f"a frame holds more than {MAX_MESSAGES} messages")


#: Every member of every header, not read.
_Parts = msgspec.defstruct(
    "_Parts",
    [
        (name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET)
        for name in dict.fromkeys(("t", *(field for kind in get_args(ToDaemon) for field in kind.__struct_fields__)))
    ],
    frozen=True,
)
_read_parts = msgspec.json.Decoder(_Parts).decode


def _read_header(header: bytes) -> ToDaemon:
    try:
        return _read_bounded(header)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = str(error)
    readable = without_lone_surrogates(header)
    if readable is not header:
        try:
            return _read_bounded(readable)
        except (msgspec.DecodeError, RecursionError) as error:
            reason = str(error)
    raise BadFrame(f"a message is not readable: {reason[:_SHOWN]}")


def _read_bounded(header: bytes) -> ToDaemon:
    """Many small things take long to read, and a lot of memory: nothing is made of more of them than can be meant.

    Raises:
        BadFrame: there are more.
        msgspec.DecodeError, RecursionError: it is no message.
    """
    if len(header) > _LONG_BYTES:
        parts = _read_parts(header)
        for name, most in _MOST_BYTES.items():
            size = len(_part(parts, name))
            if size > most:
                raise BadFrame(f"{name} of a message are {size} bytes long; the limit is {most} bytes")
        for name, most in _MOST_STRINGS.items():
            part = _part(parts, name)
            strings = (part.count(b'"') - part.count(b'\\"')) // 2
            if strings > most:
                raise BadFrame(f"{name} of a message have {strings} strings; the limit is {most}")
        header = _encode(parts)  # what was looked at, and not what a name was given to before that
    return _decode_to_daemon(header)


def _part(parts: msgspec.Struct, name: str) -> bytes:
    part: msgspec.Raw | msgspec.UnsetType = getattr(parts, name)
    return b"" if part is msgspec.UNSET else bytes(part)


def without_lone_surrogates(text: bytes) -> bytes:
    """JSON with its escapes of lone surrogates replaced; ``text`` itself if it has none.

    JavaScript strings may hold them; they are no text anywhere else.
    """
    if b"\0" in text:
        return text  # no JSON
    plain, found = _LONE.subn(rb"\\ufffd", text.replace(rb"\\", b"\0\0"))
    return plain.replace(b"\0\0", rb"\\") if found else text


def join_messages(messages: Iterable[bytes]) -> bytes:
    """One frame of several messages."""
    return b"\n".join(messages)


def _line(frame: bytes, start: int) -> tuple[bytes, int]:
    """The line at ``start``, and where the next one begins: beyond the end of the frame if there is none."""
    stop = frame.find(b"\n", start)
    if stop < 0:
        return frame[start:] if start else frame, len(frame) + 1
    return frame[start:stop], stop + 1
