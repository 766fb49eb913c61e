"""Reading what the harness posts: see ``executor/guest/src/harness/channel.js`` for the format."""

from __future__ import annotations

import codecs
from typing import cast

import msgspec

from ..values.text import well_formed

CALL = 1
TIMER = 3
CANCEL_TIMER = 4
RESULT = 5
FAILURE = 6
TAKE = 7
TAKE_TEXT = 8
RETAINED = 9
INVOKED = 10
INVOKE_FAILED = 11
CANCEL_CALL = 12

#: Size of the part of the shared buffer that holds messages.
MESSAGE_BYTES = 4 + 2 * 8192

# Python loads a codec from a file when it is first used; inside the jail there are no files.
for _name in ("ascii", "utf-8", "utf-16-le"):
    codecs.lookup(_name)

_decode_head = msgspec.json.Decoder(list[int]).decode


class CallItem(msgspec.Struct, frozen=True):
    call: int
    provider: str
    tool: str
    args: bytes


class TimerItem(msgspec.Struct, frozen=True):
    timer: int
    delay_ms: int
    called_ms: int  # the guest's wall clock, which is the worker's


class CancelTimerItem(msgspec.Struct, frozen=True):
    timer: int


class CancelCallItem(msgspec.Struct, frozen=True):
    call: int


class ResultItem(msgspec.Struct, frozen=True):
    """``retained``: it holds functions that the host may call, so the program is not over."""

    form: int
    value: bytes
    retained: bool = False


class FailureItem(msgspec.Struct, frozen=True):
    kind: int
    name: str
    message: str
    stack: str


class InvokedItem(msgspec.Struct, frozen=True):
    invocation: int
    form: int
    value: bytes


class InvokeFailedItem(msgspec.Struct, frozen=True):
    invocation: int
    name: str
    message: str
    stack: str


class TakeItem(msgspec.Struct, frozen=True):
    """A message is to be fetched: all of it, or only the text that ``numbers`` measure."""

    numbers: list[int] | None = None


Item = (
    CallItem
    | CancelCallItem
    | TimerItem
    | CancelTimerItem
    | ResultItem
    | FailureItem
    | InvokedItem
    | InvokeFailedItem
    | TakeItem
)


class ChannelError(ValueError):
    """What arrived is not what the harness writes: the isolate can no longer be trusted."""


class _AsciiCutter:
    """Cuts a text by lengths, where bytes, units and characters are one."""

    def __init__(self, text: memoryview) -> None:
        self._text = text
        self._at = 0

    def raw(self, length: int, *, last: bool = False) -> bytes:
        start, end = self._at, self._at + length
        if length < 0 or end > len(self._text):
            raise ChannelError("an item measures more text than the message holds")
        self._at = end
        return _held(self._text[start:end])

    def cut(self, length: int, *, last: bool = False) -> str:
        return str(self.raw(length), "ascii")


