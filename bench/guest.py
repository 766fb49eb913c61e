"""What the guest's platform costs on this machine: medians, printed, never asserted.

python bench/guest.py [--rounds N] [--against REVISION]

An isolate with the harness; each chunk's evaluation, after those that it requires; its first use; and a program that
names nothing of the platform, beside the same at another revision, measured alternately: what every program pays for
what others use.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemode_executor.worker.isolate import Isolate

ROOT = Path(__file__).resolve().parent.parent

#: The last revision without a platform.
BEFORE = "6d34ca5"

_GUARD_S = 20.0
_MEMORY_BYTES = 128 << 20
_FLAGS = ["--single-threaded", "--disallow-code-generation-from-strings"]
_ALTERNATIONS = 9

#: What a program is likely to do first with a chunk.
FIRST_USES = {
    "abort": "new AbortController().abort()",
    "base64": "btoa('hello')",
    "blob": "new Blob(['x']).size",
    "buffer": "Buffer.from('hello').toString('base64')",
    "clone": "structuredClone({ a: [1, new Date(0)] })",
    "compression": "new CompressionStream('gzip')",
    "crypto": "crypto.randomUUID()",
    "dom-exception": "new DOMException('m', 'AbortError')",
    "encoding": "new TextDecoder().decode(new TextEncoder().encode('hello'))",
    "events": "new EventTarget().dispatchEvent(new Event('x'))",
    "fetch": "new Response('{}', { headers: { a: 'b' } })",
    "form-data": "new FormData().append('a', 'b')",
    "navigator": "navigator.userAgent",
    "performance": "performance.now()",
    "process": "process.platform",
    "scheduling": "queueMicrotask(() => {})",
    "streams": "new ReadableStream({ start(c) { c.enqueue(1) } }).getReader()",
    "subtle": "crypto.subtle.digest('SHA-256', new Uint8Array(16))",
    "text-streams": "new TextEncoderStream()",
    "url": "new URL('https://example.com/a?b=c').searchParams.get('b')",
    "url-pattern": "new URLPattern({ pathname: '/a/:b' }).test('https://example.com/a/1')",
}


class Guest:
    """An isolate with the harness, driven as a worker does, one step at a time."""

    def __init__(self, open_isolate: Callable[[], Isolate], operations: Mapping[str, object] | None) -> None:
        self._operations = operations
        self._replies: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._buffer = memoryview(bytearray(4))  # it posts while it is being attached
        self.isolate = open_isolate()
        self._buffer = self.isolate.attach(self._posted)

    def _posted(self) -> None:
        if self._operations is None:
            return
        from codemode_executor.worker.host_calls import ANSWER, REQUEST, HostCalls

        if not hasattr(self, "_calls"):
            self._calls = HostCalls(self._operations)  # pyright: ignore[reportArgumentType]
        size = int.from_bytes(self._buffer[:4], "little")
        if not size & REQUEST:
            return
        answer = self._calls.exchange(bytes(self._buffer[4 : 4 + (size & ~REQUEST)]))
        if answer is not None:
            self._buffer[4 : 4 + len(answer)] = answer
        self._buffer[:4] = (0 if answer is None else ANSWER + len(answer)).to_bytes(4, "little")

    def configure(self, *, chunks: bool) -> None:
        configuration = {
            "kind": 4,
            "providers": [],
            "env": {},
            "seed": [1, 2, 3, 4],
            "chunks": chunks,
            "logBytes": 1 << 20,
            "logLines": 1000,
            "argumentBytes": 1 << 20,
            "resultBytes": 1 << 20,
            "callsInFlight": 1000,
        }
        self.isolate.deliver(json.dumps([configuration]).encode())

    def evaluate_ms(self, source: bytes) -> float:
        start = time.perf_counter()
        self.isolate.evaluate(source, self._replies.put)
        reply = self._replies.get(timeout=_GUARD_S)
        took = (time.perf_counter() - start) * 1000
        if reply.kind >= 200:  # pyright: ignore[reportAttributeAccessIssue]
            raise RuntimeError(reply.text[:500])  # pyright: ignore[reportAttributeAccessIssue]
        return took


def opener() -> Callable[[], Isolate]:
    """Makes isolates with the harness in them as this revision's workers do."""
    from codemode_executor.worker import assets
    from codemode_executor.worker.isolate import Engine, Isolate

    engine = Engine(_FLAGS)
    try:
        from codemode_executor.worker.isolates import Isolates
    except ImportError:  # a revision in which every isolate evaluates the harness

        def evaluated() -> Isolate:
            isolate = Isolate(engine)
            isolate.load(assets.load("harness.js"))
            return isolate

        return evaluated
    isolates = Isolates(engine, assets.Bundles.load(), _MEMORY_BYTES, one_run=False)
    if isolates.without_snapshots:
        print(f"isolates begin without snapshots: {isolates.without_snapshots}", file=sys.stderr)
    for first in isolates.open_first():
        first.free()
    return isolates.open_run


def program(statement: str) -> bytes:
    return f'__start__(function(){{"use strict";return(async () => {{ {statement} }}\n)}})'.encode()


def median(rounds: int, action: Callable[[], float]) -> float:
    return statistics.median([action() for _ in range(rounds + 2)][2:])


# --- chunks -----------------------------------------------------------------------------------------------------------


