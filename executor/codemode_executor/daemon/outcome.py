"""How a run ended, as messages of the protocol. The values in it are not decoded."""

from __future__ import annotations

from ..ending import Ending
from ..errors import ExecutorError
from ..outcome import error_of, usage_of
from ..run import HostRun
from ..wire import bridge as wire


def end_of(number: int, run: HostRun, ending: Ending, queue_s: float) -> tuple[wire.Result | wire.Failed, bytes, bytes]:
    """The message that ends run ``number``, and its payload in two parts: the digit of its form, and the text."""
    usage = usage_of(run, ending, queue_s)
    error = error_of(ending)
    if error is None:
        message = wire.Result(run=number, usage=usage, retained=run.retained, hint=ending.hint)
        return message, b"%d" % ending.form, utf8(ending.value)
    failed = wire.Failed(
        run=number,
        message=error,
        usage=usage,
        name=ending.name,
        stack=ending.stack,
        bound=ending.bound,
        hint=ending.hint,
    )
    return failed, b"", b""


def refusal_of(number: int, error: ExecutorError) -> wire.Refused:
    """The end of a run of which nothing has run."""
    after = getattr(error, "retry_after_s", None)
    return wire.Refused(
        run=number, code=error.code, message=str(error), retry_after_s=after if isinstance(after, float) else None
    )


def utf8(payload: bytes) -> bytes:
    """What a worker wrote, as a text frame may carry it."""
    if payload.isascii():
        return payload
    try:
        payload.decode("utf-8")
    except UnicodeDecodeError:
        return payload.decode("utf-8", "replace").encode()
    return payload