class _UnitCutter:
    """Cuts a text by lengths in UTF-16 units."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._units = text.encode("utf-16-le", "surrogatepass")
        # Without characters beyond the basic plane, a unit is a character of the string.
        self._plain = len(self._units) == 2 * len(text)
        self._at = 0

    def cut(self, length: int, *, last: bool = False) -> str:
        start, end = self._at, self._at + length
        if length < 0 or 2 * end > len(self._units):
            raise ChannelError("an item measures more text than the message holds")
        self._at = end
        if self._plain:
            return self._text[start:end]
        return self._units[2 * start : 2 * end].decode("utf-16-le", "replace")

    def raw(self, length: int, *, last: bool = False) -> bytes:
        return self.cut(length).encode("utf-8", "replace")


class _LongCutter:
    """Cuts a long text by lengths in UTF-16 units, without taking it apart.

    A long message has one item, and its last text, which makes it long, is what remains behind the others.
    """

    def __init__(self, text: memoryview) -> None:
        self._text = text
        self._at = 0

    def raw(self, length: int, *, last: bool = False) -> bytes:
        rest = self._text[self._at :]
        # UTF-8 has one to three bytes for each unit.
        if last and not length <= len(rest) <= 3 * length:
            raise ChannelError("an item measures another text than the message holds")
        size = len(rest) if last else self._measure(rest, length)
        self._at += size
        return _held(rest[:size])

    def cut(self, length: int, *, last: bool = False) -> str:
        return str(self.raw(length, last=last), "utf-8", "replace")

    @staticmethod
    def _measure(rest: memoryview, length: int) -> int:
        """Bytes that hold the first ``length`` units."""
        units = size = 0
        for character in bytes(rest[: 3 * max(0, length)]).decode("utf-8", "ignore"):
            if units >= length:
                break
            units += 2 if ord(character) > 0xFFFF else 1
            size += len(character.encode())
        if units != length:
            raise ChannelError("an item measures more text than the message holds")
        return size


_LONG = 64 * 1024


def _held(text: memoryview) -> bytes:
    """A copy, so that the message may go; of a long text, which is nearly all of its message, a view.

    The wire's encoder takes both alike, and nobody else looks at it.
    """
    return cast(bytes, text) if len(text) > _LONG else bytes(text)


def parse_units(units: bytes) -> list[Item]:
    """Items of a message that was written to the buffer, as UTF-16 little-endian.

    Raises:
        ChannelError: it is not a message of the harness.
    """
    return _parse(units.decode("utf-16-le", "replace").encode())


def parse_utf8(message: bytes) -> list[Item]:
    """Items of a long message, as V8 hands a string out.

    Raises:
        ChannelError: it is not a message of the harness.
    """
    return _parse(message)


def parse_fetched(take: TakeItem, message: bytes) -> list[Item]:
    """Items of a message that ``take`` announced, as V8 hands the string out.

    Raises:
        ChannelError: it is not a message of the harness.
    """
    if take.numbers is None:
        return _parse(message)
    return _items(take.numbers, memoryview(message), message.isascii())


def _parse(message: bytes) -> list[Item]:
    end = message.find(b"\n")
    if end < 0:
        raise ChannelError("a message has no head")
    try:
        numbers = _decode_head(message[:end])
    except msgspec.MsgspecError as error:
        raise ChannelError(f"the head of a message is not a list of integers: {error}") from error
    return _items(numbers, memoryview(message)[end + 1 :], message.isascii())


def _cutter(text: memoryview, ascii_only: bool) -> _AsciiCutter | _LongCutter | _UnitCutter:
    if ascii_only:
        return _AsciiCutter(text)
    if len(text) > _LONG:
        return _LongCutter(text)
    try:
        characters = bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ChannelError(f"a message is not UTF-8: {error}") from error
    # A lone surrogate is one unit, and so is what stands for it.
    return _UnitCutter(well_formed(characters))


def _items(numbers: list[int], text: memoryview, ascii_only: bool) -> list[Item]:
    body = _cutter(text, ascii_only)
    items: list[Item] = []
    at = 0
    try:
        while at < len(numbers):
            kind = numbers[at]
            if kind == CALL:
                call, provider, tool, args = numbers[at + 1 : at + 5]
                at += 5
                last = at == len(numbers)
                items.append(CallItem(call, body.cut(provider), body.cut(tool), body.raw(args, last=last)))
            elif kind == TIMER:
                timer, delay, called = numbers[at + 1 : at + 4]
                items.append(TimerItem(timer, delay, called))
                at += 4
            elif kind == CANCEL_TIMER:
                (timer,) = numbers[at + 1 : at + 2]
                items.append(CancelTimerItem(timer))
                at += 2
            elif kind == CANCEL_CALL:
                (call,) = numbers[at + 1 : at + 2]
                items.append(CancelCallItem(call))
                at += 2
            elif kind in (RESULT, RETAINED):
                form, length = numbers[at + 1 : at + 3]
                at += 3
                items.append(ResultItem(form, body.raw(length, last=at == len(numbers)), kind == RETAINED))
            elif kind == INVOKED:
                invocation, form, length = numbers[at + 1 : at + 4]
                at += 4
                items.append(InvokedItem(invocation, form, body.raw(length, last=at == len(numbers))))
            elif kind == INVOKE_FAILED:
                invocation, name, said, stack = numbers[at + 1 : at + 5]
                at += 5
                last = at == len(numbers)
                items.append(InvokeFailedItem(invocation, body.cut(name), body.cut(said), body.cut(stack, last=last)))
            elif kind == FAILURE:
                which, name, said, stack = numbers[at + 1 : at + 5]
                at += 5
                last = at == len(numbers)
                items.append(FailureItem(which, body.cut(name), body.cut(said), body.cut(stack, last=last)))
            elif kind == TAKE:
                items.append(TakeItem())
                at += 1
            elif kind == TAKE_TEXT and at == 0:
                return [TakeItem(numbers[1:])]
            else:
                raise ChannelError(f"an item has the unknown kind {kind}")
    except ValueError as error:
        if isinstance(error, ChannelError):
            raise
        raise ChannelError("an item lacks a number") from error
    return items
