"""From a program's text to a script for V8, and from V8's positions back to the program's."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence

import msgspec


class Reading(msgspec.Struct, frozen=True):
    """What the reader says of a text that it has proved to be one program. Mirrors the reader bundle's answer."""

    ok: bool
    open: str = ""
    body: str = ""
    close: str = ""
    edits: list[tuple[int, int, int]] = []
    name: str = ""
    message: str = ""
    line: int = 0
    column: int = 0
    hint: str = ""
    chunks: list[str] = []


_decode = msgspec.json.Decoder(Reading).decode

SOURCE_NAME = "program.js"


def decode_reading(answer: bytes) -> Reading:
    """The reader's answer.

    Raises:
        msgspec.MsgspecError: it is none.
    """
    reading = _decode(answer)
    return msgspec.structs.replace(reading, message=reading.message[:_MAX_MESSAGE]) if reading.message else reading


class Script:
    """A program as V8 evaluates it: on its own lines, in a strict function that knows the namespaces."""

    def __init__(self, reading: Reading, namespaces: Sequence[str]) -> None:
        self._reading = reading
        names = f"const{{{','.join(namespaces)}}}=arguments[0];" if namespaces else ""
        head = f'__start__(function(){{"use strict";{names}delete arguments[0];arguments.length=0;return({reading.open}'
        self._first_line_shift = len(head)
        self.source = f"{head}{reading.body}{reading.close}\n)}})\n//# sourceURL={SOURCE_NAME}".encode(
            "utf-8", "replace"
        )
        self._lines = len(_LINE_END.findall(reading.body)) + 1

    def position(self, line: int, column: int) -> tuple[int, int] | None:
        """Line and column of the program for a position in ``source``, both from 1; ``None`` if it is not in it."""
        if not 1 <= line <= self._lines:
            return None
        if line == 1:
            column -= self._first_line_shift
        shift = 0
        for edit_line, edit_column, edit_shift in self._reading.edits:
            if edit_line == line and column >= edit_column:
                shift += edit_shift
        column -= shift
        return (line, column) if column >= 1 else None

    def stack(self, stack: str) -> str:
        """The frames of ``stack`` that are the program's, in its own lines and columns."""
        frames: list[str] = []
        for match in _FRAME.finditer(stack):
            position = self.position(int(match["line"]), int(match["column"]))
            if position is not None:
                where = f"line {position[0]}, column {position[1]}"
                name = match["name"]
                frames.append(f"    at {name} ({where})" if name else f"    at {match['waiting'] or ''}{where}")
                if len(frames) == _MAX_FRAMES:
                    break
        return "\n".join(frames)

    def syntax_error(self, text: str) -> tuple[str, str]:
        """Name and message of V8's report on a script that it would not compile."""
        match = _COMPILE_ERROR.match(text)
        if match is None:
            return "SyntaxError", "the program cannot be compiled"
        line = min(int(match["line"]), self._lines)
        return match["name"], f"{match['message'][:500]} (line {line})"


_MAX_FRAMES = 50
_MAX_MESSAGE = 1000  # a parser quotes names, which may be as long as the program
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")  # what V8 counts as the end of a line
_FRAME = re.compile(
    rf"^ +at (?:(?P<name>[^\n]{{1,200}}) \(|(?P<waiting>async ))?{re.escape(SOURCE_NAME)}"
    r":(?P<line>\d{1,9}):(?P<column>\d{1,9})\)?$",
    re.M,
)
_COMPILE_ERROR = re.compile(r"[^\n:]*:(?P<line>\d{1,9}): (?P<name>\w+): (?P<message>[^\n]*)")


class ReadingCache:
    """The readings of recent texts. Kept by the worker: an answer of one worker is never used by another."""

    def __init__(self, max_entries: int = 64, max_chars: int = 1024 * 1024) -> None:
        self._max_entries = max_entries
        self._max_chars = max_chars
        self._chars = 0
        self._entries: OrderedDict[str, Reading] = OrderedDict()

    def get(self, text: str) -> Reading | None:
        """The reading of ``text``, if it is still known."""
        reading = self._entries.get(text)
        if reading is not None:
            self._entries.move_to_end(text)
        return reading

    def put(self, text: str, reading: Reading) -> None:
        """Keep ``reading``, forgetting the oldest ones."""
        if len(text) > self._max_chars // 4 or text in self._entries:
            return
        self._entries[text] = reading
        self._chars += len(text)
        while self._chars > self._max_chars or len(self._entries) > self._max_entries:
            old, _ = self._entries.popitem(last=False)
            self._chars -= len(old)
