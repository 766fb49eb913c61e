"""From a program's text to a script for V8, and from V8's positions back to the program's."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from ..wire.messages import ModuleSource


class TypeScriptText(msgspec.Struct, frozen=True):
    """A text that may be TypeScript: the program, or a module."""

    kind: str
    text: str


class ModuleScript(msgspec.Struct, frozen=True):
    """A module as the reader has proved it: ``open + body + close`` are the arguments of a call."""

    name: str
    open: str
    body: str = ""
    close: str = ""
    edits: list[tuple[int, int, int]] = []


class Reading(msgspec.Struct, frozen=True):
    """What the reader says of a text that it has proved to be one program. Mirrors the reader bundle's answer."""

    ok: bool
    open: str = ""
    body: str = ""
    close: str = ""
    edits: list[tuple[int, int, int]] = []
    normalized: str = ""
    name: str = ""
    message: str = ""
    line: int = 0
    column: int = 0
    hint: str = ""
    chunks: list[str] = []
    links: str = ""
    params: list[str] = []
    modules: list[ModuleScript] = []
    typescript: list[TypeScriptText] = []


_decode = msgspec.json.Decoder(Reading).decode

SOURCE_NAME = "program.js"


def decode_reading(answer: bytes) -> Reading:
    """The reader's answer.

    Raises:
        msgspec.MsgspecError: it is none.
    """
    reading = _decode(answer)
    return msgspec.structs.replace(reading, message=reading.message[:_MAX_MESSAGE]) if reading.message else reading


def reader_request(code: str, modules: Sequence[ModuleSource] = (), preludes: Sequence[tuple[str, str]] = ()) -> bytes:
    """What the reader is asked: a program, the modules that it may import, and what runs before it, by provider.

    Equal for equal programs.
    """
    given = [{"name": module.name, "kind": module.kind, "source": module.source} for module in modules]
    # A lone surrogate is no character: V8 would get it as something else in any case.
    request: dict[str, object] = {"code": code.encode("utf-8", "replace").decode(), "modules": given}
    if preludes:
        request["preludes"] = [{"provider": provider, "text": text} for provider, text in preludes]
    return msgspec.json.encode(request)


def second_request(request: bytes, asked: Sequence[TypeScriptText], answers: bytes) -> bytes:
    """``request`` once more, with what the transpiler has answered.

    Args:
        asked: the texts, as ``Reading.typescript`` names them.
        answers: the transpiler's, a JSON list in the same order.

    Raises:
        msgspec.MsgspecError: ``answers`` is none.
    """
    decoded = msgspec.json.decode(answers, type=list[msgspec.Raw])
    pairs = [
        {"kind": text.kind, "text": text.text, "answer": answer} for text, answer in zip(asked, decoded, strict=True)
    ]
    return request[:-1] + b',"transpiled":' + msgspec.json.encode(pairs) + b"}"


class _Source:
    """A text between two others, as V8 has it: ``head`` stands before it, its last line on the text's first one."""

    def __init__(self, head: str, body: str, edits: Sequence[tuple[int, int, int]]) -> None:
        *before, last = _LINE_END.split(head)
        self.lines_before = len(before)
        self._first_line_shift = len(last.encode("utf-16-le", "surrogatepass")) // 2  # V8 counts in these units
        self._edits = edits
        self.lines = len(_LINE_END.findall(body)) + 1

    def position(self, line: int, column: int) -> tuple[int, int] | None:
        """Line and column of the text for a position in V8, all from 1; ``None`` if it is not in it."""
        line -= self.lines_before
        if not 1 <= line <= self.lines:
            return None
        if line == 1:
            column -= self._first_line_shift
        shift = 0
        for edit_line, edit_column, edit_shift in self._edits:
            if edit_line == line and column >= edit_column:
                shift += edit_shift
        column -= shift
        return (line, column) if column >= 1 else None