def chunk_costs(rounds: int) -> None:
    from codemode_executor.worker.platform import Platform

    open_isolate = opener()
    platform = Platform()

    def guest(chunks: bool) -> Guest:
        made = Guest(open_isolate, platform.operations)
        made.configure(chunks=chunks)
        made.evaluate_ms(b"1")
        return made

    def empty() -> float:
        made = guest(False)
        took = made.evaluate_ms(program(""))
        made.isolate.free()
        return took

    nothing = median(rounds, empty)
    print(f"{'chunk':24}{'KiB':>7}{'evaluated':>12}{'with its':>12}{'first use':>12}")
    print(f"{'':24}{'':>7}{'alone, ms':>12}{'own, ms':>12}{'ms':>12}")
    manifest = read_manifest()
    for name in sorted(manifest):
        order = closed(name, manifest)
        alone: list[float] = []
        together: list[float] = []
        uses: list[float] = []
        for _ in range(rounds + 2):
            made = guest(True)
            under = [other for other in ("realm", *order[:-1]) if other != name]
            before = sum(made.evaluate_ms(platform.chunks.source(other)) for other in under)
            own = made.evaluate_ms(platform.chunks.source(name))
            alone.append(own)
            together.append(before + own)
            if name in FIRST_USES:
                uses.append(made.evaluate_ms(program(FIRST_USES[name])) - nothing)
            made.isolate.free()
        size = len(platform.chunks.source(name)) / 1024
        use = f"{statistics.median(uses[2:]):12.2f}" if uses else f"{'-':>12}"
        print(f"{name:24}{size:7.1f}{statistics.median(alone[2:]):12.2f}{statistics.median(together[2:]):12.2f}{use}")


def read_manifest() -> dict[str, dict[str, list[str]]]:
    sources = ROOT / "executor" / "guest" / "src" / "chunks"
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(sources.glob("*/chunk.json"))}


def closed(name: str, manifest: dict[str, dict[str, list[str]]]) -> list[str]:
    """``name`` after everything that it requires."""
    order: list[str] = []

    def add(chunk: str) -> None:
        for other in manifest[chunk].get("requires", []):
            add(other)
        if chunk not in order:
            order.append(chunk)

    add(name)
    return order


# --- a plain program --------------------------------------------------------------------------------------------------


def plain_costs(rounds: int) -> dict[str, float]:
    """In this process's ``codemode_executor``, whichever revision that is: milliseconds."""
    import asyncio

    from codemode_executor import IsolateExecutor, Limits

    async def runs() -> tuple[float, float]:
        walls: list[float] = []
        async with IsolateExecutor(limits=Limits(memory_mb=64), min_workers=1, max_workers=1) as executor:
            for number in range(rounds + 20):
                start = time.perf_counter()
                outcome = await executor.execute(f"async () => {number}")
                if outcome.error is not None:
                    raise RuntimeError(outcome.error)
                walls.append((time.perf_counter() - start) * 1000)
            start = time.perf_counter()
            for _ in range(rounds):
                await executor.execute("async () => 1")
            each = (time.perf_counter() - start) * 1000 / rounds
        return statistics.median(walls[20:]), each

    run, back_to_back = asyncio.run(runs())
    open_isolate = opener()
    # Processor time: what other processes do at the same time does not show in it. It runs in several threads.
    prepared: list[float] = []
    ran: list[float] = []
    for _ in range(rounds):
        start = time.process_time()
        made = Guest(open_isolate, None)
        prepared.append((time.process_time() - start) * 1000)
        start = time.process_time()
        made.configure(chunks=False)
        made.evaluate_ms(program("return 1"))
        made.evaluate_ms(b"1")  # or what the isolate's thread still does would be nobody's
        ran.append((time.process_time() - start) * 1000)
        made.isolate.free()
    return {
        "isolate with harness, CPU": statistics.median(prepared[2:]),
        "a program run in it, CPU": statistics.median(ran[2:]),
        "execute, new text, wall": run,
        "execute, same text, wall": back_to_back,
    }


def compare(rounds: int, revision: str | None) -> None:
    trees: dict[str, Path] = {"now": ROOT}
    with tempfile.TemporaryDirectory() as temporary:
        if revision is not None:
            trees = {"before": checked_out(revision, Path(temporary)), "now": ROOT}
        results: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
        for _ in range(_ALTERNATIONS):
            for name, tree in trees.items():
                environment = {**os.environ, "PYTHONPATH": str(tree / "executor")}
                command = [sys.executable, __file__, "--plain", "--rounds", str(rounds)]
                answer = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
                if answer.returncode != 0:
                    raise SystemExit(f"{name}: {answer.stderr[-2000:]}")
                results[name].append(json.loads(answer.stdout))
    print(f"\n{'a plain program, ms':34}" + "".join(f"{name:>10}" for name in trees) + f"{'ratio':>10}")
    for what in results["now"][0]:
        # The least of the medians: what else the machine does only adds.
        medians = [min(result[what] for result in found) for found in results.values()]
        ratio = f"{medians[-1] / medians[0]:10.2f}" if len(medians) == 2 else ""
        print(f"{what:34}" + "".join(f"{value:10.2f}" for value in medians) + ratio)


def checked_out(revision: str, into: Path) -> Path:
    """The engine of ``revision``, built with the packages that are installed here."""
    archive = subprocess.run(["git", "archive", revision, "executor"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(into)], input=archive.stdout, check=True)
    guest = into / "executor" / "guest"
    (guest / "node_modules").symlink_to(ROOT / "executor" / "guest" / "node_modules")
    subprocess.run(["node", str(guest / "build.mjs")], check=True, capture_output=True)
    return into


def known(revision: str) -> bool:
    command = ["git", "cat-file", "-e", f"{revision}^{{commit}}"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--against", default=BEFORE, help="revision to compare a plain program with; '' for none")
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain:
        print(json.dumps(plain_costs(options.rounds)))
        return
    chunk_costs(options.rounds)
    revision: str | None = options.against or None
    if revision is not None and not known(revision):
        print(f"\nrevision {revision} is not in this clone: nothing to compare a plain program with")
        revision = None
    compare(options.rounds, revision)


if __name__ == "__main__":
    main()
