"""The isolates of a worker: of its runs and of its reader.

They begin with a snapshot in which harness or reader have been evaluated and rehearsed, made once in the zygote; where
V8 cannot be made to do that, each evaluates its script.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from .assets import Bundles
from .beside import Beside, BesideFailed
from .isolate import Engine, Isolate
from .program import reader_request
from .snapshots import Snapshot, Snapshots, SnapshotsUnavailable

# The entry of harness or reader, in a snapshot; nothing of a guest is there before it is taken away.
_PROPERTY = "__entry__"
_TAKE_ENTRY = f"(()=>{{const entry=globalThis.{_PROPERTY};delete globalThis.{_PROPERTY};return entry}})()".encode()

_MAKING_TIMEOUT_S = 10.0

#: What the reader rehearses: forms and syntax that programs mostly have.
_REHEARSED = (
    "async () => 1",
    """async () => {
  const { data, total = 0 } = await tools.search({ query: `a ${1 + 1}`, "limit": [10, ...[]] });
  let seen = 0;
  for (const item of data ?? []) {
    if (!item?.name || item.name === 'b') continue;
    else seen += item.count * 2;
    try { console.log(item.name, /x+/g.test(item.text)); } catch (error) { throw new Error(String(error)); }
  }
  const [first] = data.filter((item) => item.count > 1).map(({ name, count }) => ({ name, count }));
  return { first, seen, total };
}""",
    "const [a, b] = await Promise.all([tools.read('a'), tools.read('b')]);\nreturn a + b;",
    "```js\nawait tools.read('a')\n```",
)


class Isolates:
    """Made in the zygote; its workers make isolates by it.

    Args:
        engine: this process's V8, initialised, without an isolate.
        bundles: the guest's JavaScript.
        memory_bytes: V8's limit for the heap of each isolate.
        one_run: each worker reads one text and runs it. The reader is done with before anything of a guest is
            evaluated, so one isolate can be both.
    """

    def __init__(self, engine: Engine, bundles: Bundles, memory_bytes: int, *, one_run: bool) -> None:
        self._engine = engine
        self._memory_bytes = memory_bytes
        self._one_run = one_run
        self._harness = bundles.harness
        self._reader = _called_with_this(bundles.reader)
        self._snapshots: Snapshots | None = None
        self._images: _Images | None = None
        #: Why isolates do not begin with snapshots; empty if they do.
        self.without_snapshots = "they have not been made yet"
        scripts = _scripts(bundles, self._reader, one_run)
        self._made = Beside(lambda: self._make(scripts))

    def wait_for_snapshots(self) -> None:
        """They are made beside whatever this process does meanwhile. To be called once, before the first isolate."""
        try:
            made = [Snapshot(data) for data in self._made.parts(_MAKING_TIMEOUT_S)]
            self._snapshots = Snapshots(self._engine.dll)
            self._snapshots.choose(made[0])
            self._images = _Images(run=made[0], reader=made[-1])
            self.without_snapshots = ""
        except (SnapshotsUnavailable, BesideFailed) as error:
            self.without_snapshots = str(error)

    def _make(self, scripts: list[bytes]) -> list[bytes]:
        """In a process of its own: V8 keeps the memory of what it makes, and ends the process in which it fails."""
        snapshots = Snapshots(self._engine.dll)
        made = [snapshots.make(script) for script in scripts]
        tried = [Snapshot(data) for data in made]
        for snapshot in tried:
            snapshots.choose(snapshot)
            self._open(_TAKE_ENTRY)
        return made

    def open_first(self) -> tuple[Isolate, Isolate]:
        """The reader of this process, and the isolate of its first run, which may be the same one.

        Once, and before any other isolate.

        Raises:
            EngineError: they cannot be made.
        """
        if self._snapshots is None or self._images is None:
            return self._open(self._reader), self.open_run()
        if self._one_run:
            both = self.open_run()
            self._snapshots.lock()
            return both, both
        self._snapshots.choose(self._images.reader)
        reader = self._open(_TAKE_ENTRY)
        self._snapshots.choose(self._images.run)
        self._snapshots.lock()  # isolates of runs are all that is made from now on
        return reader, self.open_run()

    def open_run(self) -> Isolate:
        """An isolate with the harness in it, to be attached.

        Raises:
            EngineError: it cannot be made.
        """
        return self._open(self._harness if self._images is None else _TAKE_ENTRY)

    def _open(self, source: bytes) -> Isolate:
        isolate = Isolate(self._engine, self._memory_bytes)
        isolate.load(source)
        return isolate


class _Images(NamedTuple):
    """The snapshots with which the isolates of runs and the reader begin."""

    run: Snapshot
    reader: Snapshot


# Requests to the reader are JSON objects, messages to the harness lists of items. The reader's use of regular
# expressions would show in RegExp's own properties.
_BOTH = """(({ apply }) => function () {
  'use strict'
  if (typeof this !== 'string' || this[0] !== '{') return apply(harness, this, [])
  const answer = reader.call(this);
  /(?:)/.exec('');
  return answer
})(Reflect)"""


def _scripts(bundles: Bundles, reader: bytes, one_run: bool) -> list[bytes]:
    """What the snapshots are made of: that of runs first, then the reader's if it is another one."""
    harness, rehearsed = _rehearsed_harness(bundles), _rehearsed_reader(reader)
    if one_run:
        return [_script(f"{harness}{rehearsed}", _BOTH)]
    return [_script(harness, "harness"), _script(rehearsed, "reader")]


def _rehearsed_harness(bundles: Bundles) -> str:
    rehearsal = bundles.rehearsal.decode().rstrip().removesuffix(";")
    return f"const make = () => (\n{bundles.harness.decode()}\n);\n({rehearsal}\n)(make());\nconst harness = make();\n"


def _rehearsed_reader(reader: bytes) -> str:
    # JSON has the escapes of a JavaScript string.
    requests = msgspec.json.encode([reader_request(text).decode() for text in _REHEARSED]).decode()
    return f"const reader = {reader.decode()};\nfor (const request of {requests}) reader.call(request);\n"


def _script(parts: str, entry: str) -> bytes:
    """``parts``, whose names are nobody else's, and ``entry`` where ``_TAKE_ENTRY`` finds it."""
    kept = f"Object.defineProperty(globalThis, '{_PROPERTY}', {{ value: {entry}, configurable: true }});"
    return f"(() => {{\n{parts}{kept}\n}})()".encode()


def _called_with_this(bundle: bytes) -> bytes:
    """A script whose value is a function of its ``this``, made of one whose value is a function of a string."""
    return b"(r=>function(){'use strict';return r(this)})(" + bundle.rstrip().rstrip(b";") + b"\n)"