class Script:
    """A program as V8 evaluates it: on its own lines, in a strict function that knows the namespaces.

    Attributes:
        modules: the scripts of the modules that it can reach, to be evaluated before.
        source: its own.
    """

    def __init__(self, reading: Reading, namespaces: Sequence[str], preludes: Sequence[tuple[str, str]] = ()) -> None:
        names = f"const{{{','.join(namespaces)}}}=arguments[0];" if namespaces else ""
        names += "".join(f"const {name}=arguments[{index}];" for index, name in enumerate(reading.params, 1))
        # What comes last is told whose prelude runs, so that an error can be said to be its.
        last = len(reading.params) + 1
        taken = "".join(f"delete arguments[{index}];" for index in range(last))
        before = "".join(f"arguments[{last}]('{provider}');\n{prelude}\n;" for provider, prelude in preludes)
        before += f"arguments[{last}]();delete arguments[{last}];" if preludes else f"delete arguments[{last}];"
        # A prelude may wait; the function that runs the program is then a promise of it.
        waits = "async " if any("await" in prelude for _, prelude in preludes) else ""
        head = (
            f'__start__({waits}function(){{"use strict";{names}{taken}arguments.length=0;{before}return({reading.open}'
        )
        links = f",{reading.links}" if reading.links else ""
        self._program = _Source(head, reading.body, reading.edits)
        self.source = f"{head}{reading.body}{reading.close}\n)}}{links})\n//# sourceURL={SOURCE_NAME}".encode(
            "utf-8", "replace"
        )
        self.modules: list[bytes] = []
        self._modules: list[tuple[str, _Source]] = []
        self._by_name: dict[str, tuple[str, _Source]] = {SOURCE_NAME: ("", self._program)}
        for module in reading.modules:
            self._add(module)

    def _add(self, module: ModuleScript) -> None:
        head = f"__module__({module.open}"
        known = (module.name, _Source(head, module.body, module.edits))
        name = script_name = _UNFIT_IN_A_STACK.sub("_", module.name)
        while script_name in self._by_name:
            script_name = f"{name}~{len(self._by_name)}"
        self._by_name[script_name] = known
        self._modules.append(known)
        text = f"{head}{module.body}{module.close}\n)\n//# sourceURL={script_name}"
        self.modules.append(text.encode("utf-8", "replace"))

    def position(self, line: int, column: int) -> tuple[int, int] | None:
        """Line and column of the program for a position in ``source``, both from 1; ``None`` if it is not in it."""
        return self._program.position(line, column)

    def stack(self, stack: str) -> str:
        """The frames of ``stack`` that are the program's or a module's, in their own lines and columns."""
        frames: list[str] = []
        for match in _FRAME.finditer(stack):
            module, source = self._by_name.get(match["source"], ("", None))
            position = source.position(int(match["line"]), int(match["column"])) if source else None
            if position is not None:
                where = f"line {position[0]}, column {position[1]}"
                if module:
                    where = f"{module}: {where}"
                # A function that is called as a member of a module's namespace, which is a proxy.
                name = match["name"] and match["name"].removeprefix("Proxy.")
                frames.append(f"    at {name} ({where})" if name else f"    at {match['waiting'] or ''}{where}")
                if len(frames) == _MAX_FRAMES:
                    break
        return "\n".join(frames)

    def syntax_error(self, text: str, module: int | None = None) -> tuple[str, str]:
        """Name and message of V8's report on a script that it would not compile.

        Args:
            module: which of ``modules`` it was; ``None`` for the program.
        """
        subject, source = ("", self._program) if module is None else self._modules[module]
        prefix = f"module {subject}: " if subject else ""
        match = _COMPILE_ERROR.match(text)
        if match is None:
            return "SyntaxError", f"{prefix}it cannot be compiled" if prefix else "the program cannot be compiled"
        line = min(max(1, int(match["line"]) - source.lines_before), source.lines)
        return match["name"], f"{prefix}{match['message'][:500]} (line {line})"


_MAX_FRAMES = 50
_MAX_MESSAGE = 1000  # a parser quotes names, which may be as long as the program
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")  # what V8 counts as the end of a line
_UNFIT_IN_A_STACK = re.compile(r"[^A-Za-z0-9_.+@/-]")
_FRAME = re.compile(
    r"^ +at (?:(?P<name>[^\n]{1,200}) \(|(?P<waiting>async ))?(?P<source>[A-Za-z0-9_.+@/~-]{1,600})"
    r":(?P<line>\d{1,9}):(?P<column>\d{1,9})\)?$",
    re.M,
)
_COMPILE_ERROR = re.compile(r"[^\n:]*:(?P<line>\d{1,9}): (?P<name>\w+): (?P<message>[^\n]*)")


class ReadingCache:
    """The readings of recent requests. Kept by the worker: an answer of one worker is never used by another."""

    def __init__(self, max_entries: int = 64, max_chars: int = 1024 * 1024) -> None:
        self._max_entries = max_entries
        self._max_chars = max_chars
        self._chars = 0
        self._entries: OrderedDict[str | bytes, Reading] = OrderedDict()

    def get(self, request: str | bytes) -> Reading | None:
        """The reading of ``request``, if it is still known."""
        reading = self._entries.get(request)
        if reading is not None:
            self._entries.move_to_end(request)
        return reading

    def put(self, request: str | bytes, reading: Reading) -> None:
        """Keep ``reading``, forgetting the oldest ones."""
        if len(request) > self._max_chars // 4 or request in self._entries:
            return
        self._entries[request] = reading
        self._chars += len(request)
        while self._chars > self._max_chars or len(self._entries) > self._max_entries:
            old, _ = self._entries.popitem(last=False)
            self._chars -= len(old)
